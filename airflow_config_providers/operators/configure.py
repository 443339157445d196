"""Adds references, layers and reversal to the class of any operator."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import Any, TypeVar

from airflow_config_providers.airflow_compat import BaseOperator
from airflow_config_providers.job.fields import OURS
from airflow_config_providers.job.operator_specs import spec_or_default
from airflow_config_providers.operators.configured import (
    ConfiguredOperator,
    refuse_taken,
    taken_in_class,
    taken_in_task,
)

Operator = TypeVar("Operator", bound=type[BaseOperator])


def configured(kind: Operator) -> Operator:
    """
    Return a class like ``kind`` whose template fields can hold references. It is a function and a class decorator.

    If the operator has Spark configuration, that comes in layers, too. People still see the references. The new class
    has the name and the module of ``kind``, so Airflow stores and shows its tasks as tasks of ``kind``; it also takes
    the arguments of ``ConfiguredOperator``. A class that is already configured is returned unchanged.

    :raises ConfigException: ``kind`` has an argument or an attribute of its own by the name of one of ours
    """
    if not issubclass(kind, ConfiguredOperator):
        refuse_taken(kind, taken_in_class(kind))
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
        refuse_taken(kind, taken_in_task(task))
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
