"""Leases of secrets that Vault issued for a time: held, renewed, and given back."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.exceptions import ConfigProvidersError
from airflow_config_providers.providers.vault.renewal_timer import seconds, when_to_renew, when_to_retry

if TYPE_CHECKING:
    from airflow_config_providers.providers.vault.session import HeldToken, Session

_log = logging.getLogger(__name__)

_RENEW: Final = "sys/leases/renew"


@dataclass(slots=True, eq=False)
class Lease:
    """
    One lease.

    :param id: its name in Vault; anyone who knows it may be able to end it
    :param token: the token that it was leased with, and ends with
    :param duration: its first duration in seconds
    :param since: when it was issued or last renewed, by the session's clock
    :param current: seconds from then
    :param key: its key in the helper
    """

    id: str = field(repr=False)
    token: str = field(repr=False)
    duration: float
    since: float
    current: float
    key: int | None = None

    @property
    def expires(self) -> float:
        """When it ends, by the session's clock."""
        return self.since + self.current

    def left(self, now: float) -> float:
        """Return the seconds that are left."""
        return max(0.0, self.expires - now)


class Leases:
    """
    The leases of one provider: renewed while it is open, given back when it is closed. Thread-safe.

    :param session: the session that reads them
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self.forget()

    def forget(self) -> None:
        """In a forked child: leave them to the parent."""
        self._lock = threading.Lock()
        self._held: list[Lease] = []

    def __bool__(self) -> bool:
        return bool(self._ongoing(self._session.clock()))

    def add(self, body: Mapping[str, Any], *, token: HeldToken, since: float) -> Lease | None:
        """
        Keep the lease that came with an answer, and return it; None if there is none.

        :param since: when it was asked for, by the session's clock
        """
        id_, duration = body.get("lease_id"), seconds(body.get("lease_duration"))
        if not isinstance(id_, str) or not id_ or not duration:
            return None
        key = self._session.hold_lease(id_, token=token)
        lease = Lease(id_, token.text, duration, since, duration, key)
        with self._lock:
            self._held = [*self._ongoing(since), lease]
        if body.get("renewable") is True:
            self._session.renewals.add(lease, when_to_renew(since, duration), lambda: self._renew(lease))
        return lease

    def give_back(self, *, session_ends: bool) -> None:
        """
        End them; raises nothing. If Vault cannot be asked for one, it is not asked for the others.

        :param session_ends: the login is given back afterwards, which ends the leases that go with it
        """
        with self._lock:
            held, self._held = self._ongoing(self._session.clock()), []
        for lease in held:
            self._session.renewals.drop(lease)
        open_ = [lease for lease in held if not (session_ends and self._session.ends_leases_of(lease.token))]
        for lease in open_:
            if not self._session.give_back_lease(lease.id, token=lease.token, key=lease.key):
                return

    def _ongoing(self, now: float) -> list[Lease]:
        return [lease for lease in self._held if lease.left(now)]

    def _renew(self, lease: Lease) -> float | None:
        now = self._session.clock()
        asked = {"lease_id": lease.id, "increment": int(lease.duration)}
        try:
            answer = self._session.post(_RENEW, asked, token=lease.token)
        except ConfigProvidersError:
            return when_to_retry(now, lease.expires)
        duration = seconds(answer.body.get("lease_duration")) if answer.is_good else 0.0
        if not duration:
            _log.info("%s: a lease is not renewed (%s)", self._session.where, answer.shown)
            return None
        before, (lease.since, lease.current) = lease.expires, (now, duration)
        return when_to_renew(now, duration) if lease.expires > before + duration / 10 else None
