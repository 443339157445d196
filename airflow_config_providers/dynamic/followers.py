"""Followers of a resource's configuration, which are asked before a change is written, and notified afterwards."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Final

from airflow_config_providers.core.closed_on_exit import ClosedOnExit
from airflow_config_providers.core.closing import Closable
from airflow_config_providers.core.concurrency.per_process import forget_in_children
from airflow_config_providers.core.concurrency.timetable import Timetable
from airflow_config_providers.core.provider import ContentHash
from airflow_config_providers.core.reconfigurable import GoBack, Reconfigurables
from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.core.variable import scan
from airflow_config_providers.dynamic.document import DEPLOYMENT, Value
from airflow_config_providers.dynamic.inheritance import inherited
from airflow_config_providers.dynamic.planner import PlannedChange, Plans, Reasons, by_resource
from airflow_config_providers.dynamic.store import ChangeMark, ConfigStore, Signalling, Snapshot, change_mark
from airflow_config_providers.exceptions import ConfigException, ConfigProvidersError, ProviderUnavailableError, refuse

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
        refuse(ConfigException, problems)

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
        sources = {one for followed in self.sets for one in inherited(followed)}
        plans = [plan for plan in plans if plan.keys and plan.resource in sources]
        planned = by_resource(plans)
        try:
            problems = self._notify(self.concerned(planned), lambda followed: News(settle(followed, planned)))
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
        return reasons or self._notify(news, news.__getitem__)

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

    def _notify(self, concerned: Iterable[ConfigResource], news_of: Callable[[ConfigResource], News]) -> list[str]:
        """Notify all followers. If one fails, restore all of them, and return the problems."""
        notified: dict[ConfigResource, GoBack] = {}
        problems: list[str] = []
        try:
            for followed in concerned:
                news = news_of(followed)
                notified[followed] = self.sets[followed].tell(news.configs, news.refreshed)
        except ConfigProvidersError as error:
            problems = [f"{followed}: {problem}" for problem in error.problems]
        except BaseException:
            _go_back(notified)
            raise
        return [*problems, *_go_back(notified)] if problems else []


def _go_back(notified: Mapping[ConfigResource, GoBack]) -> list[str]:
    return [f"{followed}: {problem}" for followed, go_back in reversed([*notified.items()]) for problem in go_back()]


_log: Final = logging.getLogger(__name__)

DEFAULT_INTERVAL: Final = 10.0
"""The seconds between two requests for changes."""

_OF_PARENTS: Final[list[Closable]] = []
"""Signals of a parent: in its child nothing may close their connection, which is the parent's."""

Fetch = Callable[[Mapping[str, str]], Mapping[str, str]]
"""
Returns key -> the string with the current values of its references.

:raises ConfigProvidersError: the values cannot be read now
"""

Marks = Mapping[ConfigResource, ChangeMark]

_Meanings = Mapping[str, tuple[str, object]]
"""Key -> its string with references, and something that differs when the values of the references do."""


class ConfigFollower(ClosedOnExit):
    """
    Reconfigures followers soon after any process has changed the configuration. Thread-safe.

    The store is asked for the versions of all followed resources with one request: regularly, and within a second
    after a change if it is ``Signalling``. Only if one of them has changed are
    followers asked and, if none refuses, notified; several changes in quick succession can be one. If one fails, all
    that the change concerns get the old configuration back. This is logged, and the next change is applied with all
    that was missed. What cannot be read is tried again each time. A change by this process finds its followers up to
    date. There is no thread without followers, and none in a forked child.

    :param settle: returns the values that win for a resource
    :param interval: the most seconds between two requests
    :param fetch: returns the values of strings with references
    """

    def __init__(  # noqa: PLR0913 - ConfigAdmin passes them; tests have a timetable of their own
        self,
        store: ConfigStore,
        followers: Followers,
        settle: Callable[[ConfigResource, Snapshot], Mapping[str, Value]],
        *,
        interval: float = DEFAULT_INTERVAL,
        fetch: Fetch | None = None,
        timetable: Timetable | None = None,
    ) -> None:
        self._store = store
        self._followers = followers
        self._settle = settle
        self._interval = interval
        self._fetch = fetch
        self._timetable = timetable or Timetable("config-follower")
        self._hash = ContentHash()
        self._seen: dict[ConfigResource, ChangeMark] = {}
        self._meanings: dict[ConfigResource, _Meanings] = {}
        self._complaint = ""
        self._is_closed = False
        self._signals: Closable | None = None
        forget_in_children(self)
        if followers.sets:
            self._begin()

    def catch_up(self) -> None:
        """
        Notify the followers now of all that has changed; one request if nothing has.

        :raises ConfigProvidersError: configuration cannot be read, or followers refuse it or have failed
        """
        reasons = Reasons()
        if self._behind(self._read(), reasons):
            reasons = self._catch_up()
        if reasons:
            raise reasons.together()

    def close(self) -> None:
        """Send no further notifications, except those under way; the threads end."""
        self._is_closed = True
        self._timetable.clear()
        signals, self._signals = self._signals, None
        if signals is not None:
            signals.close()

    def forget(self) -> None:
        """In a forked child, which has no thread of the parent's: send no notifications."""
        self._timetable = Timetable("config-follower", self._timetable.clock)
        if self._signals is not None:
            _OF_PARENTS.append(self._signals)
        self._signals, self._is_closed = None, True

    def _begin(self) -> None:
        try:
            self._timetable.add(self, self._timetable.clock(), self._poll)
            self._signals = self._store.listen(self._poll_soon) if isinstance(self._store, Signalling) else None
        except BaseException:
            self.close()  # nobody else has this object
            raise

    def _poll_soon(self) -> None:
        """Poll within a second: many processes get the same signal."""
        self._timetable.hasten(self, self._timetable.between(0, min(1.0, self._interval)))

    def _poll(self) -> float:
        """Catch up, and return when to do it again."""
        complaint = ""
        try:
            self.catch_up()
        except ConfigProvidersError as error:
            complaint = " ".join(error.problems)
        except BaseException as error:  # noqa: BLE001 - the next change is looked for in any case; its text can hold a value
            complaint = type(error).__name__
        if complaint and complaint != self._complaint:
            _log.warning("Changed configuration is not in effect in this process. %s", complaint)
        self._complaint = complaint
        return self._timetable.between(0.9 * self._interval, self._interval)

    def _read(self) -> Snapshot:
        return Snapshot.read(self._store, self._followers.sets)

    def _behind(self, snapshot: Snapshot, reasons: Reasons) -> Marks:
        """Return the marks of resources that have changed since their followers were notified."""
        behind: dict[ConfigResource, ChangeMark] = {}
        for followed in self._followers.sets:
            with reasons:
                mark = _mark(followed, snapshot)
                if mark != self._seen.get(followed):
                    behind[followed] = mark
        return behind

    def _catch_up(self) -> Reasons:
        """Read again, as a change by this process can have ended meanwhile, and apply; return what prevented it."""
        reasons = Reasons()
        with self._followers.turn(self._followers.sets):
            snapshot = self._read()
            for group in self._groups(self._behind(snapshot, reasons)):
                with reasons:
                    self._apply(group, snapshot)
        return reasons

    def _groups(self, behind: Marks) -> Iterable[Marks]:
        """Return resources together that one change can concern: all or none of them get it."""
        groups: dict[ConfigResource, dict[ConfigResource, ChangeMark]] = {}
        for followed, mark in behind.items():
            seen = self._seen.get(followed)
            cause = followed if seen is None else [*inherited(followed)][mark.weakest_change(seen)]
            groups.setdefault(cause, {})[followed] = mark
        return groups.values()

    def _apply(self, marks: Marks, snapshot: Snapshot) -> None:
        configs = {followed: self._settle(followed, snapshot) for followed in marks}
        meanings = {followed: self._meanings_of(followed, configs[followed], marks[followed]) for followed in marks}
        if self._is_closed:
            return
        problems = self._followers.apply(
            {one: News(configs[one], _different(self._meanings.get(one, {}), meanings[one])) for one in marks}
        )
        self._seen |= marks  # after a refusal too: only another change can end it
        refuse(ConfigException, problems)
        self._meanings |= meanings

    def _meanings_of(self, followed: ConfigResource, configs: Mapping[str, Value], mark: ChangeMark) -> _Meanings:
        keys = self._followers.sets[followed].keys()
        texts = {key: text for key, text in configs.items() if key in keys and isinstance(text, str) and scan(text)}
        if self._fetch is None or not texts:
            return {key: (text, mark.refreshed) for key, text in texts.items()}
        values = self._fetched(followed, self._fetch, texts)
        return {key: (text, self._hash.of({key: values[key]})) for key, text in texts.items()}

    def _fetched(self, followed: ConfigResource, fetch: Fetch, texts: Mapping[str, str]) -> Mapping[str, str]:
        try:
            values = fetch(texts)
            return {key: values[key] for key in texts}
        except ConfigProvidersError as error:
            problems: tuple[str, ...] = error.problems
        except Exception as error:  # noqa: BLE001 - whatever it raises, other resources are looked at
            problems = (type(error).__name__,)
        raise ProviderUnavailableError(
            *(f"{followed}: the values of its references cannot be read ({problem})." for problem in problems)
        )


def _mark(followed: ConfigResource, snapshot: Snapshot) -> ChangeMark:
    if snapshot.document(followed).beside > snapshot.document(DEPLOYMENT).version:
        raise ProviderUnavailableError(
            f"The dynamic configuration of {followed} is newer than that of the deployment, which was read before it."
        )
    return change_mark(followed, snapshot)


def _different(before: _Meanings, now: _Meanings) -> list[str]:
    """Return the keys that have the same string, but other values."""
    return [key for key, found in now.items() if key in before and before[key] != found and before[key][0] == found[0]]
