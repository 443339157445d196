"""Reverses the entries that code has bound to the current context, which structlog adds to each later line."""

from __future__ import annotations

import sys

from airflow_config_providers.core.reversal.reverse import ReverseTransformer, reverse_object


def reverse_bound(reverser: ReverseTransformer) -> None:
    """
    Replace values by references in what was bound to this context with ``structlog.contextvars``.

    Loggers that code has bound itself keep what they have.
    """
    if not reverser or "structlog" not in sys.modules:
        return
    from structlog.contextvars import bind_contextvars, get_contextvars, unbind_contextvars  # noqa: PLC0415 - only where it is used

    for key, value in get_contextvars().items():
        name, shown = str(reverse_object(key, (reverser,))), reverse_object(value, (reverser,))
        if name != key:
            unbind_contextvars(key)
        if name != key or shown is not value:
            bind_contextvars(**{name: shown})
