"""The sessions of a process: one for equal settings."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

from airflow_config_providers.providers.vault.logins.attempts import LoginAttempts
from airflow_config_providers.providers.vault.session import Session

if TYPE_CHECKING:
    from airflow_config_providers.providers.vault.settings import VaultSettings


class Member(Protocol):
    """Who uses a session."""

    def forget(self) -> None:
        """In a forked child: leave to the parent what is the parent's."""


MakeSession = Callable[["VaultSettings", threading.Lock], Session]


class Sessions:
    """
    Gives equal settings the same session while anyone uses it. Thread-safe; a forked child begins anew.

    :param make: makes a session; its second argument is held while a fork would do harm
    :ivar attempts: what all sessions know of logins that were refused; outlives them, and is not forgotten by a child
    """

    def __init__(self, make: MakeSession | None = None) -> None:
        self.attempts = LoginAttempts()
        self._make = make or self._session
        self._lock = threading.Lock()
        self._no_fork = threading.Lock()
        self._open: dict[VaultSettings, tuple[Session, list[Member]]] = {}
        self._watches_forks = False

    def join(self, settings: VaultSettings, member: Member) -> Session:
        """Have ``member`` use the session for ``settings``; connects to nothing."""
        with self._lock:
            if not self._watches_forks:
                self._watches_forks = True
                _watch_forks(weakref.ref(self), self._no_fork)
            if settings not in self._open:
                self._open[settings] = (self._make(settings, self._no_fork), [])
            session, members = self._open[settings]
            members.append(member)
            return session

    def leave(self, session: Session, member: Member) -> bool:
        """Have ``member`` use it no more; True for the last one, who is to close it."""
        with self._lock:
            _, members = self._open.get(session.settings, (session, [member]))
            members.remove(member)
            if not members:
                self._open.pop(session.settings, None)
            return not members

    def forget(self) -> None:
        """In a forked child: begin anew. There is no other thread, and a lock may be held by one that is not there."""
        self._lock = threading.Lock()
        self.attempts.forget_threads()
        for session, members in list(self._open.values()):
            session.forget()
            for member in list(members):
                member.forget()

    def _session(self, settings: VaultSettings, no_fork: threading.Lock) -> Session:
        return Session(settings, no_fork=no_fork, attempts=self.attempts)


def _watch_forks(sessions: weakref.ref[Sessions], no_fork: threading.Lock) -> None:
    def begin_anew() -> None:
        no_fork.release()
        found = sessions()
        if found is not None:
            found.forget()

    os.register_at_fork(before=no_fork.acquire, after_in_parent=no_fork.release, after_in_child=begin_anew)


SESSIONS: Final = Sessions()
"""Those of this process. A session is there from its first provider's ``configure`` to its last one's ``close``."""
