"""The chain of answers that need each other, to detect circles."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final

from airflow_config_providers.exceptions import ProviderDefinitionError, raise_alone

_MOST_STEPS: Final = 40


@dataclass(frozen=True, slots=True)
class _Chain:
    """
    The answers under way in this context; each step is needed by the previous one.

    :param identities: the steps that must not be needed again
    :param circles: the circles found so far, shared by all steps, because code between two steps can hide an error
    """

    steps: tuple[str, ...] = ()
    identities: frozenset[Hashable] = frozenset()
    circles: list[str] = field(default_factory=list)


_CHAIN: ContextVar[_Chain | None] = ContextVar("airflow_config_providers_answer_chain", default=None)


@contextmanager
def step(name: str, *, identity: Hashable = None) -> Iterator[None]:
    """
    Add a step until the ``with`` block ends. A thread sees it if it runs in a copy of the context.

    :param identity: identifies a step that must not occur again inside itself; None for a step that may, such as a
        provider with several paths
    :raises ProviderDefinitionError: a step inside the block needs itself, or there are far too many steps
    """
    chain = _CHAIN.get() or _Chain()
    steps = (*chain.steps, name)
    if identity in chain.identities or len(steps) > _MOST_STEPS:
        chain.circles.append(" -> ".join(steps))
        raise _circle(chain)
    token = _CHAIN.set(_Chain(steps, chain.identities | ({identity} - {None}), chain.circles))
    try:
        yield
    except Exception:
        if not chain.circles:
            raise
    finally:
        _CHAIN.reset(token)
    if chain.circles:
        raise_alone(_circle(chain))


def is_nested() -> bool:
    """Return whether the current answer is needed for another answer."""
    chain = _CHAIN.get()
    return chain is not None and len(chain.steps) > 1


def _circle(chain: _Chain) -> ProviderDefinitionError:
    found = dict.fromkeys(chain.circles)
    return ProviderDefinitionError(
        *(
            f"It depends on itself, or on too many others: {steps}. Define one of them without a reference."
            for steps in found
        )
    )
