"""Fails a task without retries after an error that would occur again in every try."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from airflow_config_providers.airflow_compat import AirflowFailException
from airflow_config_providers.exceptions import (
    AccessDeniedError,
    ConfigException,
    LeakError,
    PolicyViolation,
    ProviderDefinitionError,
    UnsupportedVersionError,
)

LASTING: Final = (
    AccessDeniedError,
    ConfigException,
    LeakError,
    PolicyViolation,
    ProviderDefinitionError,
    UnsupportedVersionError,
)
"""Errors that persist until something is changed. Other errors can be gone in the next try."""


P = ParamSpec("P")
Task = TypeVar("Task")
Result = TypeVar("Result")


def failing_at_once(method: Callable[Concatenate[Task, P], Result]) -> Callable[Concatenate[Task, P], Result]:
    """
    Return a task's ``method`` after whose lasting errors Airflow fails the task at once.

    The error stays the same object and an instance of its class, and nothing is added to its chain. The task's own
    retry policy is asked first.
    """

    @wraps(method)
    def run(self: Task, /, *args: P.args, **kwargs: P.kwargs) -> Result:
        try:
            return method(self, *args, **kwargs)
        except LASTING as error:
            _mark(error, self)
            raise

    return run


def _mark(error: Any, task: Any) -> None:
    if (policy := getattr(task, "retry_policy", None)) is None:  # Airflow has them since 3.3
        kind: Any = type(error)
        error.__class__ = _lasting_kind(kind)
    elif not isinstance(policy, _LastPolicy):
        task.retry_policy = _LastPolicy(policy)


class _LastPolicy:
    """Wraps a task's retry policy, and decides what that leaves to Airflow's default."""

    def __init__(self, policy: Any) -> None:
        self.policy = policy

    def evaluate(self, exception: BaseException, *args: Any, **kwargs: Any) -> Any:
        decision = self.policy.evaluate(exception, *args, **kwargs)
        if decision.action.value != "default" or not isinstance(exception, LASTING):
            return decision
        return type(decision).fail(f"{type(exception).__name__} would occur again in every try")


@cache
def _lasting_kind(kind: Any) -> Any:
    """Return a class with the name of ``kind`` that is also an ``AirflowFailException``."""
    if issubclass(kind, AirflowFailException):
        return kind
    shown = {name: getattr(kind, name) for name in ("__module__", "__qualname__", "__doc__")}
    return type(kind.__name__, (kind, AirflowFailException), {**shown, "__reduce__": lambda self: (kind, self.args)})
