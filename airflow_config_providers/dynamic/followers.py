"""Those who follow the configuration of a resource: asked before a change of it is written, and told after."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from airflow_config_providers.core.alter import ConfigResource
from airflow_config_providers.core.definition.config_def import ConfigDef
from airflow_config_providers.core.reconfigurable import GoBack, Reconfigurables
from airflow_config_providers.dynamic.change import PlannedChange, Plans, by_resource
from airflow_config_providers.dynamic.document import Value
from airflow_config_providers.dynamic.layers import inherited
from airflow_config_providers.dynamic.reasons import Reasons
from airflow_config_providers.exceptions import ConfigException, ConfigProvidersError

Settle = Callable[[ConfigResource, Plans], Mapping[str, Value]]
"""
Gives what counts for a resource when changes are carried out: key -> text with its references, or a sealed secret.

:raises ConfigProvidersError: that cannot be told
"""

TakeBack = Callable[[Sequence[PlannedChange]], list[str]]
"""Takes back what was written; gives what became of it, one sentence each."""


@dataclass(frozen=True, slots=True)
class Followers:
    """
    Those who follow the configurations of resources, in this process. Thread-safe.

    A change concerns those who follow what is changed, and those who follow what inherits from it.

    :param sets: resource -> who follow it
    :raises ConfigException: a resource is none, or one set follows two of them
    """

    sets: Mapping[ConfigResource, Reconfigurables]

    def __post_init__(self) -> None:
        problems = [followed.problem for followed in self.sets if followed.problem]
        if len({id(members) for members in self.sets.values()}) < len(self.sets):
            problems.append("One Reconfigurables follows two resources. Give each its own.")
        if problems:
            raise ConfigException(*problems)

    def follow(self, definition: ConfigDef) -> None:
        """
        Refuse those who follow a key that ``definition`` calls read-only, now and later.

        :raises ConfigException: names who and which keys
        """
        for members in self.sets.values():
            members.follow(definition)

    def concerned(self, changed: Collection[ConfigResource]) -> list[ConfigResource]:
        """Give the resources that are followed and that a change of ``changed`` concerns."""
        return [followed for followed in self.sets if any(one in changed for one in inherited(followed))]

    @contextmanager
    def turn(self, changed: Collection[ConfigResource]) -> Iterator[None]:
        """
        Keep others from changing what ``changed`` concerns, until all are told.

        :raises ConfigException: it is asked for by one who is being told
        """
        with ExitStack() as turns:
            for members in sorted((self.sets[followed] for followed in self.concerned(changed)), key=id):
                turns.enter_context(members.turn())
            yield

    def refusals(self, plans: Sequence[PlannedChange], settle: Settle) -> dict[ConfigResource, ConfigProvidersError]:
        """
        Ask everybody; give the resources whose changes are refused.

        They are asked anew about what is left, until nobody refuses that.
        """
        refused: dict[ConfigResource, ConfigProvidersError] = {}
        left = by_resource(plan for plan in plans if plan.keys)
        while more := self._refusals(left, settle):
            refused |= more
            left = {resource: plan for resource, plan in left.items() if resource not in more}
        return refused

    def tell(
        self, plans: Sequence[PlannedChange], settle: Settle, take_back: TakeBack
    ) -> dict[ConfigResource, ConfigProvidersError]:
        """
        Tell everybody what was written; if one fails, give all the old configuration back, and take back the changes.

        :param take_back: is given the changes that concern anybody
        :returns: the resources whose changes are not in effect, and why
        """
        followed = {one for members in self.sets for one in inherited(members)}
        plans = [plan for plan in plans if plan.keys and plan.resource in followed]
        try:
            problems = self._tell(by_resource(plans), settle)
        except BaseException:
            take_back(plans)
            raise
        if not problems:
            return {}
        error = ConfigException(*problems, *take_back(plans))
        return {plan.resource: error for plan in plans}

    def _refusals(self, plans: Plans, settle: Settle) -> dict[ConfigResource, ConfigProvidersError]:
        found: dict[ConfigResource, Reasons] = {}
        for followed in self.concerned(plans):
            if error := self._refusal(followed, plans, settle):
                for resource in filter(plans.__contains__, inherited(followed)):
                    who = f"Those who follow {followed} do not agree to the change of {resource}"
                    problems = [f"{who}: {problem}" for problem in error.problems]
                    found.setdefault(resource, Reasons()).add(type(error)(*problems))
        return {resource: reasons.together() for resource, reasons in found.items()}

    def _refusal(self, followed: ConfigResource, plans: Plans, settle: Settle) -> ConfigProvidersError | None:
        try:
            self.sets[followed].validate(settle(followed, plans))
        except ConfigProvidersError as error:
            return error
        return None

    def _tell(self, plans: Plans, settle: Settle) -> list[str]:
        """Tell all; or nobody in the end, and give why."""
        told: dict[ConfigResource, GoBack] = {}
        problems: list[str] = []
        try:
            for followed in self.concerned(plans):
                told[followed] = self.sets[followed].tell(settle(followed, plans))
        except ConfigProvidersError as error:
            problems = [f"{followed}: {problem}" for problem in error.problems]
        except BaseException:
            _go_back(told)
            raise
        return [*problems, *_go_back(told)] if problems else []


def _go_back(told: Mapping[ConfigResource, GoBack]) -> list[str]:
    return [f"{followed}: {problem}" for followed, go_back in reversed([*told.items()]) for problem in go_back()]
