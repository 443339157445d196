"""Reverses what a task leaves in its context, where callbacks and Airflow's server read it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from airflow_config_providers.core.reversal.reverse import ReverseTransformer, reverse_object
from airflow_config_providers.operators.outlet_events import declared_names, reverse_events
from airflow_config_providers.operators.told_to_server import reversing_messages

_log = logging.getLogger(__name__)

_PUSHES: Final = ("xcom_push", "axcom_push")
"""The methods with which a task pushes an XCom. The second exists since Airflow 3.3."""


@contextmanager
def reversing_context(context: Any, reverser: ReverseTransformer) -> Iterator[None]:
    """
    Replace values by references in what an operator adds to ``context``, pushes to XCom, or makes Airflow store.

    :param context: the context of the task; its previous content does not change
    """
    before = dict(context)
    declared = declared_names(context.get("outlets"))
    try:
        with _reversed_xcoms(context.get("ti"), reverser), reversing_messages(reverser):
            yield
    finally:
        reverse_events(context.get("outlet_events"), declared, reverser)
        added = {key: value for key, value in context.items() if before.get(key) is not value}
        context.update({key: reverse_object(value, (reverser,)) for key, value in added.items()})


@contextmanager
def _reversed_xcoms(ti: Any, reverser: ReverseTransformer) -> Iterator[None]:
    """Reverse an XCom before a custom backend gets it, which could store it elsewhere."""
    if ti is None or not reverser or "xcom_push" in vars(ti):
        yield
        return
    names = [name for name in _PUSHES if hasattr(ti, name)]
    vars(ti).update({name: _reversed_push(getattr(ti, name), reverser) for name in names})
    try:
        yield
    finally:
        for name in names:
            vars(ti).pop(name, None)


def _reversed_push(push: Callable[..., Any], reverser: ReverseTransformer) -> Callable[[str, Any], Any]:
    def reversed_push(key: str, value: Any) -> Any:
        return push(key=_shown_key(key, reverser), value=reverse_object(value, (reverser,)))

    return reversed_push


def _shown_key(key: str, reverser: ReverseTransformer) -> str:
    shown = str(reverse_object(key, (reverser,)))
    if shown != key:
        _log.warning("The key of an XCom contained a value. It is stored with the reference, as %s.", shown)
    return shown
