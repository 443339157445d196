"""The environment variables of this process, some of which a child that inherits them must not have."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from airflow_config_providers.core.per_process import hold_forks


@dataclass(slots=True)
class _HiddenVariable:
    value: str = field(repr=False)
    blocks: int = 0


_HIDDEN: Final[dict[tuple[int, str], _HiddenVariable]] = {}
"""(id of an environment, name) -> what the blocks that are open hide."""

_LOCK: Final = threading.RLock()  # not a Lock: Airflow kills a task in a signal handler
hold_forks(_LOCK)


@contextmanager
def lacking(environ: MutableMapping[str, str], names: Collection[str]) -> Iterator[None]:
    """
    Remove ``names`` from ``environ`` during the block, for a child that inherits all of it. Thread-safe.

    If blocks of several threads overlap, a name is back when the last of them ends. ``all_variables`` has it meanwhile.
    """
    hidden = _hide(environ, names)
    try:
        yield
    finally:
        _show(environ, hidden)


def all_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return a copy of ``environ``, with what is hidden at the moment; other threads can change it meanwhile."""
    with _LOCK:
        hidden = {name: one.value for (owner, name), one in _HIDDEN.items() if owner == id(environ)}
        return hidden | {name: value for name in [*environ] if (value := environ.get(name)) is not None}


def value_of(environ: Mapping[str, str], name: str) -> str | None:
    """Return the value of one variable, also if it is hidden at the moment; None if it is not set."""
    with _LOCK:
        hidden = _HIDDEN.get((id(environ), name))
        return environ.get(name, hidden.value if hidden else None)


def _hide(environ: MutableMapping[str, str], names: Collection[str]) -> dict[str, _HiddenVariable]:
    with _LOCK:
        taken = {name: value for name in names if (value := environ.pop(name, None)) is not None}
        for name, value in taken.items():
            _HIDDEN.setdefault((id(environ), name), _HiddenVariable(value)).value = value
        hidden = {name: one for name in names if (one := _HIDDEN.get((id(environ), name)))}
        for one in hidden.values():
            one.blocks += 1
        return hidden


def _show(environ: MutableMapping[str, str], hidden: Mapping[str, _HiddenVariable]) -> None:
    with _LOCK:
        for name, one in hidden.items():
            one.blocks -= 1
            if not one.blocks:
                environ.setdefault(name, one.value)
                _HIDDEN.pop((id(environ), name), None)
