"""Why references have no value: an error for each that has no answer, and one for all that failed alike."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import Final, NamedTuple

from airflow_config_providers.core.errors import foreign_failure
from airflow_config_providers.core.lookup import Place
from airflow_config_providers.core.provider import ConfigProvider
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.transformer import ConfigTransformerResult
from airflow_config_providers.core.variable import ConfigVariable, form_hint, spelling_hint
from airflow_config_providers.core.wording import counted, first_of, nearest
from airflow_config_providers.exceptions import AccessDeniedError, ConfigProvidersError, UnresolvedReferenceError

_MOST_REFERENCES: Final = 100
"""How many references without a value are explained: a hint compares each with all keys at its path."""


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
