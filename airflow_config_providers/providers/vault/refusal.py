"""What Vault refused and is not asked for again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Self

from airflow_config_providers.exceptions import AccessDeniedError, ProviderLookupError, ProviderUnavailableError

SECONDS_AFTER_A_REFUSAL: Final = 16 * 60.0
"""Vault locks a user at the fifth failed login, and begins to count anew after 15 minutes without one."""

_SECONDS_AFTER_A_FAILURE: Final = 60.0


@dataclass(frozen=True, slots=True)
class Refusal:
    """
    A failure that trying again would only repeat, until some time has passed or there is something else to try with.

    :param of: what was refused
    :param until: by the session's clock
    """

    error: ProviderLookupError
    of: object = field(repr=False)
    until: float

    @classmethod
    def of_login(cls, error: ProviderLookupError, *, of: object, now: float) -> Self | None:
        """Remember a login that failed; None for one that may succeed the next time."""
        if isinstance(error, ProviderUnavailableError):
            return None
        denied = isinstance(error, AccessDeniedError)
        return cls(error.again(), of=of, until=now + (SECONDS_AFTER_A_REFUSAL if denied else _SECONDS_AFTER_A_FAILURE))

    def raise_at(self, now: float, *, of: object) -> None:
        """
        Let pass what was not refused, or not lately.

        :raises ProviderLookupError: an equal error
        """
        if now < self.until and of == self.of:
            raise self.error.again()
