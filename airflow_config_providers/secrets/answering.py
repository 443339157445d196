"""
What an answer can hinder while it is made: another answer that needs it, and a fork during its imports.

A child that is forked while another thread imports a module finds it incomplete, or waits for it forever.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Final

from airflow_config_providers.core.concurrency.per_process import hold_forks
from airflow_config_providers.exceptions import ProviderDefinitionError, raise_alone

_MOST_STEPS: Final = 40
"""The most steps of which each is needed by the previous one."""

_MOST_ANSWERS: Final = 1000
"""The most answers for one answer: if each needs two others, they double with each step, and so do their threads."""

_MOST_NAMED: Final = 10
"""The most circles that an error names."""

_no_fork = threading.RLock()
hold_forks(_no_fork)


@dataclass(frozen=True, slots=True)
class _Chain:
    """
    The answers under way in this context; each step is needed by the previous one.

    :param identities: the steps that must not be needed again
    :param circles: the circles found so far, shared by all steps, because code between two steps can hide an error
    :param answers: numbers the answers, for all steps
    """

    steps: tuple[str, ...] = ()
    identities: frozenset[Hashable] = frozenset()
    circles: list[str] = field(default_factory=list)
    answers: Iterator[int] = field(default_factory=count)

    def with_step(self, name: str, identity: Hashable) -> _Chain:
        """Return the chain with one more step."""
        return replace(self, steps=(*self.steps, name), identities=self.identities | ({identity} - {None}))

    def refuses(self, identity: Hashable) -> bool:
        """Return whether one more step is one too many."""
        if identity in self.identities or len(self.steps) >= _MOST_STEPS:
            return True
        return identity is not None and next(self.answers) >= _MOST_ANSWERS


_CHAIN: ContextVar[_Chain | None] = ContextVar("airflow_config_providers_answer_chain", default=None)


@contextmanager
def step(name: str, *, identity: Hashable = None) -> Iterator[None]:
    """
    Add a step until the ``with`` block ends. A thread sees it if it runs in a copy of the context.

    :param identity: identifies a step that must not occur again inside itself; None for a step that may, such as a
        provider with several paths
    :raises ProviderDefinitionError: a step inside the block needs itself, or there are far too many steps
    """
    before = _CHAIN.get() or _Chain()
    chain = before.with_step(name, identity)
    if before.refuses(identity):
        chain.circles.append(" -> ".join(chain.steps))
        raise _circle(chain)
    token = _CHAIN.set(chain)
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
    found = [*dict.fromkeys(chain.circles)][:_MOST_NAMED]
    return ProviderDefinitionError(
        *(
            f"It depends on itself, or on too many others: {steps}. Define one of them without a reference."
            for steps in found
        )
    )


@contextmanager
def importing() -> Iterator[None]:
    """Keep other threads from forking, and from entering such a block, until it ends. It must contain only imports."""
    with _no_fork:
        yield


def import_what_an_answer_needs() -> None:
    """Import everything that the replacement of references needs, in one block."""
    with importing():
        import importlib.metadata  # noqa: F401, PLC0415 - Airflow might be reading its configuration

        import tenacity  # noqa: F401, PLC0415 - as above
        from airflow._shared import secrets_masker  # noqa: F401, PLC0415 - as above

        from airflow_config_providers import airflow_compat, masker, settings  # noqa: F401, PLC0415 - as above
        from airflow_config_providers.core import registry  # noqa: F401, PLC0415 - as above
