"""Objects that take a new configuration while they run (KIP-226)."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from airflow_config_providers.core.definition.config_def import ConfigDef
from airflow_config_providers.core.registry import is_reserved
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException

GoBack = Callable[[], list[str]]
"""Gives the old configuration back to those who were told; gives who could not take it, one sentence each."""


_OF_THE_DEPLOYMENT: Final = "config.providers and all below it belong to the deployment."


class Reconfigurable(ABC):
    """
    Something that a change of configuration concerns. Called by one thread at a time.

    Both methods get the whole configuration, and not only the keys that are theirs.
    """

    @abstractmethod
    def reconfigurable_configs(self) -> Collection[str]:
        """Give the keys that concern this object; it is asked nothing about the others."""

    @abstractmethod
    def validate_reconfiguration(self, configs: Mapping[str, Any]) -> None:
        """
        Return for a configuration that can be applied; change nothing.

        :raises ConfigException: it cannot; without any value in the message
        """

    @abstractmethod
    def reconfigure(self, configs: Mapping[str, Any]) -> None:
        """
        Apply ``configs``, which were validated; or the ones before, when the change has failed elsewhere.

        One that raises has changed nothing of itself.
        """


class Reconfigurables:
    """
    The configuration that is in effect, and those who follow it. Thread-safe; changes happen one after the other.

    :param configs: what is in effect now
    :param definition: which keys are read-only; that of a ``ConfigAdmin`` takes its place
    """

    def __init__(self, configs: Mapping[str, Any], definition: ConfigDef | None = None) -> None:
        self._definition = definition or ConfigDef()
        self._current: Mapping[str, Any] = MappingProxyType(dict(configs))
        self._members: tuple[Reconfigurable, ...] = ()
        self._lock = threading.RLock()
        self._has_turn = False

    @property
    def current(self) -> Mapping[str, Any]:
        """The configuration in effect: the old one until everybody has the new one, and again if that fails."""
        return self._current

    def add(self, member: Reconfigurable) -> None:
        """
        Tell ``member`` of every later change; a second time does nothing.

        :raises ConfigException: names those of its keys that are known and that no dynamic configuration changes
        """
        with self._lock:
            _refuse([member], self._definition)
            if not any(member is known for known in self._members):
                self._members += (member,)

    def follow(self, definition: ConfigDef) -> None:
        """
        Take ``definition`` for which keys are read-only, of those who are here already too.

        :raises ConfigException: as with ``add``; then the old one stays
        """
        with self._lock:
            _refuse(self._members, definition)
            self._definition = definition

    def remove(self, member: Reconfigurable) -> None:
        """Tell ``member`` nothing any more."""
        with self._lock:
            self._members = tuple(known for known in self._members if known is not member)

    def validate(self, configs: Mapping[str, Any]) -> None:
        """
        Ask everybody whom a change to ``configs`` concerns, and change nothing.

        :raises ConfigException: names each who refuses, with its reasons
        """
        with self._lock:
            proposed = MappingProxyType(dict(configs))
            _ask(self._concerned(proposed), proposed)

    def apply(self, configs: Mapping[str, Any]) -> None:
        """
        Ask everybody whom a change to ``configs`` concerns, and then tell them, in the order in which they were added.

        If one fails, those before it get the old configuration back, the last first, and it stays in effect.

        :raises ConfigException: somebody refused, or failed; with who could not go back, where there is one
        """
        with self.turn():
            self.validate(configs)
            self.tell(configs)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """
        Keep others from applying, so that one configuration can be validated, stored, and told.

        :raises ConfigException: it is asked for from within
        """
        with self._lock:
            if self._has_turn:
                raise ConfigException("A configuration is being applied. Apply the next one when that is done.")
            self._has_turn = True
            try:
                yield
            finally:
                self._has_turn = False

    def tell(self, configs: Mapping[str, Any]) -> GoBack:
        """
        Tell everybody whom a change to ``configs`` concerns, and ask nobody; otherwise as ``apply``.

        :returns: takes it back; for the same turn
        :raises ConfigException: somebody failed; with who could not go back, where there is one
        """
        with self._lock:
            proposed = MappingProxyType(dict(configs))
            told: list[Reconfigurable] = []
            go_back = partial(self._go_back, told, self._current)
            for member in self._concerned(proposed):
                try:
                    problem = _failure(member, proposed)
                except BaseException:
                    go_back()
                    raise
                if problem:
                    failed = f"{_name(member)} could not be reconfigured ({problem})."
                    raise ConfigException(f"{failed} The old configuration stays in effect.", *go_back())
                told.append(member)
            self._current = proposed
            return go_back

    def _go_back(self, told: Sequence[Reconfigurable], old: Mapping[str, Any]) -> list[str]:
        with self._lock:
            failures = [(member, _failure(member, old)) for member in reversed(told)]
            self._current = old
        return [
            f"{_name(member)} could not go back to the old configuration ({problem}). Restart it."
            for member, problem in failures
            if problem
        ]

    def _concerned(self, proposed: Mapping[str, Any]) -> list[Reconfigurable]:
        changed = set(_changed(self._current, proposed))
        return [member for member in self._members if not changed.isdisjoint(_keys(member))]


def _refuse(members: Sequence[Reconfigurable], definition: ConfigDef) -> None:
    if problems := [problem for member in members for problem in _static(member, definition)]:
        raise ConfigException(*problems)


def _static(member: Reconfigurable, definition: ConfigDef) -> Iterator[str]:
    """Name the keys of ``member`` that never change. If it does not tell its keys, a change will report that."""
    try:
        keys = _keys(member)
    except ConfigException:
        return
    for key in keys:
        reason = _OF_THE_DEPLOYMENT if is_reserved(key) else definition.read_only_reason(key)
        if reason:
            yield f"{_name(member)} cannot follow '{printable(key)}', which is not dynamic: {reason}"


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Give the keys that are set, changed or deleted; a key that is None is not the same as one that is absent."""
    for key in before.keys() | after.keys():
        if key not in before or key not in after or before[key] != after[key]:
            yield key


def _keys(member: Reconfigurable) -> Collection[str]:
    try:
        return member.reconfigurable_configs()
    except Exception as error:  # noqa: BLE001 - whatever it raises, it cannot be left out
        reason = _reason(error)
    raise ConfigException(f"{_name(member)} does not tell its keys ({reason}).")


def _ask(members: Sequence[Reconfigurable], configs: Mapping[str, Any]) -> None:
    problems: list[str] = []
    for member in members:
        try:
            member.validate_reconfiguration(configs)
        except Exception as error:  # noqa: BLE001 - whatever it raises, it did not agree
            problems.append(f"{_name(member)} refuses the configuration ({_reason(error)}).")
    if problems:
        raise ConfigException(*problems)


def _failure(member: Reconfigurable, configs: Mapping[str, Any]) -> str:
    """Tell why ``member`` cannot take ``configs``; nothing where it did."""
    try:
        member.reconfigure(configs)
    except Exception as error:  # noqa: BLE001 - whatever it raises, the others must be told
        return _reason(error)
    return ""


def _reason(error: Exception) -> str:
    """Give what an error of ours says. Of any other one only the type is told: its text may hold a value."""
    return "; ".join(error.problems) if isinstance(error, ConfigException) else type(error).__name__


def _name(member: Reconfigurable) -> str:
    return printable(type(member).__qualname__)
