"""Turn layers into the configuration that a job gets."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn, cast

from airflow_config_providers.core.data import ConfigData
from airflow_config_providers.core.errors import clearing_frames, foreign_failure
from airflow_config_providers.core.keys import CONFIG_PROVIDERS
from airflow_config_providers.core.layers import ConfigEntry, ConfigLayer, LayeredConfig, layer_problems
from airflow_config_providers.core.lookup import PATIENT, FetchOptions, Place
from airflow_config_providers.core.provider import ConfigProvider
from airflow_config_providers.core.reversal.reverse import ReverseTransformer
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.transformer import DEFAULT_LIMITS, ConfigTransformer, ConfigTransformerResult, Limits
from airflow_config_providers.core.variable import (
    ConfigVariable,
    form_hint,
    odd_references,
    scan,
    some_of,
    spelling_hint,
)
from airflow_config_providers.core.wording import counted, nearest
from airflow_config_providers.exceptions import (
    AccessDeniedError,
    ConfigException,
    ConfigProvidersError,
    ProviderLookupError,
    ProviderUnavailableError,
    ReservedKeyError,
    UnresolvedReferenceError,
    gravest,
)

if TYPE_CHECKING:
    from airflow_config_providers.core.definition.config_def import ConfigDef


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
    names = some_of(sorted(map(str, variables)), most=_MOST_NAMED)
    return f"The value of {names} {of_one}" if len(variables) == 1 else f"The values of {names} {of_several}"


def settle(layers: Sequence[ConfigLayer], definition: ConfigDef | None = None) -> LayeredConfig:
    """
    Choose the winners of ``layers``. Fetches nothing.

    :raises ConfigException: a layer has a key or a value that is not allowed
    """
    _refuse_together(problem for layer in layers for problem in layer_problems(layer))
    return LayeredConfig(layers, definition)


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
    :param limits: limits on what one configuration can ask for
    :param home: where the providers are defined, for messages
    :param options: how providers are asked
    """

    def __init__(  # noqa: PLR0913 - all but one are optional
        self,
        config_providers: Mapping[str, ConfigProvider],
        definition: ConfigDef | None = None,
        unresolved: Unresolved = Unresolved.FAIL,
        foreign: Collection[str] = (),
        limits: Limits = DEFAULT_LIMITS,
        *,
        home: str = CONFIG_PROVIDERS,
        options: FetchOptions = PATIENT,
    ) -> None:
        self._providers = config_providers
        self._transformer = ConfigTransformer(config_providers, limits, options)
        self._definition = definition
        self._unresolved = Unresolved(unresolved)
        self._foreign = foreign
        self._home = home

    def settle(self, layers: Sequence[ConfigLayer]) -> LayeredConfig:
        """
        Choose the winners of ``layers``. Fetches nothing.

        :raises ConfigException: a layer has a key or a value that is not allowed
        """
        return settle(layers, self._definition)

    @clearing_frames
    def resolve(
        self, layers: Sequence[ConfigLayer] | LayeredConfig, texts: Mapping[str, str] | None = None
    ) -> ResolvedConfig:
        """
        Settle ``layers`` and replace the references of the winners by values.

        :param layers: the layers, or the result of ``settle`` for them
        :param texts: further strings by name, resolved in the same requests
        :raises AccessDeniedError: a provider refused
        :raises ProviderUnavailableError: a provider could not answer
        :raises UnresolvedReferenceError: a reference has no answer
        :raises ConfigException: a value does not fit its type
        """
        layered, texts = layers if isinstance(layers, LayeredConfig) else self.settle(layers), texts or {}
        refuse_odd_references(layered, texts)
        opened = _opened(layered)
        settled = layered.settled.copy()  # each key of a view is looked up when it is copied as a mapping
        configs, others = self._transformer.attempt(settled, texts)
        parts = _Part(configs, layered.place), _Part(others, printable)
        answered = configs.data
        if missing := configs.unresolved:
            answered = {name: text for name, text in answered.items() if name not in missing}
        _refuse_together([*_failures(parts), *self._unanswered(parts), *self._misfits(layered, answered)])
        return ResolvedConfig(layered, [configs, others], opened, texts)

    def require_fitting(self, layered: LayeredConfig) -> None:
        """
        Make sure that the values without references fit their types, without reading a secret.

        :raises ConfigException: one does not; names all of them
        """
        plain = {name: text for name, text in layered.settled.items() if not scan(text)}
        _refuse_together(self._misfits(layered, plain))

    def _unanswered(self, parts: Sequence[_Part]) -> Iterator[ConfigProvidersError]:
        """Yield why references have no value; of many, first why some are denied, and last how many more there are."""
        if self._unresolved is Unresolved.KEEP:
            return
        missing = [one for part in parts for one in self._missing(part)]
        if (others := len(missing) - _MOST_REFERENCES) <= 0:
            yield from map(self._without_value, missing)
            return
        missing.sort(key=lambda one: not one.denial)
        yield from map(self._without_value, missing[:_MOST_REFERENCES])
        more = counted(others, "more reference")
        yield UnresolvedReferenceError(f"... and {more}. Correct the ones above first.")

    def _missing(self, part: _Part) -> Iterator[_Unanswered]:
        answers = part.result.answers
        for name, found in part.result.unresolved.items():
            for variable in dict.fromkeys(found):
                place = (variable.provider, variable.path)
                if place not in answers.failures and not self._is_foreign(variable):
                    yield _Unanswered(part, name, variable, answers.denials.get(place, {}).get(variable.key))

    def _without_value(self, missing: _Unanswered) -> ConfigProvidersError:
        part, name, variable, denial = missing
        if denial:
            return AccessDeniedError(f"{part.place(name)}: {printable(str(variable))} is denied. {denial}")
        return UnresolvedReferenceError(f"{part.place(name)}: {self._why(variable, part.result)}")

    def _is_foreign(self, variable: ConfigVariable) -> bool:
        return variable.provider in self._foreign and variable.provider not in self._providers

    def _why(self, variable: ConfigVariable, result: ConfigTransformerResult) -> str:
        if variable.provider not in self._providers:
            from airflow_config_providers.core.provider_definition import unknown_provider  # noqa: PLC0415 - for a message only

            unlisted = getattr(self._providers, "unlisted", ())  # known if definitions were read
            return unknown_provider(variable, self._providers, unlisted=unlisted, home=self._home)
        shown, hint = printable(str(variable)), form_hint(variable)
        if absence := result.answers.absences.get((variable.provider, variable.path)):
            return f"{shown} has no value. {hint}{' ' if hint else ''}{absence}"
        if not hint and (problem := self._form_problem(variable)):
            return f"{shown} has no value: {problem}"
        siblings = result.answered((variable.provider, variable.path))
        return (
            f"{shown} has no value: provider '{printable(variable.provider)}' has no key "
            f"'{printable(variable.key)}' there{nearest(variable.key, siblings) or '.'} "
            f"{hint or 'Correct the reference, or add the key where the provider reads.'}"
        )

    def _form_problem(self, variable: ConfigVariable) -> str:
        found: object = ""
        with suppress(Exception, SystemExit):  # a provider can raise anything, which says nothing about the form
            found = self._providers[variable.provider].form_problem(variable.path, variable.key)
        return printable(found) if isinstance(found, str) else ""

    def _misfits(self, layered: LayeredConfig, values: Mapping[str, str | None]) -> Iterator[ConfigProvidersError]:
        if self._definition is None:
            return
        for name in sorted(values.keys() & self._definition.names()):
            if name not in layered.secrets:
                for message in self._definition.misfits(name, values[name]):
                    yield ConfigException(f"{layered.place(name)}: {message}")


class _Part(NamedTuple):
    """
    The result for the keys, or for the further strings.

    :param place: returns what a message calls a name of the result
    """

    result: ConfigTransformerResult
    place: Callable[[str], str]


class _Unanswered(NamedTuple):
    """A reference without a value, in what a name of ``part`` has; ``denial`` says why it is denied, if it is."""

    part: _Part
    name: str
    variable: ConfigVariable
    denial: str | None


@dataclass(slots=True, repr=False, eq=False)
class _SharedFailure:
    """
    A failure that paths of one provider share.

    :ivar affected: the part and the name of each value that refers to one of ``places``, in their order
    """

    problem: ConfigProvidersError
    places: set[Place] = field(default_factory=set)
    affected: list[tuple[_Part, str]] = field(default_factory=list)

    def with_affected(self) -> ConfigProvidersError:
        """Return the error that says what it affects."""
        listed = [part.result.references(name, self.places) for part, name in self.affected]
        if len(self.affected) == 1:
            ((part, name),), (references,) = self.affected, listed
            return _of_key(self.problem, part.place(name), references)
        return _of_keys(self.problem, [name for _, name in self.affected], some_of(chain.from_iterable(listed)))


_MOST_NAMED: Final = 10
"""How many references a doubt names."""

_MOST_REFERENCES: Final = 100
"""How many references without a value are explained: a hint compares each with all keys at its path."""


def _opened(layered: LayeredConfig) -> dict[str, str]:
    """Decrypt the secrets that won, before any provider is asked."""
    problems: list[ConfigProvidersError] = []
    opened: dict[str, str] = {}
    for key, open_ in layered.secrets.items():
        try:
            opened[key] = open_()
        except ConfigProvidersError as error:
            problems += [ConfigException(f"{layered.place(key)}: {problem}") for problem in error.problems]
    _refuse_together(problems)
    return opened


def refuse_odd_references(layered: LayeredConfig, texts: Mapping[str, str]) -> None:
    """
    Make sure that no reference looks like another one, without reading a secret.

    :raises ConfigException: one does; names all of them
    """
    _refuse_together([*_odd_references(layered.settled, layered.place), *_odd_references(texts, printable)])


def _odd_references(texts: Mapping[str, str], place: Callable[[str], str]) -> Iterator[ConfigProvidersError]:
    together = "".join(texts.values())
    if together.isascii() and together.isprintable():
        return
    for name, text in texts.items():
        yield from (ConfigException(f"{place(name)}: {problem}") for problem in odd_references(text))


def _failures(parts: Sequence[_Part]) -> Iterator[ConfigProvidersError]:
    """Yield each failure with the keys that it affects; one shared by several paths of a provider is reported once."""
    failures = parts[0].result.answers.failures
    if not failures:
        return
    found = _shared_failures(failures)
    for part in parts:
        for name, places in part.result.failed():
            for failure in dict.fromkeys(map(found.__getitem__, places)):
                failure.affected.append((part, name))
    yield from (failure.with_affected() for failure in dict.fromkeys(found.values()))


def _shared_failures(failures: Mapping[Place, Exception]) -> dict[Place, _SharedFailure]:
    """Return the failure of each place; paths of a provider that failed alike have the same one."""
    found: dict[Place, _SharedFailure] = {}
    alike: dict[object, _SharedFailure] = {}
    for place, error in failures.items():
        problem = error if isinstance(error, ConfigProvidersError) else foreign_failure(place, error)
        failure = alike.setdefault((place[0], type(problem), problem.problems), _SharedFailure(problem))
        failure.places.add(place)
        found[place] = failure
    return found


def _of_key(problem: ConfigProvidersError, where: str, references: Sequence[str]) -> ConfigProvidersError:
    shown = ", ".join(map(printable, references))
    prefix = f"{where}: {shown} is not resolved. " if shown != where else f"{where} is not resolved. "
    prefix += "".join(f"{hint} " for hint in dict.fromkeys(map(spelling_hint, references)) if hint)
    return type(problem)(*(prefix + sentence for sentence in problem.problems))


def _of_keys(problem: ConfigProvidersError, names: Sequence[str], references: str) -> ConfigProvidersError:
    listed = f"{counted(len(names), 'key')}: {some_of(names)}"
    return type(problem)(*(f"{references}: not resolved. {sentence} ({listed})" for sentence in problem.problems))


_GRAVEST_FIRST: Final = (
    AccessDeniedError,
    ProviderUnavailableError,
    ProviderLookupError,
    UnresolvedReferenceError,
    ReservedKeyError,
    ConfigException,
)


def _refuse_together(errors: Iterable[ConfigProvidersError]) -> None:
    """Raise one error of the gravest class among ``errors``, with all their problems, unless there are none."""
    if found := [*errors]:
        raise gravest(found, _GRAVEST_FIRST)(*(problem for error in found for problem in error.problems))
