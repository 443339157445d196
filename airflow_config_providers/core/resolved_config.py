"""The configuration that a job gets, in one object that does not show its values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NoReturn, cast

from airflow_config_providers.core.layers import ConfigEntry, LayeredConfig
from airflow_config_providers.core.lookup import Place
from airflow_config_providers.core.provider import ConfigData
from airflow_config_providers.core.reversal.reverse import ReverseTransformer
from airflow_config_providers.core.text import first_of
from airflow_config_providers.core.transformer import ConfigTransformerResult
from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.exceptions import ConfigException

_MOST_NAMED: Final = 10
"""How many references a doubt names."""


class ResolvedConfig:
    """
    The values that a job gets, in one object that does not show them.

    It has no string form, cannot be copied, pickled or written as JSON, and can be cleared. Use ``layered`` for what
    people are allowed to see.
    """

    __slots__ = ("_opened", "_results", "_reverser", "layered", "written")

    def __init__(
        self,
        layered: LayeredConfig,
        results: Sequence[ConfigTransformerResult],
        opened: Mapping[str, str],
        written: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.layered = layered
        self.written = written
        """The further strings as they were given, with references, by name."""
        self._results: Sequence[ConfigTransformerResult] | None = results
        self._opened = dict(opened)
        self._reverser: ReverseTransformer | None = None

    @property
    def entries(self) -> Mapping[str, ConfigEntry]:
        """The settled configuration, safe to show to people, with references, layers and synonyms."""
        return self.layered.entries()

    @property
    def reverser(self) -> ReverseTransformer:
        """
        Turns values back into references, and decrypted secrets into ``[hidden]``.

        It is made on first use, and goes on after ``clear`` if it was made before.
        """
        if self._reverser is None:
            self._reverser = ReverseTransformer(self.layered.settled, self._used(), hidden=self._opened.values())
        return self._reverser

    @property
    def ttls(self) -> Mapping[Place, int]:
        """(provider, path) -> milliseconds for which its values are valid."""
        return {place: ttl for result in self._content for place, ttl in result.ttls.items()}

    @property
    def unresolved(self) -> Mapping[str, list[ConfigVariable]]:
        """Key, or name of a further string -> its references without an answer, which stay as they were written."""
        return {name: missing for result in self._content for name, missing in result.unresolved.items()}

    @property
    def references(self) -> tuple[str, ...]:
        """The references that were answered, as they were written, sorted and without duplicates."""
        return tuple(sorted(set(map(str, self._used()))))

    @property
    def places(self) -> Mapping[Place, frozenset[str]]:
        """(provider, path) -> the keys that were read there."""
        found: dict[Place, set[str]] = {}
        for variable in self._used():
            found.setdefault((variable.provider, variable.path), set()).add(variable.key)
        return {place: frozenset(keys) for place, keys in found.items()}

    def differs(self, place: Place, data: ConfigData) -> bool:
        """Return whether ``data``, a later answer for ``place``, has other values than this."""
        used = ((one, value) for one, value in self._used().items() if (one.provider, one.path) == place)
        return any(data.data.get(variable.key) != value for variable, value in used)

    @property
    def sensitive(self) -> frozenset[str]:
        """The keys whose value came from a reference, or is a plaintext secret."""
        data, settled = self._of_keys.data, self.layered.settled
        is_secret = self.layered.is_secret
        found = (key for key, text in settled.items() if data[key] != text or is_secret(key, text))
        return frozenset(found) | self._opened.keys()

    def configs(self) -> dict[str, str]:
        """Return a new mapping of the values: key -> string, for each key that a layer sets."""
        return {**cast(Mapping[str, str], self._of_keys.data), **self._opened}  # no layer has a key without a value

    @property
    def texts(self) -> frozenset[str]:
        """The names of the further strings that were resolved together with the layers."""
        return frozenset(name for result in self._of_texts for name in result.data)

    def text(self, name: str) -> str:
        """
        Return the value of one of the further strings.

        :raises KeyError: none of them has this name
        """
        for result in reversed(self._of_texts):
            if name in result.data:
                return result.data[name] or ""
        raise KeyError(name)

    def with_texts(self, other: ResolvedConfig) -> ResolvedConfig:
        """Return this configuration with the further strings of ``other`` and their values."""
        results = [*self._content, *other._of_texts]
        return ResolvedConfig(self.layered, results, self._opened, {**self.written, **other.written})

    def values(self) -> frozenset[str]:
        """Return the values of the references, and the decrypted secrets."""
        return frozenset(self._used().values()) | frozenset(self._opened.values())

    def value_doubts(self) -> Iterator[str]:
        """Yield sentences about references whose value is empty or has a line end; no values."""
        return value_doubts(self._used())

    def clear(self) -> None:
        """Drop every value. Values that were handed out before are not affected."""
        self._results = None
        self._opened = {}

    @property
    def is_cleared(self) -> bool:
        """Whether ``clear`` was called."""
        return self._results is None

    @property
    def _content(self) -> Sequence[ConfigTransformerResult]:
        """The result for the keys, and those for the further strings."""
        if self._results is None:
            raise ConfigException("This resolved configuration was cleared. Resolve the layers again.")
        return self._results

    @property
    def _of_keys(self) -> ConfigTransformerResult:
        return self._content[0]

    @property
    def _of_texts(self) -> Sequence[ConfigTransformerResult]:
        return self._content[1:]

    def _used(self) -> dict[ConfigVariable, str]:
        return {variable: value for result in self._content for variable, value in result.used.items()}

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("A ResolvedConfig is not pickled or copied: it holds secrets. Send the settled configuration.")


def value_doubts(values: Mapping[ConfigVariable, str]) -> Iterator[str]:
    """Yield a sentence about empty values, and one about single lines with a line end, which name no value."""
    empty = [variable for variable, value in values.items() if not value]
    ended = [variable for variable, value in values.items() if _is_line_with_end(value)]
    if empty:
        yield f"{_values_of(empty, 'is', 'are')} empty. Correct the reference, or what is stored there."
    if ended:
        yield (
            f"{_values_of(ended, 'ends', 'end')} with a line end, which is part of the value. If it was not meant, "
            f"store the value without it: printf writes none, and echo does."
        )


def _is_line_with_end(value: str) -> bool:
    """Return whether ``value`` is one line and its end; text of several lines, such as a PEM, has one rightly."""
    line = value.removesuffix("\n").removesuffix("\r")
    return line != value and not {"\n", "\r"} & set(line)


def _values_of(variables: list[ConfigVariable], of_one: str, of_several: str) -> str:
    names = first_of(sorted(map(str, variables)), most=_MOST_NAMED)
    return f"The value of {names} {of_one}" if len(variables) == 1 else f"The values of {names} {of_several}"
