"""The user of this process, and its environment variables, of which a child gets some not at all, or changed."""

from __future__ import annotations

import os
import pwd
import threading
from collections.abc import Collection, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from airflow_config_providers.core.concurrency.per_process import hold_forks, run_in_children


@dataclass(slots=True)
class _HiddenVariable:
    """
    A variable that blocks hide.

    :param threads: the id of what a block hides -> the thread of the block
    """

    environ: MutableMapping[str, str] = field(repr=False)
    value: str = field(repr=False)
    threads: dict[int, int] = field(default_factory=dict)


_HIDDEN: Final[dict[tuple[int, str], _HiddenVariable]] = {}
"""(id of an environment, name) -> what the blocks that are open hide."""

_LOCK: Final = threading.RLock()  # not a Lock: Airflow kills a task in a signal handler
hold_forks(_LOCK)


def user() -> str:
    """
    Return the name of the effective user of this process; its number if the system has no name for it.

    Airflow's own commands believe ``USER`` and ``LOGNAME``, which anyone can set.
    """
    number = os.geteuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


@contextmanager
def lacking(environ: MutableMapping[str, str], names: Collection[str]) -> Iterator[None]:
    """
    Remove ``names`` from ``environ`` during the block, for a child that inherits all of it. Thread-safe.

    If blocks of several threads overlap, a name is back when the last of them ends. ``all_variables`` has it meanwhile.
    In a forked child, only blocks of the thread that forked go on.
    """
    hidden: dict[str, _HiddenVariable] = {}
    try:
        _hide(environ, names, hidden)
        yield
    finally:
        _show(hidden)


@contextmanager
def having(environ: MutableMapping[str, str], name: str, value: str) -> Iterator[None]:
    """Set a variable in ``environ`` during the block, for a child that inherits all of it."""
    before = environ.get(name)
    environ[name] = value
    try:
        yield
    finally:
        environ.pop(name, None)
        if before is not None:
            environ[name] = before


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


def _hide(environ: MutableMapping[str, str], names: Collection[str], hidden: dict[str, _HiddenVariable]) -> None:
    """Remove ``names``, each after it is in ``hidden``: if this is interrupted, none is lost."""
    with _LOCK:
        for name in dict.fromkeys(names):
            value, one = environ.get(name), _HIDDEN.get((id(environ), name))
            if value is None and one is None:
                continue
            one = one or _HiddenVariable(environ, value or "")
            hidden[name] = _HIDDEN[id(environ), name] = one
            one.threads[id(hidden)] = threading.get_ident()
            one.value = one.value if value is None else value
            environ.pop(name, None)


def _show(hidden: Mapping[str, _HiddenVariable]) -> None:
    with _LOCK:
        for name, one in hidden.items():
            one.threads.pop(id(hidden), None)  # it is not there if the block was interrupted before it hid this
            _put_back_if_free(name, one)


def _put_back_if_free(name: str, one: _HiddenVariable) -> None:
    if not one.threads:
        one.environ.setdefault(name, one.value)
        _HIDDEN.pop((id(one.environ), name), None)


def _end_blocks_of_other_threads() -> None:
    """In a forked child: the threads of these blocks do not exist here, and would never end them."""
    own = threading.get_ident()
    for (_, name), one in [*_HIDDEN.items()]:
        one.threads = {block: thread for block, thread in one.threads.items() if thread == own}
        _put_back_if_free(name, one)


run_in_children(_end_blocks_of_other_threads)
