"""What somebody tries, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tests.trust.world import World


class Who(StrEnum):
    """The people of a deployment, those with the fewest rights first."""

    VIEWER = "viewer"
    TRIGGERER = "may trigger a run"
    EDITOR = "may edit dynamic configuration"
    AUTHOR = "DAG author"
    OWNER = "deployment owner"


class What(StrEnum):
    """What they want to read or to steer."""

    READ = "read values"
    VALUES = "steer values"
    KEYS = "steer keys"
    CLASSES = "steer classes"
    FILES = "steer files"
    COMMANDS = "steer commands"


class Outcome(StrEnum):
    """What comes of an attempt."""

    REFUSED = "refused"
    LEFT_OUT = "left out"
    REFERENCES = "references only"
    HIDDEN = "stays hidden"
    TAKES_EFFECT = "takes effect"
    JOB_HAS_IT = "the job gets the value"


@dataclass(frozen=True, slots=True)
class Attempt:
    """
    Something that one of them tries.

    :param how: in a few words
    :param outcome: what has to come of it
    :param run: tries it, and returns what did
    """

    who: Who
    what: What
    how: str
    outcome: Outcome
    run: Callable[[World], Outcome] = field(repr=False)

    @property
    def row(self) -> tuple[str, str, str]:
        """Return its row of the table without the outcome, as plain strings that can go to another process."""
        return str(self.who), str(self.what), self.how


ATTEMPTS: Final[list[Attempt]] = []
"""All of them, in the order in which they are shown."""


def attempt(
    who: Who, what: What, how: str, outcome: Outcome
) -> Callable[[Callable[[World], Outcome]], Callable[[World], Outcome]]:
    """Return a decorator that makes a function an attempt."""

    def enlist(run: Callable[[World], Outcome]) -> Callable[[World], Outcome]:
        ATTEMPTS.append(Attempt(who, what, how, outcome, run))
        return run

    return enlist
