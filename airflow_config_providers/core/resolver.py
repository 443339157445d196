"""Turn layers into the configuration that a job gets."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from airflow_config_providers.core.errors import clearing_frames, foreign_failure
from airflow_config_providers.core.keys import CONFIG_PROVIDERS
from airflow_config_providers.core.layers import ConfigLayer, LayeredConfig, layer_problems
from airflow_config_providers.core.lookup import PATIENT, FetchOptions, Place
from airflow_config_providers.core.provider import ConfigProvider
from airflow_config_providers.core.resolved_config import ResolvedConfig
from airflow_config_providers.core.text import counted, first_of, nearest, printable
from airflow_config_providers.core.transformer import DEFAULT_LIMITS, ConfigTransformer, ConfigTransformerResult, Limits
from airflow_config_providers.core.variable import ConfigVariable, form_hint, odd_references, scan, spelling_hint
from airflow_config_providers.exceptions import (
    AccessDeniedError,
    ConfigException,
    ConfigProvidersError,
    UnresolvedReferenceError,
    refuse_together,
)

if TYPE_CHECKING:
    from airflow_config_providers.core.definition.config_def import ConfigDef

_MOST_REFERENCES: Final = 100
"""How many references without a value are explained: a hint compares each with all keys at its path."""


class Unresolved(Enum):
    """What happens to a reference without an answer."""

    FAIL = "fail"
    KEEP = "keep"
    """As in KIP-297: the reference stays in the value."""


def settle(layers: Sequence[ConfigLayer], definition: ConfigDef | None = None) -> LayeredConfig:
    """
    Choose the winners of ``layers``. Fetches nothing.

    :raises ConfigException: a layer has a key or a value that is not allowed
    """
    refuse_together(problem for layer in layers for problem in layer_problems(layer))
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
        self._transformer = ConfigTransformer(config_providers, limits, options)
        self._definition = definition
        self._unresolved = Unresolved(unresolved)
        self._unanswered = UnansweredReferences(config_providers, foreign, home)

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
        parts = Part(configs, layered.place), Part(others, printable)
        answered = configs.data
        if missing := configs.unresolved:
            answered = {name: text for name, text in answered.items() if name not in missing}
        unanswered = self._unanswered.problems(parts) if self._unresolved is Unresolved.FAIL else ()
        refuse_together([*failures(parts), *unanswered, *self._misfits(layered, answered)])
        return ResolvedConfig(layered, [configs, others], opened, texts)

    def require_fitting(self, layered: LayeredConfig) -> None:
        """
        Make sure that the values without references fit their types, without reading a secret.

        :raises ConfigException: one does not; names all of them
        """
        plain = {name: text for name, text in layered.settled.items() if not scan(text)}
        refuse_together(self._misfits(layered, plain))

    def _misfits(self, layered: LayeredConfig, values: Mapping[str, str | None]) -> Iterator[ConfigProvidersError]:
        if self._definition is None:
            return
        for name in sorted(values.keys() & self._definition.names()):
            if name not in layered.secrets:
                for reason in self._definition.misfit_reasons(name, values[name]):
                    yield ConfigException(f"{layered.place(name)}: {reason}")


def _opened(layered: LayeredConfig) -> dict[str, str]:
    """Decrypt the secrets that won, before any provider is asked."""
    problems: list[ConfigProvidersError] = []
    opened: dict[str, str] = {}
    for key, open_ in layered.secrets.items():
        try:
            opened[key] = open_()
        except ConfigProvidersError as error:
            problems += [ConfigException(f"{layered.place(key)}: {problem}") for problem in error.problems]
    refuse_together(problems)
    return opened


def refuse_odd_references(layered: LayeredConfig, texts: Mapping[str, str]) -> None:
    """
    Make sure that no reference looks like another one, without reading a secret.

    :raises ConfigException: one does; names all of them
    """
    refuse_together([*_odd_references(layered.settled, layered.place), *_odd_references(texts, printable)])


def _odd_references(texts: Mapping[str, str], place: Callable[[str], str]) -> Iterator[ConfigProvidersError]:
    together = "".join(texts.values())
    if together.isascii() and together.isprintable():
        return
    for name, text in texts.items():
        yield from (ConfigException(f"{place(name)}: {problem}") for problem in odd_references(text))


class Part(NamedTuple):
    """
    The result for the keys of a configuration, or for its further strings.

    :param place: returns what a message calls a name of the result
    """

    result: ConfigTransformerResult
    place: Callable[[str], str]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class UnansweredReferences:
    """
    Says why references have no value.

    :param foreign: provider names whose references someone else resolves, unless ``providers`` has that name
    :param home: where the providers are defined, for messages
    """

    providers: Mapping[str, ConfigProvider]
    foreign: Collection[str]
    home: str

    def problems(self, parts: Sequence[Part]) -> Iterator[ConfigProvidersError]:
        """Yield why references have no value; of many, first why some are denied, and last how many more there are."""
        missing = [one for part in parts for one in self._missing(part)]
        if (others := len(missing) - _MOST_REFERENCES) <= 0:
            yield from map(self._without_value, missing)
            return
        missing.sort(key=lambda one: not one.denial)
        yield from map(self._without_value, missing[:_MOST_REFERENCES])
        more = counted(others, "more reference")
        yield UnresolvedReferenceError(f"... and {more}. Correct the ones above first.")

    def _missing(self, part: Part) -> Iterator[_Unanswered]:
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
        return variable.provider in self.foreign and variable.provider not in self.providers

    def _why(self, variable: ConfigVariable, result: ConfigTransformerResult) -> str:
        if variable.provider not in self.providers:
            from airflow_config_providers.core.provider_definition import unknown_provider  # noqa: PLC0415 - for a message only

            unlisted = getattr(self.providers, "unlisted", ())  # known if definitions were read
            return unknown_provider(variable, self.providers, unlisted=unlisted, home=self.home)
        shown, hint = printable(str(variable)), form_hint(variable)
        place = (variable.provider, variable.path)
        meant = nearest(variable.key, result.answered(place)) or "."
        if absence := result.answers.absences.get(place):
            return f"{shown} has no value{meant} {hint}{' ' if hint else ''}{absence}"
        if not hint and (problem := self._form_problem(variable)):
            return f"{shown} has no value: {problem}"
        return (
            f"{shown} has no value: provider '{printable(variable.provider)}' has no key "
            f"'{printable(variable.key)}' there{meant} "
            f"{hint or 'Correct the reference, or add the key where the provider reads.'}"
        )

    def _form_problem(self, variable: ConfigVariable) -> str:
        found: object = ""
        with suppress(Exception, SystemExit):  # a provider can raise anything, which says nothing about the form
            found = self.providers[variable.provider].form_problem(variable.path, variable.key)
        return printable(found) if isinstance(found, str) else ""


class _Unanswered(NamedTuple):
    """A reference without a value, in what a name of ``part`` has; ``denial`` says why it is denied, if it is."""

    part: Part
    name: str
    variable: ConfigVariable
    denial: str | None


def failures(parts: Sequence[Part]) -> Iterator[ConfigProvidersError]:
    """Yield each failure with the keys that it affects; one shared by several paths of a provider is reported once."""
    failed = parts[0].result.answers.failures
    if not failed:
        return
    found = _shared_failures(failed)
    for part in parts:
        for name, places in part.result.failed():
            for failure in dict.fromkeys(map(found.__getitem__, places)):
                failure.affected.append((part, name))
    yield from (failure.with_affected() for failure in dict.fromkeys(found.values()))


@dataclass(slots=True, repr=False, eq=False)
class _SharedFailure:
    """
    A failure that paths of one provider share.

    :ivar affected: the part and the name of each value that refers to one of ``places``, in their order
    """

    problem: ConfigProvidersError
    places: set[Place] = field(default_factory=set)
    affected: list[tuple[Part, str]] = field(default_factory=list)

    def with_affected(self) -> ConfigProvidersError:
        """Return the error that says what it affects."""
        listed = [part.result.references(name, self.places) for part, name in self.affected]
        if len(self.affected) == 1:
            ((part, name),), (references,) = self.affected, listed
            return _of_key(self.problem, part.place(name), references)
        return _of_keys(self.problem, [name for _, name in self.affected], first_of(chain.from_iterable(listed)))


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
    listed = f"{counted(len(names), 'key')}: {first_of(names)}"
    return type(problem)(*(f"{references}: not resolved. {sentence} ({listed})" for sentence in problem.problems))
