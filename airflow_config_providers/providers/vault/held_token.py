"""A token that a session reads with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

_BATCH: Final = ("hvb.", "b.")
"""How tokens begin that cannot be given back."""

_LONGEST_MARGIN: Final = 30.0


@dataclass(frozen=True, slots=True)
class HeldToken:
    """
    A token, and what is known of its life.

    :param since: when it was given, by the session's clock
    :param ttl: seconds from then; None for a token without end or of unknown end
    :param mark: of the file that it was read from
    :param key: under which it is to be given back after a kill
    """

    text: str = field(repr=False)
    is_ours: bool
    since: float
    ttl: float | None
    mark: object | None = field(default=None, repr=False)
    key: int | None = None

    @property
    def expires(self) -> float | None:
        """When it ends, by the session's clock."""
        return None if self.ttl is None else self.since + self.ttl

    @property
    def can_be_given_back(self) -> bool:
        """Whether it is for us to end it, and everything that was leased with it."""
        return self.is_ours and not self.text.startswith(_BATCH)

    def left(self, now: float) -> float | None:
        """Return the seconds until it ends; None for a token without end or of unknown end."""
        return None if self.expires is None else max(0.0, self.expires - now)

    def is_good_at(self, now: float) -> bool:
        """Tell whether it lasts long enough for a read."""
        return self.ttl is None or now < self.since + self.ttl - min(self.ttl / 10, _LONGEST_MARGIN)
