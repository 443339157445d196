"""Calls that are waited for only so long."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextvars import copy_context
from dataclasses import dataclass
from typing import Generic, TypeVar

from airflow_config_providers.core.foreign_errors import kind_and_place
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
    """

    value: _T | None = None
    problems: tuple[str, ...] = ()
    failure: str = ""
    is_late: bool = False


def call_each(calls: Mapping[str, Callable[[], _T]], *, patience: float | None) -> dict[str, CallOutcome[_T]]:
    """
    Make all calls in parallel, each in a thread that is abandoned if it takes too long.

    :param patience: the seconds to wait for all of them together; None to wait until they have ended
    :return: name -> how the call ended
    """
    running = {name: _TimedCall(call) for name, call in calls.items()}
    until = None if patience is None else time.monotonic() + patience
    for one in running.values():
        one.thread.join(None if until is None else max(0.0, until - time.monotonic()))
    return {name: one.outcome for name, one in running.items()}


class _TimedCall(Generic[_T]):
    def __init__(self, call: Callable[[], _T]) -> None:
        self.outcome: CallOutcome[_T] = CallOutcome(is_late=True)
        self._call = call
        context = copy_context()  # Airflow keeps the connection under test in the context
        self.thread = threading.Thread(target=lambda: context.run(self._run), daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            self.outcome = CallOutcome(self._call())
        except ConfigProvidersError as error:
            self.outcome = CallOutcome(problems=error.problems)
        except BaseException as error:  # noqa: BLE001 - anything can be raised; its text can hold a value
            self.outcome = CallOutcome(failure=kind_and_place(error))
