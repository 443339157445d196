"""Calls that are waited for only so long."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import wait
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from airflow_config_providers.core.concurrency.workers import in_thread
from airflow_config_providers.core.errors import kind_and_place
from airflow_config_providers.exceptions import ConfigProvidersError

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class CallOutcome(Generic[_T]):
    """
    How a call ended.

    :param value: its result; None if it raised, or has not ended
    :param problems: the problems of our error that it raised
    :param failure: the type and the place of another error; its text can hold a value
    :param is_late: whether it has not ended
    :param needs_home: whether it failed because the user has no home directory
    """

    value: _T | None = None
    problems: tuple[str, ...] = ()
    failure: str = ""
    is_late: bool = False
    needs_home: bool = False


_NO_HOME: Final = "Could not determine home directory."
"""What ``pathlib`` says in a RuntimeError."""

_NO_THREAD: Final = (
    "No more threads can be started here. End other processes, or raise the limit of processes of this user."
)


def call_each(calls: Mapping[str, Callable[[], _T]], *, patience: float | None) -> dict[str, CallOutcome[_T]]:
    """
    Make all calls in parallel, each in a thread that is abandoned if it takes too long.

    The calls see the caller's context variables, in which Airflow keeps a connection that is tested.

    :param patience: the seconds to wait for all of them together; None to wait until they have ended
    :return: name -> how the call ended
    """
    caller = None if patience is None else threading.current_thread()
    made = {name: in_thread(_made, call, caller) for name, call in calls.items()}
    wait(made.values(), patience)
    return {name: one.result() if one.done() else CallOutcome(is_late=True) for name, one in made.items()}


def _made(call: Callable[[], _T], caller: threading.Thread | None) -> CallOutcome[_T]:
    """Make ``call``, but not in the thread of ``caller``, which cannot be abandoned; None if it need not be."""
    if threading.current_thread() is caller:
        return CallOutcome(problems=(_NO_THREAD,))
    try:
        return CallOutcome(call())
    except ConfigProvidersError as error:
        return CallOutcome(problems=error.problems)
    except BaseException as error:  # noqa: BLE001 - anything can be raised; its text can hold a value
        needs_home = type(error) is RuntimeError and error.args == (_NO_HOME,)
        return CallOutcome(failure=kind_and_place(error), needs_home=needs_home)
