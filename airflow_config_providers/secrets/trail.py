"""The chain of answers that need each other, to detect circles."""

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
    The answers under way in this context; each step is needed by the previous one.

    :param identities: the steps that must not be needed again
    :param circles: the circles found so far, shared by all steps, because code between two steps can hide an error
    """

    steps: tuple[str, ...] = ()
    identities: frozenset[Hashable] = frozenset()
    circles: list[str] = field(default_factory=list)


_TRAIL: ContextVar[_Trail | None] = ContextVar("airflow_config_providers_trail", default=None)


@contextmanager
def step(name: str, *, identity: Hashable = None) -> Iterator[None]:
    """
    Add a step until the ``with`` block ends. A thread sees it if it runs in a copy of the context.

    :param identity: identifies a step that must not occur again inside itself; None for a step that may, such as a
        provider with several paths
    :raises ProviderDefinitionError: a step inside the block needs itself, or there are far too many steps
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
    """Return whether the current answer is needed for another answer."""
    trail = _TRAIL.get()
    return trail is not None and len(trail.steps) > 1


def _circle(trail: _Trail) -> ProviderDefinitionError:
    found = dict.fromkeys(trail.circles)
    return ProviderDefinitionError(
        *(
            f"It depends on itself, or on too many others: {steps}. Define one of them without a reference."
            for steps in found
        )
    )
