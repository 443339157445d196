"""Objects that accept a new configuration while they run (KIP-226)."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType
from typing import Any, Final, TypeVar

from airflow_config_providers.core.concurrency.per_process import forget_in_children
from airflow_config_providers.core.definition.config_def import ConfigDef
from airflow_config_providers.core.keys import current_name, is_reserved
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException, refuse

_T = TypeVar("_T")

GoBack = Callable[[], list[str]]
"""Restores the old configuration for the notified members; returns one sentence for each that could not take it."""


_UNSET: Final = object()  # a key with the value None is not the same as an absent key
_OF_THE_DEPLOYMENT: Final = "config.providers and the keys below it belong to the deployment."


class Reconfigurable(ABC):
    """
    Something that follows changes of the configuration. Called by one thread at a time.

    Both methods receive the whole configuration, not only the keys that concern the object.
    """

    @abstractmethod
    def reconfigurable_configs(self) -> Collection[str]:
        """Return the keys that concern this object; it is not asked about changes of other keys."""

    @abstractmethod
    def validate_reconfiguration(self, configs: Mapping[str, Any]) -> bool | None:
        """
        Return whether the configuration can be applied; None if it can. Change nothing.

        :raises ConfigException: it cannot be applied, with the reason; the message contains no value
        """

    @abstractmethod
    def reconfigure(self, configs: Mapping[str, Any]) -> None:
        """
        Apply ``configs``, which were validated; or the previous ones, if the change has failed elsewhere.

        If it raises, the object must be unchanged.
        """


class Reconfigurables:
    """
    The configuration in effect, and the objects that follow it. Thread-safe; changes happen one after the other.

    :param configs: the configuration in effect now
    :param definition: which keys are read-only or older names; replaced by the definition of a ``ConfigAdmin``
    """

    def __init__(self, configs: Mapping[str, Any], definition: ConfigDef | None = None) -> None:
        self._definition = definition or ConfigDef()
        self._current: Mapping[str, Any] = MappingProxyType(dict(configs))
        self._members: tuple[Reconfigurable, ...] = ()
        self._lock = threading.RLock()
        self._has_turn = False
        forget_in_children(self)

    @property
    def current(self) -> Mapping[str, Any]:
        """The configuration in effect: the old one until every member has the new one, and again if one fails."""
        return self._current

    def add(self, member: Reconfigurable) -> None:
        """
        Notify ``member`` of every later change; adding it again has no effect.

        :raises ConfigException: some of its keys are known to be read-only or older names; names them
        """
        with self._lock:
            _refuse([member], self._definition)
            if not any(member is known for known in self._members):
                self._members += (member,)

    def follow(self, definition: ConfigDef) -> None:
        """
        Use ``definition`` to decide which keys are read-only or older names, also for the current members.

        :raises ConfigException: as for ``add``; the old definition stays in effect
        """
        with self._lock:
            _refuse(self._members, definition)
            self._definition = definition

    def remove(self, member: Reconfigurable) -> None:
        """Stop telling ``member`` about changes."""
        with self._lock:
            self._members = tuple(known for known in self._members if known is not member)

    def keys(self) -> frozenset[str]:
        """
        Return the keys that concern any member.

        :raises ConfigException: a member failed to return its keys
        """
        return frozenset(key for member in self._members for key in _keys(member))

    def forget(self) -> None:
        """In a forked child: free the turn that a thread of the parent had, which does not exist here."""
        self._lock = threading.RLock()
        self._has_turn = False

    def validate(self, configs: Mapping[str, Any], refreshed: Collection[str] = ()) -> None:
        """
        Ask every member that a change to ``configs`` concerns, and change nothing.

        :param refreshed: keys whose references have new values, although their strings are the same
        :raises ConfigException: members refuse; names each of them, with its reasons
        """
        with self._lock:
            proposed = MappingProxyType(dict(configs))
            _ask(self._concerned(proposed, refreshed), proposed)

    def apply(self, configs: Mapping[str, Any], refreshed: Collection[str] = ()) -> None:
        """
        Ask every member that a change to ``configs`` concerns, and then notify them, in the order they were added.

        If one fails, the members before it get the old configuration back, last first, and it stays in effect.

        :param refreshed: keys whose references have new values, although their strings are the same
        :raises ConfigException: a member refused, or failed; also names members that could not go back
        """
        with self.turn():
            self.validate(configs, refreshed)
            self.tell(configs, refreshed)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """
        Keep other threads from applying, so that one configuration can be validated, stored, and announced.

        :raises ConfigException: this thread already has the turn
        """
        with self._lock:
            if self._has_turn:
                raise ConfigException("A configuration is being applied. Apply the next one when that is done.")
            self._has_turn = True
            try:
                yield
            finally:
                self._has_turn = False

    def tell(self, configs: Mapping[str, Any], refreshed: Collection[str] = ()) -> GoBack:
        """
        Notify every member that a change to ``configs`` concerns, without asking; otherwise like ``apply``.

        :param refreshed: keys whose references have new values, although their strings are the same
        :returns: a function that undoes it; for the same turn
        :raises ConfigException: a member failed; also names members that could not go back
        """
        with self._lock:
            proposed = MappingProxyType(dict(configs))
            notified: list[Reconfigurable] = []
            go_back = partial(self._go_back, notified, self._current)
            for member in self._concerned(proposed, refreshed):
                try:
                    problem = _failure(member, proposed)
                except BaseException:
                    go_back()
                    raise
                if problem:
                    failed = f"{_name(member)} could not be reconfigured ({problem})."
                    raise ConfigException(f"{failed} The old configuration stays in effect.", *go_back())
                notified.append(member)
            self._current = proposed
            return go_back

    def _go_back(self, notified: Sequence[Reconfigurable], old: Mapping[str, Any]) -> list[str]:
        with self._lock:
            failures = [(member, _failure(member, old)) for member in reversed(notified)]
            self._current = old
        return [
            f"{_name(member)} could not go back to the old configuration ({problem}). Restart it."
            for member, problem in failures
            if problem
        ]

    def _concerned(self, proposed: Mapping[str, Any], refreshed: Collection[str]) -> list[Reconfigurable]:
        old = self._current
        changed = {key for key in old.keys() | proposed.keys() if old.get(key, _UNSET) != proposed.get(key, _UNSET)}
        changed.update(refreshed)
        return [member for member in self._members if not changed.isdisjoint(_keys(member))]


def _refuse(members: Sequence[Reconfigurable], definition: ConfigDef) -> None:
    refuse(ConfigException, [problem for member in members for problem in _static(member, definition)])


def _static(member: Reconfigurable, definition: ConfigDef) -> Iterator[str]:
    """
    Yield a problem for each key of ``member`` of which it would never be told.

    A failure to return its keys is reported by a change.
    """
    try:
        keys = _keys(member)
    except ConfigException:
        return
    for key in keys:
        reason = _OF_THE_DEPLOYMENT if is_reserved(key) else definition.read_only_reason(key)
        if reason:
            yield f"{_name(member)} cannot follow '{printable(key)}', which is not dynamic: {reason}"
        elif (current := current_name(key, definition.older_names)) != key:
            where = f"'{printable(key)}', an older name of '{printable(current)}'"
            yield f"{_name(member)} cannot follow {where}, under which it gets the value. Follow that."


def _keys(member: Reconfigurable) -> Collection[str]:
    keys, failure = _tried(member.reconfigurable_configs)
    if keys is None or failure:
        raise ConfigException(f"{_name(member)} failed to return its keys ({failure or 'it returned None'}).")
    return keys


def _ask(members: Sequence[Reconfigurable], configs: Mapping[str, Any]) -> None:
    problems: list[str] = []
    for member in members:
        agreed, refusal = _tried(partial(member.validate_reconfiguration, configs))
        if refusal or agreed is False:
            problems.append(f"{_name(member)} refuses the configuration ({refusal or 'it returned False'}).")
    refuse(ConfigException, problems)


def _failure(member: Reconfigurable, configs: Mapping[str, Any]) -> str:
    """Reconfigure ``member``; return why it failed, or an empty string."""
    return _tried(partial(member.reconfigure, configs))[1]


def _tried(call: Callable[[], _T]) -> tuple[_T | None, str]:
    """
    Return the result of ``call``, and why it failed, which is empty if it did not.

    That is the message of an error of ours, but only the type of any other error: its message can contain a value.
    """
    try:
        return call(), ""
    except Exception as error:  # noqa: BLE001 - whatever a member raises, it has failed
        return None, "; ".join(error.problems) if isinstance(error, ConfigException) else type(error).__name__


def _name(member: Reconfigurable) -> str:
    return printable(type(member).__qualname__)
