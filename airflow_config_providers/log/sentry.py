"""Reversal of what Sentry gets: its SDK takes records and the variables of frames before a formatter sees them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from airflow_config_providers.core.reversal.active_reversers import ActiveReversers
from airflow_config_providers.foreign import SENTRY, SENTRY_API, require
from airflow_config_providers.log.reversing_guards import is_frame

_APART: Final = ("before_breadcrumb", "before_send_log", "before_send_metric", "before_send_span")
"""Options of a client whose functions get what is no event, or is kept for a later one."""

Processor = Callable[[Any, Any], Any]
"""Takes an event and a hint, and returns the event to send, or None."""


class SentryGuard:
    """
    Passes on an event with references in place of values, while a reverser is active.

    What cannot be checked is replaced, entry by entry, so that nothing is sent as it was.

    :param inner: gets the result; None if there is nothing else to do
    """

    __slots__ = ("_active", "_inner")

    def __init__(self, active: ActiveReversers, inner: Processor | None = None) -> None:
        self._active = active
        self._inner = inner

    def __call__(self, event: Any, hint: Any) -> Any:  # noqa: D102 - the class says it
        shown = self._reversed(event) if self._active else event
        return shown if self._inner is None else self._inner(shown, hint)

    def _reversed(self, event: Any) -> Any:
        if not isinstance(event, Mapping):
            return None
        return {key: value if is_frame(key, value) else self._active.value(value) for key, value in event.items()}


def guard_sentry(active: ActiveReversers) -> None:
    """
    Guard all that the SDK, which this process has loaded, sends from now on; the guards stay.

    :raises UnsupportedVersionError: the installed SDK takes no such guard
    """
    require(SENTRY)
    require(SENTRY_API)
    from sentry_sdk import scope  # noqa: PLC0415 - once its names are checked
    from sentry_sdk.api import get_client  # noqa: PLC0415 - as above

    if not any(isinstance(each, SentryGuard) for each in scope.global_event_processors):
        scope.add_global_event_processor(SentryGuard(active))
    client = get_client()
    if client.is_active():
        _guard_options(client.options, active)


def _guard_options(options: dict[str, Any], active: ActiveReversers) -> None:
    experiments = options.get("_experiments") or {}
    for name in _APART:
        before = options.get(name) or experiments.get(name)
        if not isinstance(before, SentryGuard):
            options[name] = SentryGuard(active, before)
