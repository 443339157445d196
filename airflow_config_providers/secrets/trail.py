"""Who needs whom: found when it goes round in circles."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final

from airflow_config_providers.exceptions import ProviderDefinitionError

_MOST_STEPS: Final = 40


@dataclass(frozen=True, slots=True)
class _Trail:
    """
    What is being answered in this context, each step needed by the one before it.

    :param identities: what must not be needed again
    :param circles: what was found so far, shared by all steps: who asks in between may hide an error
    """

    steps: tuple[str, ...] = ()
    identities: frozenset[Hashable] = frozenset()
    circles: list[str] = field(default_factory=list)


_TRAIL: ContextVar[_Trail | None] = ContextVar("airflow_config_providers_trail", default=None)


@contextmanager
def step(name: str, *, identity: Hashable = None) -> Iterator[None]:
    """
    Take one step further, until the ``with`` block ends. Threads see it when they run in a copy of the context.

    :param identity: what must not be needed again by what is needed from here on; None where the step may be, as a
        provider that has more than one path
    :raises ProviderDefinitionError: a step that was taken from here on needs itself, or the trail is far too long
    """
    trail = _TRAIL.get() or _Trail()
    steps = (*trail.steps, name)
    if identity in trail.identities or len(steps) > _MOST_STEPS:
        trail.circles.append(" -> ".join(steps))
        raise _circle(trail)
    token = _TRAIL.set(_Trail(steps, trail.identities | ({identity} - {None}), trail.circles))
    try:
        yield
    except Exception:
        if not trail.circles:
            raise
    finally:
        _TRAIL.reset(token)
    if trail.circles:
        raise _circle(trail)


def is_nested() -> bool:
    """Tell whether what is being answered is needed by something else that is."""
    trail = _TRAIL.get()
    return trail is not None and len(trail.steps) > 1


def _circle(trail: _Trail) -> ProviderDefinitionError:
    found = dict.fromkeys(trail.circles)
    return ProviderDefinitionError(
        *(f"It needs itself, or too many others: {steps}. Write one of them without a reference." for steps in found)
    )
