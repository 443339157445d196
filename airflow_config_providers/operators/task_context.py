"""What a task leaves in its context, where callbacks and Airflow's server get it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from airflow_config_providers.core.reverse import ReverseTransformer, reverse_object


@contextmanager
def reversing_context(context: Any, reverser: ReverseTransformer) -> Iterator[None]:
    """
    Have what an operator puts into ``context``, pushes to XCom, or says of an asset show references.

    :param context: of the task; what is in it already stays as it is
    """
    before = dict(context)
    try:
        with _reversed_xcoms(context.get("ti"), reverser):
            yield
    finally:
        _reverse_events(context.get("outlet_events"), reverser)
        added = {key: value for key, value in context.items() if before.get(key) is not value}
        context.update({key: reverse_object(value, (reverser,)) for key, value in added.items()})


def _reverse_events(outlets: Mapping[Any, Any] | None, reverser: ReverseTransformer) -> None:
    for outlet in (outlets or {}).values():
        for event in (outlet, *outlet.asset_alias_events):
            event.extra = reverse_object(event.extra, (reverser,))


@contextmanager
def _reversed_xcoms(ti: Any, reverser: ReverseTransformer) -> Iterator[None]:
    if ti is None or not reverser or "xcom_push" in vars(ti):
        yield
        return
    push = ti.xcom_push

    def xcom_push(key: str, value: Any) -> None:
        push(key=key, value=reverse_object(value, (reverser,)))

    vars(ti)["xcom_push"] = xcom_push
    try:
        yield
    finally:
        vars(ti).pop("xcom_push", None)
