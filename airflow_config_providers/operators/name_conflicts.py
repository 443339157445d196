"""Conflicts of the arguments and attributes that this package adds to an operator with those of its class."""

from __future__ import annotations

import inspect
from collections.abc import Collection
from functools import lru_cache
from typing import Any, Final

from airflow_config_providers.airflow_compat import BaseOperator
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.job.fields import OURS
from airflow_config_providers.job.job_options import JobOptions

_ARGUMENTS: Final = frozenset({"config_files", *JobOptions.__dataclass_fields__})
_ATTRIBUTES: Final = frozenset({*OURS, "config_conn_id", "unresolved", "allow_exposed_arguments", "resolve_in"})
"""The arguments and the attributes that a configured operator has besides those of its class."""


def taken_in_class(kind: Any) -> frozenset[str]:
    """
    Return the names of ours that a class of operators has for arguments or attributes of its own.

    :raises ConfigException: it is no such class
    """
    names: frozenset[str] = _taken_attributes(kind) | _taken_arguments(kind)
    return names


def taken_in_task(task: Any) -> frozenset[str]:
    """Return the names of ours that a task, or its class, has for attributes of its own."""
    kind: Any = type(task)
    of_class: frozenset[str] = _taken_attributes(kind)
    return of_class | _ATTRIBUTES.intersection(vars(task))


def refuse_taken(kind: type, names: Collection[str]) -> None:
    """
    Make sure that a class of operators has no argument or attribute of its own that has the name of one of ours.

    :param names: those that it has
    :raises ConfigException: it has some
    """
    if names:
        raise ConfigException(
            f"Class {printable(f'{kind.__module__}.{kind.__qualname__}')} has its own {', '.join(sorted(names))}. This "
            f"package gives configured operators an argument or an attribute of that name. Rename it in the class. If "
            f"apply_to configures the operator, the tag 'config_providers:off' leaves its DAG alone."
        )


@lru_cache(maxsize=256)  # reading a DAG file again creates new classes, so the cache must be bounded
def _taken_attributes(kind: Any) -> frozenset[str]:
    """Return the attributes of ours that a class or a base of it has, for something of its own."""
    return frozenset(name for one in _derived(kind) for name in _ATTRIBUTES & vars(one).keys())


@lru_cache(maxsize=256)  # as above
def _taken_arguments(kind: Any) -> frozenset[str]:
    """Return the arguments of ours that a class or a base of it takes, for something of its own."""
    makers = [vars(one)["__init__"] for one in _derived(kind) if "__init__" in vars(one)]
    return frozenset(name for make in makers for name in _ARGUMENTS.intersection(inspect.signature(make).parameters))


def _derived(kind: Any) -> tuple[type, ...]:
    """Return a class of operators and its bases that are derived from ``BaseOperator``, or are mixins of these."""
    order: tuple[type, ...] = kind.__mro__
    if BaseOperator not in order:
        raise ConfigException(f"{printable(str(kind))} is not an operator class. Give configured() one.")
    return order[: order.index(BaseOperator)]
