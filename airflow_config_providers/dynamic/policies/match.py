"""Selects the changes that a policy checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

from airflow_config_providers.core.alter import ResourceType
from airflow_config_providers.core.policy import AlterConfigPolicy, Moment, RequestMetadata
from airflow_config_providers.core.text import nearest, printable
from airflow_config_providers.dynamic.policies.cel import CelExpression
from airflow_config_providers.dynamic.policies.params import Params
from airflow_config_providers.dynamic.policies.patterns import Patterns

_Choice = TypeVar("_Choice", bound=Enum)


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


class MatchedPolicy(AlterConfigPolicy):
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

    def validate(self, request: RequestMetadata) -> None:
        """Ask the policy if the change matches."""
        if self.is_asked(request):
            self._policy.validate(request)

    def is_asked(self, request: RequestMetadata) -> bool:
        """
        Return whether the policy checks ``request``.

        :raises PolicyViolation: the condition ``when`` cannot be evaluated
        """
        return self._match.fits(request) and (self._when is None or self._when.holds(request))

    def close(self) -> None:
        """Close the policy."""
        self._policy.close()


def _chosen(params: Params, name: str, choices: Mapping[str, _Choice]) -> frozenset[_Choice] | None:
    texts = params.texts_if_given(name)
    if texts is None:
        return None
    params.problems += [
        f"'{name}': '{printable(text)}' is not one of {', '.join(choices)}{nearest(text, choices) or '.'}"
        for text in texts
        if text not in choices
    ]
    return frozenset(choices[text] for text in texts if text in choices)
