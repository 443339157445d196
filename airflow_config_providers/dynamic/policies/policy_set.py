"""The policies of a deployment, the changes that each of them checks, and its verdict on one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Self, TypeGuard, TypeVar, overload

from airflow_config_providers.core.closing import Closing, close_all
from airflow_config_providers.core.errors import kind_and_place
from airflow_config_providers.core.policy import (
    AlterConfigPolicy,
    ConditionalPolicy,
    Denial,
    Moment,
    NamedPolicy,
    RequestMetadata,
    judged,
)
from airflow_config_providers.core.resource import ResourceType
from airflow_config_providers.core.templates import ONLY_A_RUN_KNOWS
from airflow_config_providers.core.text import not_one_of
from airflow_config_providers.dynamic.policies.cel import CelExpression
from airflow_config_providers.dynamic.policies.classes import PolicyClasses
from airflow_config_providers.dynamic.policies.params import Params
from airflow_config_providers.dynamic.policies.policy_file import PolicyEntry, read_policies
from airflow_config_providers.dynamic.policies.spark_keys import Patterns
from airflow_config_providers.exceptions import ConfigException, ConfigProvidersError, PolicyViolation, refuse

_T = TypeVar("_T")
_Choice = TypeVar("_Choice", bound=Enum)


class PolicySet(Closing, Sequence[NamedPolicy]):
    """The policies of a deployment, in the order of the file."""

    def __init__(self, policies: Sequence[NamedPolicy]) -> None:
        super().__init__(_closable(policies))
        self._policies = tuple(policies)

    @classmethod
    def open(cls, path: str, classes: PolicyClasses | None = None) -> Self:
        """
        Return the policies of a file, configured.

        :param path: the path of a YAML file
        :param classes: the classes that it may name; by default, ready and installed ones
        :raises ConfigException: the file is wrong; lists all problems with file and line. No policy stays open
        """
        entries, problems = read_policies(path)
        return cls.of_entries(entries, classes, problems=problems)

    @classmethod
    def of_entries(
        cls, entries: Iterable[PolicyEntry], classes: PolicyClasses | None = None, *, problems: Iterable[str] = ()
    ) -> Self:
        """
        Return the policies of ``entries``, configured.

        :param problems: what is wrong with the form of their file
        :raises ConfigException: as for ``open``
        """
        known = classes or PolicyClasses()
        found = [*problems]
        policies: list[NamedPolicy] = []
        with ExitStack() as undo:
            undo.callback(lambda: close_all(_closable(policies)))
            for entry in entries:
                _opened(entry, known, policies, found)
            refuse(ConfigException, found)
            undo.pop_all()
        return cls(policies)

    @classmethod
    def denying(cls, error: ConfigProvidersError) -> Self:
        """Return a set that denies everything because of ``error``, which occurred when the policies were opened."""
        return cls([NamedPolicy("policies", _Denying([f"{_UNTIL} {problem}" for problem in error.problems]))])

    @overload
    def __getitem__(self, index: int) -> NamedPolicy: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[NamedPolicy]: ...

    def __getitem__(self, index: int | slice) -> NamedPolicy | Sequence[NamedPolicy]:
        return self._policies[index]

    def __len__(self) -> int:
        return len(self._policies)


@dataclass(frozen=True, slots=True)
class Match:
    """
    The changes that a policy checks; None means all.

    :param dags: patterns of DAG ids; the deployment default belongs to the DAG with the empty name
    :param tasks: patterns of task ids; a resource that is not a task has an empty task id
    """

    resources: frozenset[ResourceType] | None = None
    dags: Patterns | None = None
    tasks: Patterns | None = None
    moments: frozenset[Moment] | None = None

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Match:
        """
        Return a match for the fields ``resources``, ``dags``, ``tasks`` and ``at``.

        :raises ConfigException: fields are wrong; lists all problems
        """
        params = Params(given)
        resources = _chosen(params, "resources", {kind.name.lower(): kind for kind in ResourceType})
        dags, tasks = (Patterns.of(params.texts_if_given(name)) for name in ("dags", "tasks"))
        moments = _chosen(params, "at", {moment.value: moment for moment in Moment})
        params.finish()
        return cls(resources, dags, tasks, moments)

    def fits(self, request: RequestMetadata) -> bool:
        """Return whether the policy checks ``request``."""
        resource = request.resource
        return (
            (self.resources is None or resource.type in self.resources)
            and (self.dags is None or self.dags.matches(resource.dag_id))
            and (self.tasks is None or self.tasks.matches(resource.task_id))
            and (self.moments is None or request.at in self.moments)
        )


class MatchedPolicy(ConditionalPolicy):
    """
    A policy that checks only some changes.

    :param when: an additional condition; if it cannot be evaluated, the change is denied
    """

    def __init__(self, policy: AlterConfigPolicy, match: Match, when: CelExpression | None = None) -> None:
        self._policy, self._match, self._when = policy, match, when

    @property
    def subject(self) -> str:
        """The subject of the policy."""
        return self._policy.subject

    def ask(self, request: RequestMetadata) -> bool:
        """
        Ask the policy if the change matches; return whether it does.

        :raises PolicyViolation: the policy denies, or the condition ``when`` cannot be evaluated
        """
        if not self._match.fits(request) or (self._when is not None and not self._when.holds(request)):
            return False
        self._policy.validate(request)
        return True

    def fits(self, request: RequestMetadata) -> bool:
        """Return whether the policy checks ``request`` if its condition ``when`` holds."""
        return self._match.fits(request)

    def close(self) -> None:
        """Close the policy."""
        self._policy.close()


_UNTIL: Final = "until the policies can be loaded, everything is denied."


class _Denying(AlterConfigPolicy):
    """Denies everything."""

    def __init__(self, reasons: Sequence[str]) -> None:
        self._reasons = reasons

    def validate(self, request: RequestMetadata) -> None:
        raise PolicyViolation(*self._reasons)


def _opened(entry: PolicyEntry, classes: PolicyClasses, policies: list[NamedPolicy], problems: list[str]) -> None:
    """Open one policy, and add it to ``policies`` as soon as there is something to close."""
    fields = entry.sound
    match = _tried(entry, problems, "match", lambda: Match.read(fields.get("match", {})))
    when = _tried(entry, problems, "when", lambda: CelExpression(fields["when"])) if "when" in fields else None
    is_one = ("expression" in fields) != ("class" in fields)
    policy = _tried(entry, problems, "class", lambda: classes.make(fields.get("class", "cel"))) if is_one else None
    if policy is None:
        return
    policies.append(NamedPolicy(entry.name, MatchedPolicy(policy, match or Match(), when), entry.enforcement))
    params = fields.get("params", {})
    if "expression" in fields:
        params = {name: fields[name] for name in ("expression", "message") if name in fields}
    _tried(entry, problems, "expression" if "expression" in fields else "params", lambda: _configure(policy, params))


def _configure(policy: AlterConfigPolicy, given: Mapping[str, Any]) -> None:
    known = type(policy).params
    if isinstance(known, str):
        raise ConfigException(f"params of its class is a string. Make it a tuple of names: params = ({known!r},).")
    if _are_names(known):
        Params(given, known=known).finish()
    policy.configure(given)


def _are_names(known: object) -> TypeGuard[Collection[str]]:
    """Return whether a class names its parameters. It can have an attribute of its own, such as a mapping, instead."""
    if not isinstance(known, Collection) or isinstance(known, Mapping):
        return False
    return all(isinstance(name, str) for name in known)


def _tried(entry: PolicyEntry, problems: list[str], field: str, call: Callable[[], _T]) -> _T | None:
    """Return the result of ``call``; on an error, add it to ``problems``. Foreign errors show only type and place."""
    place = entry.located(field)
    try:
        return call()
    except ConfigProvidersError as error:
        problems += [f"{place}: {problem}" for problem in error.problems]
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a policy can raise anything; its text can hold a value
        problems.append(f"{place}: it failed with {kind_and_place(error)}. Correct it.")
    return None


def _chosen(params: Params, name: str, choices: Mapping[str, _Choice]) -> frozenset[_Choice] | None:
    texts = params.texts_if_given(name)
    if texts is None:
        return None
    params.problems += [f"'{name}': {not_one_of(text, list(choices))}" for text in texts if text not in choices]
    return frozenset(choices[text] for text in texts if text in choices)


def _closable(policies: Sequence[NamedPolicy]) -> list[tuple[str, AlterConfigPolicy]]:
    return [(f"Policy {named.name}", named.policy) for named in policies]


DENIES: Final = "denies"
WARNS: Final = "warns"
"""The verdict of a policy that would deny, but only warns."""

LOADS: Final = "loads"
"""The verdict of a policy that was opened, and not asked."""


@dataclass(frozen=True, slots=True)
class PolicyVerdict:
    """
    The verdict of one policy.

    :param policy: the name of the policy
    :param at: the occasion; None if the policy was only opened
    :param text: ``denies``, ``warns`` if the policy would deny but only warns, ``allows``, ``only a run knows``,
        ``not asked`` if the policy is not about this resource, or ``loads`` if it was only opened
    :param denials: why the policy denies or would deny, without values
    """

    policy: str
    at: Moment | None = None
    text: str = LOADS
    denials: tuple[Denial, ...] = ()

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons of a denial or a warning for people, without values."""
        return tuple(denial.text for denial in self.denials)


class LastRequest(AlterConfigPolicy):
    """Allows everything, and keeps the last request."""

    request: RequestMetadata

    def validate(self, request: RequestMetadata) -> None:
        """Keep ``request``."""
        self.request = request


def verdict_of(policy: NamedPolicy, request: RequestMetadata | None, *, is_whole: bool = True) -> PolicyVerdict:
    """
    Ask a policy; without a request, say only that it was opened.

    :param is_whole: whether a run has nothing that ``request`` does not show; otherwise, only the run can be allowed
    """
    if request is None:
        return PolicyVerdict(policy.name)
    said = judged([policy], request)
    if against := said.denials or said.warnings:
        return PolicyVerdict(policy.name, request.at, DENIES if said.denials else WARNS, against)
    matched = policy.policy
    if not is_whole and (not isinstance(matched, MatchedPolicy) or matched.fits(request)):
        return PolicyVerdict(policy.name, request.at, ONLY_A_RUN_KNOWS)
    return PolicyVerdict(policy.name, request.at, "allows" if said.allowed_by else "not asked")
