"""References, layers and reversal for the class of any operator."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import Any, TypeVar

from airflow_config_providers.airflow_compat import BaseOperator
from airflow_config_providers.operators.configured import FIELDS, ConfiguredOperator, JobOptions
from airflow_config_providers.operators.supported import OperatorSpec, spec_of

Operator = TypeVar("Operator", bound=type[BaseOperator])


def configured(kind: Operator) -> Operator:
    """
    Give the class ``kind`` with references in its template fields, as a function or as a class decorator.

    Where the operator keeps Spark configuration, layers too. What people see goes on being the references. The new
    class has the name and the module of ``kind``, so Airflow stores and shows a task of it as one of ``kind``; it
    takes the further arguments of ``ConfiguredOperator``. One that has all this already is given back.
    """
    return _configured(kind)  # type: ignore[no-any-return]  # lru_cache forgets what kind of class it got


def configure_task(task: Any) -> None:
    """Give a task that was made already, mapped or not, what ``configured`` gives its class."""
    if task.is_mapped:
        task.operator_class = configured(task.operator_class)
        task.template_fields = task.operator_class.template_fields
    elif not isinstance(task, ConfiguredOperator):
        task.__class__ = configured(type(task))
        task.take_over(JobOptions())


class _InFront(type(BaseOperator)):  # type: ignore[misc]  # the metaclass of operators has no name that Airflow offers
    """
    Makes classes whose one base is an operator, and whose methods are looked up in a mixin before it.

    Python lets an object change its class only for one that has the same first base, which a class with a mixin as its
    first base has not.
    """

    def mro(cls) -> list[type]:
        order: type | None = vars(cls).get("_order")
        return [cls, *order.__mro__[1:]] if order else super().mro()


@lru_cache(maxsize=256)  # a DAG file that is read again has new classes, so this must not keep all
def _configured(kind: Any) -> Any:
    if issubclass(kind, ConfiguredOperator):
        return kind
    shown = {name: getattr(kind, name) for name in ("__module__", "__qualname__", "__doc__")}
    order = type(kind)(kind.__name__, (_mixin(kind), kind), shown)
    fields = (*kind.template_fields, *FIELDS)
    own = {"template_fields": fields, "_order": order, "__reduce_ex__": _reduced}
    meta = _InFront if issubclass(_InFront, type(kind)) else type("_InFront", (_InFront, type(kind)), {})
    return meta(kind.__name__, (kind,), {**shown, **own})


def _reduced(task: Any, protocol: Any) -> Any:
    """Have pickle store the class that a task was made of: the name of the new one leads there."""
    if "_order" not in vars(type(task)):  # a class of somebody's own, with one of ours as a base
        return object.__reduce_ex__(task, protocol)
    return _empty, (type(task).__bases__[0],), task.__getstate__()


def _empty(kind: Any) -> Any:
    ours = _configured(kind)
    return ours.__new__(ours)


def _mixin(kind: type) -> type:
    module, _, name = (spec_of(kind) or OperatorSpec()).mixin.partition(":")
    found: type = getattr(import_module(module), name)
    return found
