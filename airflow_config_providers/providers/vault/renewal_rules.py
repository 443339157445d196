"""The rules by which logins and leases are renewed, and what the log says if Vault refuses."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from airflow_config_providers.core.text import counted
from airflow_config_providers.exceptions import ConfigProvidersError

if TYPE_CHECKING:
    from airflow_config_providers.providers.vault.faults import VaultAnswer

_log: Final = logging.getLogger(__name__)


def when_to_renew(start: float, ttl: float) -> float:
    """Return a moment after about two thirds of ``ttl`` seconds, spread so that many processes do not coincide."""
    import random  # noqa: PLC0415 - slow to import, and a token that is not renewed needs none

    return start + ttl * random.uniform(0.6, 0.7)  # noqa: S311 - spreads load, no security


def when_to_retry(now: float, expires: float) -> float | None:
    """Return when to retry a renewal that failed; None if too little time is left."""
    left = expires - now
    return now + max(1.0, left / 4) if left > 2 else None


@dataclass(slots=True)
class Renewal:
    """
    The renewals of one login or lease. Warns once while they are refused, and says when they succeed again.

    :param what: what is renewed, such as ``a lease``
    """

    where: str
    what: str
    _is_refused: bool = field(default=False, init=False)

    def ask(self, request: Callable[[], VaultAnswer]) -> VaultAnswer | None:
        """Return Vault's answer; None if it cannot be asked now."""
        try:
            return request()
        except ConfigProvidersError:
            return None

    def failed(self, answer: VaultAnswer | None, *, now: float, expires: float) -> float | None:
        """
        Return when to ask again, as what Vault needs for it can be away for a while; None if that is no use.

        :param now: when the request failed, which can be long after it was sent
        """
        if answer is not None and (answer.is_good or answer.says_lease_has_ended or answer.says_token_has_ended):
            _log.info("%s: %s is not renewed (%s); the next read gets a new one", self.where, self.what, answer.shown)
            return None
        if answer is not None and not self._is_refused:
            self._is_refused = True
            _log.warning(
                "%s: %s is not renewed (%s). It ends in %s, unless another try succeeds.",
                self.where,
                self.what,
                answer.shown,
                counted(round(max(0.0, expires - now)), "second"),
            )
        return when_to_retry(now, expires)

    def done(self, *, now: float, ttl: float, former_end: float) -> float | None:
        """Return when to renew again, after a renewal for ``ttl`` seconds; None if Vault grants hardly more time."""
        if self._is_refused:
            self._is_refused = False
            _log.info("%s: %s is renewed again", self.where, self.what)
        return when_to_renew(now, ttl) if now + ttl > former_end + ttl / 10 else None
