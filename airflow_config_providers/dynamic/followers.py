"""Followers of a resource's configuration, which are asked before a change is written, and notified afterwards."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from airflow_config_providers.core.alter import ConfigResource
from airflow_config_providers.core.definition.config_def import ConfigDef
from airflow_config_providers.core.reconfigurable import GoBack, Reconfigurables
from airflow_config_providers.dynamic.document import Value
from airflow_config_providers.dynamic.inheritance import inherited
from airflow_config_providers.dynamic.planner import PlannedChange, Plans, by_resource
from airflow_config_providers.dynamic.reasons import Reasons
from airflow_config_providers.exceptions import ConfigException, ConfigProvidersError

Settle = Callable[[ConfigResource, Plans], Mapping[str, Value]]
"""
Returns the values that win for a resource after planned changes: key -> string with its references, or a sealed secret.

:raises ConfigProvidersError: the values cannot be determined
"""

TakeBack = Callable[[Sequence[PlannedChange]], list[str]]
"""Takes back what was written, and returns a sentence about the result of each change."""


@dataclass(frozen=True, slots=True)
class News:
    """
    What the followers of a resource get.

    :param configs: the configuration of the resource
    :param refreshed: keys whose references have new values, although their strings are the same
    """

    configs: Mapping[str, Value] = field(repr=False)
    refreshed: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Followers:
    """
    The followers of resources' configurations in this process. Thread-safe.

    A change concerns the followers of the changed resource, and those of resources that inherit from it.

    :param sets: resource -> its followers
    :raises ConfigException: a resource is invalid, or one set follows two resources
    """

    sets: Mapping[ConfigResource, Reconfigurables]

    def __post_init__(self) -> None:
        problems = [followed.problem for followed in self.sets if followed.problem]
        if len({id(members) for members in self.sets.values()}) < len(self.sets):
            problems.append("One Reconfigurables follows two resources. Create one for each.")
        if problems:
            raise ConfigException(*problems)

    def follow(self, definition: ConfigDef) -> None:
        """
        Refuse followers, now and later, of keys that ``definition`` calls read-only.

        :raises ConfigException: there are such followers; names them and the keys
        """
        for members in self.sets.values():
            members.follow(definition)

    def concerned(self, changed: Collection[ConfigResource]) -> list[ConfigResource]:
        """Return the followed resources that a change of ``changed`` concerns."""
        return [followed for followed in self.sets if any(one in changed for one in inherited(followed))]

    @contextmanager
    def turn(self, changed: Collection[ConfigResource]) -> Iterator[None]:
        """
        Prevent other changes of what ``changed`` concerns until the block ends.

        :raises ConfigException: a follower that is being notified asked for this
        """
        with ExitStack() as turns:
            for members in sorted((self.sets[followed] for followed in self.concerned(changed)), key=id):
                turns.enter_context(members.turn())
            yield

    def refusals(self, plans: Sequence[PlannedChange], settle: Settle) -> dict[ConfigResource, ConfigProvidersError]:
        """
        Ask all followers, and return the resources whose changes are refused.

        They are asked again about the remaining changes until none is refused.
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
        Notify all followers; if one fails, give all of them the old configuration again, and take back the changes.

        :param take_back: is called with the changes that concern a follower
        :returns: resource -> why its change is not in effect
        """
        followed = {one for members in self.sets for one in inherited(members)}
        plans = [plan for plan in plans if plan.keys and plan.resource in followed]
        try:
            problems = self._tell_planned(by_resource(plans), settle)
        except BaseException:
            take_back(plans)
            raise
        if not problems:
            return {}
        error = ConfigException(*problems, *take_back(plans))
        return {plan.resource: error for plan in plans}

    def apply(self, news: Mapping[ConfigResource, News]) -> list[str]:
        """
        Ask the followers of all these resources, then notify them. The caller has the turn of the resources.

        :returns: why some refuse it, or one has failed; then all of them have the old configuration
        """
        reasons: list[str] = []
        for followed, one in news.items():
            try:
                self.sets[followed].validate(one.configs, one.refreshed)
            except ConfigProvidersError as error:
                reasons += (f"{followed}: {problem}" for problem in error.problems)
        return reasons or self._tell(news, news.__getitem__)

    def forget_threads(self) -> None:
        """In a forked child: free the turns that threads of the parent had."""
        for members in self.sets.values():
            members.forget_threads()

    def _refusals(self, plans: Plans, settle: Settle) -> dict[ConfigResource, ConfigProvidersError]:
        found: dict[ConfigResource, Reasons] = {}
        for followed in self.concerned(plans):
            if error := self._refusal(followed, plans, settle):
                for resource in filter(plans.__contains__, inherited(followed)):
                    who = f"A follower of {followed} refuses the change of {resource}"
                    problems = [f"{who}: {problem}" for problem in error.problems]
                    found.setdefault(resource, Reasons()).add(type(error)(*problems))
        return {resource: reasons.together() for resource, reasons in found.items()}

    def _refusal(self, followed: ConfigResource, plans: Plans, settle: Settle) -> ConfigProvidersError | None:
        try:
            self.sets[followed].validate(settle(followed, plans))
        except ConfigProvidersError as error:
            return error
        return None

    def _tell_planned(self, plans: Plans, settle: Settle) -> list[str]:
        return self._tell(self.concerned(plans), lambda followed: News(settle(followed, plans)))

    def _tell(self, concerned: Iterable[ConfigResource], news_of: Callable[[ConfigResource], News]) -> list[str]:
        """Notify all followers. If one fails, restore all of them, and return the problems."""
        told: dict[ConfigResource, GoBack] = {}
        problems: list[str] = []
        try:
            for followed in concerned:
                news = news_of(followed)
                told[followed] = self.sets[followed].tell(news.configs, news.refreshed)
        except ConfigProvidersError as error:
            problems = [f"{followed}: {problem}" for problem in error.problems]
        except BaseException:
            _go_back(told)
            raise
        return [*problems, *_go_back(told)] if problems else []


def _go_back(told: Mapping[ConfigResource, GoBack]) -> list[str]:
    return [f"{followed}: {problem}" for followed, go_back in reversed([*told.items()]) for problem in go_back()]
