"""Turn layers into the configuration that a job gets."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import NoReturn

from airflow_config_providers.core.data import HIDDEN
from airflow_config_providers.core.definition.config_def import ConfigDef
from airflow_config_providers.core.layers import ConfigEntry, ConfigLayer, LayeredConfig, layer_problems
from airflow_config_providers.core.lookup import Place
from airflow_config_providers.core.provider import ConfigProvider
from airflow_config_providers.core.provider_definition import unknown_provider
from airflow_config_providers.core.retries import ATTEMPTS
from airflow_config_providers.core.reversal.reverse import ReverseTransformer
from airflow_config_providers.core.text import nearest, odd_character, printable
from airflow_config_providers.core.transformer import (
    DEFAULT_LIMITS,
    ConfigTransformer,
    ConfigTransformerResult,
    Limits,
)
from airflow_config_providers.core.variable import ConfigVariable, no_default, scan
from airflow_config_providers.exceptions import (
    AccessDeniedError,
    ConfigException,
    ConfigProvidersError,
    ProviderLookupError,
    ProviderUnavailableError,
    ReservedKeyError,
    UnresolvedReferenceError,
)


class Unresolved(Enum):
    """What happens to a reference without an answer."""

    FAIL = "fail"
    KEEP = "keep"
    """As in KIP-297: the reference stays in the value."""


class ResolvedConfig:
    """
    The values that a job gets, in one object that does not show them.

    It has no string form, cannot be copied, pickled or written as JSON, and can be cleared. Use ``layered`` for what
    people are allowed to see.
    """

    __slots__ = ("_opened", "_result", "_reverser", "layered")

    def __init__(
        self, layered: LayeredConfig, result: ConfigTransformerResult, opened: Mapping[str, str] | None = None
    ) -> None:
        self.layered = layered
        self._result: ConfigTransformerResult | None = result
        self._opened = dict(opened or {})
        self._reverser: ReverseTransformer | None = None

    @property
    def entries(self) -> Mapping[str, ConfigEntry]:
        """The settled configuration, safe to show to people, with references, layers and synonyms."""
        return self.layered.entries()

    @property
    def reverser(self) -> ReverseTransformer:
        """Turns values back into references, and decrypted secrets into ``[hidden]``; not cleared by ``clear``."""
        if self._reverser is None:
            opened = {ConfigVariable("", "", str(n), HIDDEN): text for n, text in enumerate(self._opened.values())}
            self._reverser = ReverseTransformer(self.layered.settled, {**self._content.used, **opened})
        return self._reverser

    @property
    def ttls(self) -> Mapping[Place, int]:
        """(provider, path) -> milliseconds for which its values are valid."""
        return self._content.ttls

    @property
    def unresolved(self) -> Mapping[str, list[ConfigVariable]]:
        """Key, or name of a further string -> its references without an answer, which stay as they were written."""
        return {name.removeprefix(_TEXT): missing for name, missing in self._content.unresolved.items()}

    @property
    def references(self) -> tuple[str, ...]:
        """The references that were answered, as they were written, sorted and without duplicates."""
        return tuple(sorted({str(variable) for variable in self._content.used}))

    @property
    def sensitive(self) -> frozenset[str]:
        """The keys whose value came from a reference, or is a plaintext secret."""
        data, settled = self._content.data, self.layered.settled
        is_secret = self.layered.is_secret
        found = (key for key, text in settled.items() if data[key] != text or is_secret(key, text))
        return frozenset(found) | self._opened.keys()

    def configs(self) -> dict[str, str]:
        """Return the values: key -> string, for each key that a layer sets. Each call returns a new mapping."""
        data = self._content.data
        return {key: data[key] or "" for key in self.layered.settled} | self._opened

    @property
    def texts(self) -> frozenset[str]:
        """The names of the further strings that were resolved together with the layers."""
        return frozenset(name.removeprefix(_TEXT) for name in self._content.data if name.startswith(_TEXT))

    def text(self, name: str) -> str:
        """Return the value of one of the further strings."""
        return self._content.data[_TEXT + name] or ""

    def with_texts(self, other: ResolvedConfig) -> ResolvedConfig:
        """Return this configuration with the further strings of ``other`` and their values."""
        texts = {name: text for name, text in other._content.data.items() if name.startswith(_TEXT)}
        result = replace(other._content, data={**self._content.data, **texts})
        return ResolvedConfig(self.layered, result, self._opened)

    def values(self) -> frozenset[str]:
        """Return the values of the references, and the decrypted secrets."""
        return frozenset(self._content.used.values()) | frozenset(self._opened.values())

    def clear(self) -> None:
        """Drop every value. Values that were handed out before are not affected."""
        self._result = None
        self._opened = {}

    @property
    def _content(self) -> ConfigTransformerResult:
        if self._result is None:
            raise ConfigException("This resolved configuration was cleared. Resolve the layers again.")
        return self._result

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("A ResolvedConfig is not pickled or copied: it holds secrets. Send the settled configuration.")


@dataclass(frozen=True, slots=True)
class ConfigResolver:
    """
    Settles layers, fetches the references of the winners, checks types, and reports all problems in one error.

    Only winners are fetched: a shadowed secret is never read. A resolved value is never searched for
    references again. Safe to use from several threads.

    :param config_providers: name -> configured provider; the caller closes them
    :param definition: types, validators, defaults and which keys are sensitive
    :param unresolved: what happens to a reference without an answer
    :param foreign: provider names that the reader of the configuration resolves itself, such as Spark's ``env``;
        their references stay unchanged unless a provider has that name
    :param attempts: how often an unavailable provider is asked, over about 15 seconds
    :param timeout: seconds for all requests together; None for no limit
    :param in_callers_thread: read one path after another, in the caller's thread
    :param home: where the providers are defined, for messages
    """

    config_providers: Mapping[str, ConfigProvider]
    definition: ConfigDef | None = None
    unresolved: Unresolved = Unresolved.FAIL
    foreign: Collection[str] = ()
    limits: Limits = DEFAULT_LIMITS
    max_workers: int = 32
    attempts: int = ATTEMPTS
    timeout: float | None = 60.0
    in_callers_thread: bool = False
    home: str = "config.providers"

    def settle(self, layers: Sequence[ConfigLayer]) -> LayeredConfig:
        """
        Choose the winners of ``layers``. Fetches nothing.

        :raises ConfigException: a layer has a key or a value that is not allowed
        """
        _raise([problem for layer in layers for problem in layer_problems(layer)])
        return LayeredConfig(layers, self.definition)

    def resolve(self, layers: Sequence[ConfigLayer], texts: Mapping[str, str] | None = None) -> ResolvedConfig:
        """
        Settle ``layers`` and replace the references of the winners by values.

        :param texts: further strings by name, resolved in the same requests
        :raises AccessDeniedError: a provider refused
        :raises ProviderUnavailableError: a provider could not answer
        :raises UnresolvedReferenceError: a reference has no answer
        :raises ConfigException: a value does not fit its type
        """
        layered = self.settle(layers)
        wanted = {**layered.settled, **{_TEXT + name: text for name, text in (texts or {}).items()}}
        _raise(_odd_references(wanted, layered))
        opened = _opened(layered)
        result = self._transformer.attempt(wanted)
        _raise([*_failures(layered, result), *self._unanswered(layered, result), *self._misfits(layered, result)])
        return ResolvedConfig(layered, result, opened)

    @property
    def _transformer(self) -> ConfigTransformer:
        return ConfigTransformer(
            self.config_providers, self.limits, self.max_workers, self.attempts, self.timeout, self.in_callers_thread
        )

    def _unanswered(self, layered: LayeredConfig, result: ConfigTransformerResult) -> Iterator[ConfigProvidersError]:
        if self.unresolved is Unresolved.KEEP:
            return
        for name, missing in result.unresolved.items():
            for variable in missing:
                place = (variable.provider, variable.path)
                if place in result.failures or self._is_foreign(variable):
                    continue
                if denial := result.denials.get(place, {}).get(variable.key):
                    yield AccessDeniedError(f"{_where(layered, name)}: {printable(str(variable))} is denied. {denial}")
                else:
                    yield UnresolvedReferenceError(f"{_where(layered, name)}: {self._why(variable, result)}")

    def _is_foreign(self, variable: ConfigVariable) -> bool:
        return variable.provider in self.foreign and variable.provider not in self.config_providers

    def _why(self, variable: ConfigVariable, result: ConfigTransformerResult) -> str:
        if variable.provider not in self.config_providers:
            return unknown_provider(variable, self.config_providers, home=self.home)
        absence = result.absences.get((variable.provider, variable.path))
        if absence:
            return f"{printable(str(variable))} has no value. {absence}"
        siblings = [
            used.key for used in result.used if (used.provider, used.path) == (variable.provider, variable.path)
        ]
        return (
            f"{printable(str(variable))} has no value: provider '{printable(variable.provider)}' has no key "
            f"'{printable(variable.key)}' there{nearest(variable.key, siblings) or '.'} "
            f"{no_default(variable) or 'Correct the reference, or add the key where the provider reads.'}"
        )

    def _misfits(self, layered: LayeredConfig, result: ConfigTransformerResult) -> Iterator[ConfigProvidersError]:
        if self.definition is None:
            return
        for name in sorted((layered.settled.keys() - layered.secrets.keys()) & self.definition.names()):
            if name not in result.unresolved:
                for message in self.definition.misfits(name, result.data[name]):
                    yield ConfigException(f"{_where(layered, name)}: {message}")


_TEXT = "\0"
"""Prefix of the names of further strings; no key of a layer contains it."""

_MOST_KEYS = 3
"""How many keys are named in a failure that affects several."""


def _opened(layered: LayeredConfig) -> dict[str, str]:
    """Decrypt the secrets that won, before any provider is asked."""
    problems: list[ConfigProvidersError] = []
    opened: dict[str, str] = {}
    for key, open_ in layered.secrets.items():
        try:
            opened[key] = open_()
        except ConfigProvidersError as error:
            problems += [ConfigException(f"{_where(layered, key)}: {problem}") for problem in error.problems]
    _raise(problems)
    return opened


def _odd_references(texts: Mapping[str, str], layered: LayeredConfig) -> Iterator[ConfigProvidersError]:
    together = "".join(texts.values())
    if together.isascii() and together.isprintable():
        return
    for name, text in texts.items():
        for start, end, *_ in scan(text):
            if (offset := odd_character(text[start:end])) is not None:
                yield ConfigException(
                    f"{_where(layered, name)}: character {start + offset + 1} of the text, {text[start + offset]!a}, "
                    f"is inside a reference and is a control character, or of another script than its neighbours. "
                    f"Write the reference again."
                )


def _where(layered: LayeredConfig, name: str) -> str:
    if name.startswith(_TEXT):
        return printable(name.removeprefix(_TEXT))
    return f"{printable(name)} ({layered.describe(name).origin})"


def _failures(layered: LayeredConfig, result: ConfigTransformerResult) -> Iterator[ConfigProvidersError]:
    """Yield each failure with the keys that it affects; one shared by several paths of a provider is reported once."""
    found: dict[object, tuple[ConfigProvidersError, list[Place]]] = {}
    for place, failure in result.failures.items():
        problem = failure if isinstance(failure, ConfigProvidersError) else _foreign_failure(place, failure)
        _, places = found.setdefault((place[0], type(problem), problem.problems), (problem, []))
        places.append(place)
    for problem, places in found.values():
        names = result.names(places)
        if len(names) == 1:
            yield _of_key(problem, _where(layered, names[0]), result.references(names[0], places))
        else:
            yield _of_keys(problem, names)


def _of_key(problem: ConfigProvidersError, where: str, references: Sequence[str]) -> ConfigProvidersError:
    shown = ", ".join(map(printable, references))
    prefix = f"{where}: {shown} is not resolved. " if shown != where else f"{where} is not resolved. "
    return type(problem)(*(prefix + sentence for sentence in problem.problems))


def _of_keys(problem: ConfigProvidersError, names: Sequence[str]) -> ConfigProvidersError:
    shown = [printable(name.removeprefix(_TEXT)) for name in names[:_MOST_KEYS]]
    keys = ", ".join(shown + ["..."] * (len(names) > len(shown)))
    counted = f"{len(names)} key{'s' * (len(names) > 1)}: {keys}"
    return type(problem)(*(f"{sentence} ({counted})" for sentence in problem.problems))


def _foreign_failure(place: Place, failure: Exception) -> ConfigProvidersError:
    provider, path = map(printable, place)
    return ProviderLookupError(
        f"Provider '{provider}' failed at path '{path}' with {type(failure).__name__}. "
        f"Its message is not shown, because it can contain a value."
    )


_GRAVEST_FIRST: Sequence[type[ConfigProvidersError]] = (
    AccessDeniedError,
    ProviderLookupError,
    UnresolvedReferenceError,
    ReservedKeyError,
    ConfigException,
)


def _raise(problems: Iterable[ConfigProvidersError]) -> None:
    """Raise one error with all ``problems``, of the gravest class among them."""
    found = list(problems)
    if not found:
        return
    kind = next((kind for kind in _GRAVEST_FIRST if any(isinstance(p, kind) for p in found)), ConfigException)
    if kind is ProviderLookupError and any(isinstance(p, ProviderUnavailableError) for p in found):
        kind = ProviderUnavailableError
    raise kind(*(sentence for problem in found for sentence in problem.problems))
