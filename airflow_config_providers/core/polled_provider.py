"""Providers that find changes by reading again."""

from __future__ import annotations

from abc import ABC
from collections.abc import Collection, Hashable, Mapping
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.core.provider import ConfigChangeCallback, ConfigProvider
from airflow_config_providers.core.text import whole_number
from airflow_config_providers.exceptions import ProviderDefinitionError

if TYPE_CHECKING:
    from airflow_config_providers.core.concurrency.timetable import Timetable
    from airflow_config_providers.core.subscriptions import Polled, Subscriptions, Watch

POLL_INTERVAL: Final = "poll.interval"
DEFAULT_POLL_INTERVAL: Final = 60_000
"""Milliseconds."""

LONGEST_POLL_INTERVAL: Final = 10**12 - 1
"""Milliseconds, which are more than 31 years: never, for someone who wants no reads."""


class PolledConfigProvider(ConfigProvider, ABC):
    """
    A provider whose subscriptions are answered by reading again.

    Its parameter ``poll.interval`` is the milliseconds between two reads of one path, at least 1,000; the default is
    60,000. Values with a shorter ttl are read when it has passed.

    A class that defines ``configure`` or ``close`` calls the one here, too.
    """

    _poll_interval = DEFAULT_POLL_INTERVAL
    _subscriptions: Subscriptions | None = None

    @property
    def poll_interval(self) -> int:
        """The milliseconds between two reads of one path; fewer if the values have a shorter ttl."""
        return self._poll_interval

    def configure(self, configs: Mapping[str, Any]) -> None:
        """
        Take ``poll.interval``.

        :raises ProviderDefinitionError: it is not a number of milliseconds from 1,000 on
        """
        if POLL_INTERVAL in configs:
            self._poll_interval = _milliseconds(configs[POLL_INTERVAL])

    def subscribe(self, path: str, keys: Collection[str] | None, callback: ConfigChangeCallback) -> None:
        """
        Call ``callback(path, data)`` after each change of a value, in a thread of ours.

        ``data`` has the values of all of ``keys``. Several changes in quick succession can be one call.

        :param keys: None for all at ``path``
        :raises ProviderLookupError: the values cannot be read now, or may not be
        """
        subscriptions = self._subscriptions or self._make_subscriptions()
        # If two threads make some, both use those of the first.
        subscriptions = vars(self).setdefault("_subscriptions", subscriptions)
        subscriptions.add(path, keys, callback)

    def unsubscribe(self, path: str, keys: Collection[str] | None, callback: ConfigChangeCallback) -> None:
        """Undo one ``subscribe`` with the same arguments; do nothing if there is none."""
        if self._subscriptions is not None:
            self._subscriptions.remove(path, keys, callback)

    def unsubscribe_all(self) -> None:
        """Undo every ``subscribe``; no thread is left."""
        if self._subscriptions is not None:
            self._subscriptions.clear()

    def close(self) -> None:
        """Undo every ``subscribe``."""
        self.unsubscribe_all()
        vars(self).pop("_subscriptions", None)

    def _make_subscriptions(self) -> Subscriptions:
        from airflow_config_providers.core.subscriptions import Subscriptions  # noqa: PLC0415 - few jobs watch their values

        return Subscriptions(
            self.get,
            interval=lambda: self._poll_interval,
            make_watch=self._make_watch,
            poll=self._poll,
            timetable=self._make_timetable(),
        )

    def _poll(self, path: str, keys: Collection[str] | None, mark: Hashable | None) -> Polled:
        """Look for changes; a class that caches values, or has marks of them, overrides it."""
        from airflow_config_providers.core.subscriptions import Polled  # noqa: PLC0415 - see above

        return Polled(self.get(path, keys))

    def _make_watch(self) -> Watch:
        """Return what notices changes before values are read again."""
        from airflow_config_providers.core.subscriptions import NoWatch  # noqa: PLC0415 - see above

        return NoWatch()

    def _make_timetable(self) -> Timetable | None:
        """Return the timetable of the reads; None for one of its own."""
        return None


def _milliseconds(number: object) -> int:
    if milliseconds := whole_number(number, least=1000, most=LONGEST_POLL_INTERVAL):
        return milliseconds
    raise ProviderDefinitionError(f"{POLL_INTERVAL} is not a number of milliseconds from 1000 on. Correct it.")
