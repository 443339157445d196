"""The sessions of a process: one for equal settings."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

from airflow_config_providers.core.per_process import hold_forks, run_in_children
from airflow_config_providers.providers.vault.logins.attempts import LoginAttempts
from airflow_config_providers.providers.vault.session import Session

if TYPE_CHECKING:
    from airflow_config_providers.providers.vault.settings import VaultSettings


class Member(Protocol):
    """A user of a session."""

    def forget(self) -> None:
        """In a forked child: leave everything of the parent to the parent."""


MakeSession = Callable[["VaultSettings", threading.Lock], Session]


class Sessions:
    """
    Gives equal settings the same session while anyone uses it. Thread-safe; a forked child starts afresh.

    :param make: returns a new session; its second argument is held while a fork would do harm
    :ivar attempts: what all sessions know about refused logins; outlives them, and a forked child keeps it
    """

    def __init__(self, make: MakeSession | None = None) -> None:
        self.attempts = LoginAttempts()
        self._make = make or self._session
        self._lock = threading.Lock()
        self._no_fork = threading.Lock()
        self._open: dict[VaultSettings, tuple[Session, list[Member]]] = {}
        self._watches_forks = False

    def join(self, settings: VaultSettings, member: Member) -> Session:
        """Return the session for ``settings``, which ``member`` uses from now on; connects to nothing."""
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
        """Have ``member`` no longer use it; return True for the last one, which must close it."""
        with self._lock:
            _, members = self._open.get(session.settings, (session, [member]))
            members.remove(member)
            if not members:
                self._open.pop(session.settings, None)
            return not members

    def forget(self) -> None:
        """In a forked child: start afresh, with new locks: threads that do not exist here might hold the old ones."""
        self._lock = threading.Lock()
        self.attempts.forget_threads()
        for session, members in list(self._open.values()):
            session.forget()
            for member in list(members):
                member.forget()

    def _session(self, settings: VaultSettings, no_fork: threading.Lock) -> Session:
        return Session(settings, no_fork=no_fork, attempts=self.attempts)


def _watch_forks(sessions: weakref.ref[Sessions], no_fork: threading.Lock) -> None:
    def start_anew() -> None:
        found = sessions()
        if found is not None:
            found.forget()

    hold_forks(no_fork)
    run_in_children(start_anew)  # after the lock was released, which is the order of registration


SESSIONS: Final = Sessions()
"""Those of this process. A session exists from its first provider's ``configure`` to its last one's ``close``."""
