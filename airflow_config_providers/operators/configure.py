"""Adds references, layers and reversal to the class of any operator."""

from __future__ import annotations

import inspect
from functools import lru_cache
from importlib import import_module
from typing import Any, Final, TypeVar

from airflow_config_providers.airflow_compat import BaseOperator
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.job.fields import OURS
from airflow_config_providers.job.operator_specs import spec_or_default
from airflow_config_providers.job.options import JobOptions
from airflow_config_providers.operators.configured import ConfiguredOperator, refuse_taken

Operator = TypeVar("Operator", bound=type[BaseOperator])

_ARGUMENTS: Final = frozenset({"config_files", *JobOptions.__dataclass_fields__})
_ATTRIBUTES: Final = frozenset({*OURS, "config_conn_id", "unresolved", "allow_exposed_arguments", "resolve_in"})
"""The arguments and the attributes that a configured operator has besides those of its class."""


def configured(kind: Operator) -> Operator:
    """
    Return a class like ``kind`` whose template fields can hold references. It is a function and a class decorator.

    If the operator has Spark configuration, that comes in layers, too. People still see the references. The new class
    has the name and the module of ``kind``, so Airflow stores and shows its tasks as tasks of ``kind``; it also takes
    the arguments of ``ConfiguredOperator``. A class that is already configured is returned unchanged.

    :raises ConfigException: ``kind`` has an argument or an attribute of its own by the name of one of ours
    """
    if not issubclass(kind, ConfiguredOperator):
        refuse_taken(kind, _taken_attributes(kind) | _taken_arguments(kind))
    return _configured(kind)  # type: ignore[no-any-return]  # lru_cache loses the type of the class


def configure_task(task: Any) -> None:
    """
    Change an existing task, mapped or not, as if its class was ``configured``.

    :raises ConfigException: as for ``configured``
    """
    if task.is_mapped:
        task.operator_class = configured(task.operator_class)
        task.template_fields = task.operator_class.template_fields
        task.start_from_trigger = False  # the triggerer does not resolve references
    elif not isinstance(task, ConfiguredOperator):
        kind: Any = type(task)
        refuse_taken(kind, _taken_attributes(kind) | (_ATTRIBUTES & vars(task).keys()))
        object.__setattr__(task, "__class__", _configured(kind))  # Airflow's way looks for a converter first
        task.take_over()


class _InFront(type(BaseOperator)):  # type: ignore[misc]  # Airflow does not export the metaclass of operators
    """
    The metaclass of classes whose only base is an operator, but whose methods are looked up in a mixin first.

    Python allows an object to change its class only to one with the same first base, which a class with a mixin as its
    first base does not have.
    """

    def mro(cls) -> list[type]:
        order: type | None = vars(cls).get("_order")
        return [cls, *order.__mro__[1:]] if order else super().mro()


@lru_cache(maxsize=256)  # reading a DAG file again creates new classes, so the cache must be bounded
def _configured(kind: Any) -> Any:
    if issubclass(kind, ConfiguredOperator):
        return kind
    shown = {name: getattr(kind, name) for name in ("__module__", "__qualname__", "__doc__")}
    order = type(kind)(kind.__name__, (_mixin(kind), kind), shown)
    fields = (*kind.template_fields, *OURS)
    own = {"template_fields": fields, "_order": order, "__reduce_ex__": _reduced}
    meta = _InFront if issubclass(_InFront, type(kind)) else type("_InFront", (_InFront, type(kind)), {})
    return meta(kind.__name__, (kind,), {**shown, **own})


@lru_cache(maxsize=256)  # as above
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


def _reduced(task: Any, protocol: Any) -> Any:
    """Make pickle store the original class of a task, to which the name of the new class leads."""
    if "_order" not in vars(type(task)):  # a custom class with one of ours as a base
        return object.__reduce_ex__(task, protocol)
    return _empty, (type(task).__bases__[0],), task.__getstate__()


def _empty(kind: Any) -> Any:
    ours = _configured(kind)
    return ours.__new__(ours)


def _mixin(kind: type) -> type:
    module, _, name = spec_or_default(kind).mixin.partition(":")
    found: type = getattr(import_module(module), name)
    return found
