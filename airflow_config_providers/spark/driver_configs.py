"""The current configuration of a driver, and streaming queries that follow it: the pull model of KIP-297."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeVar

from airflow_config_providers.core.concurrency.per_process import forget_in_children
from airflow_config_providers.core.concurrency.workers import in_thread
from airflow_config_providers.core.errors import clearing_frames
from airflow_config_providers.core.resolved_config import ResolvedConfig
from airflow_config_providers.core.reversal.former_values import FormerValues
from airflow_config_providers.core.reversal.reverse import KEPT
from airflow_config_providers.core.text import first_of, one_line, reporting_once
from airflow_config_providers.exceptions import ConfigException, ConfigProvidersError, ProviderUnavailableError
from airflow_config_providers.log.installation import Installation, install

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

_log: Final = logging.getLogger(__name__)

SHORTEST: Final = 1.0
"""Seconds between two reads of the secrets, at least."""

DEFAULT_AGE: Final = 10.0
"""Seconds after which values without a ttl are read again."""

_PATIENCE: Final = 5.0
"""Seconds for which a call waits for a read; one that takes longer goes on while the last values are returned."""

_NAMED: Final = 10
"""How many references with new values are named in a log line."""

_Query = TypeVar("_Query", bound="StreamingQuery")


class DriverConfigs:
    """
    Resolves the configuration of a driver again when its values could have changed. Thread-safe.

    If a secret store cannot answer, the last values stay in effect; if it refuses, the error is raised. A store that
    hangs holds up one call for ``_PATIENCE`` seconds, and then none until it has answered. A warning names the
    references whose values are empty or end with a line end, once.

    Output shows a reference in place of its value, of its last ``KEPT`` earlier ones, and of the first one, which
    ``spark.conf`` has as long as the driver runs. Searching for all of them would take longer with each change.

    :param resolve: resolves the references of the configuration, in another thread; never called twice at a time
    :param first: its first result
    :param clock: seconds that never go back
    :param kept: how many earlier values of each reference are known besides the first one
    """

    def __init__(
        self,
        resolve: Callable[[], ResolvedConfig],
        first: ResolvedConfig,
        *,
        clock: Callable[[], float] = time.monotonic,
        kept: int = KEPT,
    ) -> None:
        self._resolve = resolve
        self._clock = clock
        self._lock = threading.Lock()
        self._known = FormerValues(kept)
        self._installations: list[Installation] = []
        self._configs: Mapping[str, str] = {}
        self._refusal: ConfigProvidersError | None = None
        self._reading: Future[None] | None = None
        self._waits = True
        self._warn = reporting_once(partial(_log.warning, "%s"))
        self._take(first)
        forget_in_children(self)

    def forget(self) -> None:
        """In a forked child: make the read again that a thread of the parent was making, which does not exist here."""
        if self._reading is not None or self._lock.locked():
            self._lock = threading.Lock()
            self._reading = None
            self._good_until = self._clock()

    def __call__(self) -> Mapping[str, str]:
        """
        Return key -> value.

        :raises ConfigProvidersError: a reference can no longer be resolved
        """
        reading = self._read_if_due()
        if reading is not None and self._waits:
            self._wait_for(reading)
        with self._lock:
            if self._refusal is not None:
                raise self._refusal.again()
            return self._configs

    def _read_if_due(self) -> Future[None] | None:
        """Begin a read if the values are too old, and return the one that is under way; None if there is none."""
        with self._lock:
            if self._reading is not None or self._clock() < self._good_until:
                return self._reading
            reading = self._reading = Future()
        in_thread(self._read, reading)
        return reading

    def _wait_for(self, reading: Future[None]) -> None:
        done, _ = wait([reading], _PATIENCE)
        if done:
            reading.result()
        elif self._waits:
            self._waits = False
            _log.warning("The last values stay in effect: no answer within %g seconds.", _PATIENCE)

    def _read(self, reading: Future[None]) -> None:
        """Read the values, and then let those go on who wait for ``reading``."""
        try:
            self._refresh()
        except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
            self._waits = True  # so that the next call raises it, even after one that was not waited for
            self._end(reading)
            reading.set_exception(error)
        else:
            self._end(reading)
            reading.set_result(None)

    def _end(self, reading: Future[None]) -> None:
        with self._lock:
            if self._reading is reading:
                self._reading = None

    def _refresh(self) -> None:
        try:
            found = self._resolve()
        except ProviderUnavailableError as error:
            self._good_until = self._clock() + DEFAULT_AGE
            _log.warning("The last values stay in effect: %s", one_line("; ".join(error.problems)))
            return
        except ConfigProvidersError as error:
            self._good_until = self._clock() + SHORTEST
            self._refusal, self._waits = error.again(), True  # without its traceback
            return
        with self._lock:
            self._refusal, self._waits = None, True
            self._take(found)
        found.clear()

    def _take(self, found: ResolvedConfig) -> None:
        """Use ``found`` from now on. Output shows references in place of its values and of earlier ones."""
        ages = [ttl / 1000 for ttl in found.ttls.values()]
        self._good_until = self._clock() + max(SHORTEST, min([DEFAULT_AGE, *ages]))
        values = found.configs()
        if values != self._configs:
            for doubt in found.value_doubts():  # it names no value, and of many values searching would take long
                self._warn(doubt)
            changed = [*map(str, sorted(found.reverser.changed_from(self._known.recent)))]
            self._known.add(found.reverser)
            before, self._installations = self._installations, [install(one) for one in self._known.reversers]
            for one in before:
                one.uninstall()
            self._configs = MappingProxyType(values)
            if changed:
                has = "has a new value" if len(changed) == 1 else "have new values"
                _log.info("%s %s.", first_of(changed, most=_NAMED), has)


_OF_SESSION: list[DriverConfigs] = []


def keep(current: DriverConfigs) -> None:
    """Have ``configs`` answer with ``current``."""
    _OF_SESSION[:] = [current]


@clearing_frames
def configs() -> Mapping[str, str]:
    """
    Return the configuration of this driver, with the values that its references have now: key -> value.

    This is ``SinkTaskContext.configs()`` of KIP-297. Values are read again when their ttl is over, every ten seconds
    without one, and at most once in a second. What Python prints and logs shows references in place of new and old
    values: the last 500 of each reference, and the first one. ``spark.conf`` keeps the values that it had at the start.
    Thread-safe; works only in the driver.

    A store that takes longer than five seconds is read while the last values are returned.

    :raises ConfigException: ``session()`` was not called
    :raises ConfigProvidersError: a reference can no longer be resolved; while a secret store cannot answer, the last
        values are returned
    """
    if not _OF_SESSION:
        raise ConfigException("There is no configuration to read again. Call session() first.")
    return _OF_SESSION[0]()


@clearing_frames
def reload_on_change(query_factory: Callable[[Mapping[str, str]], _Query], *, interval: int = 10) -> None:
    """
    Run a streaming query until it ends, and start another one whenever the configuration has changed.

    This is for queries whose plan contains credentials, such as those that read with JDBC. The next query goes on from
    the checkpoint of the one before.

    :param query_factory: starts a query with the values in its argument, which is as ``configs`` returns it
    :param interval: seconds between two looks at the configuration
    :raises ConfigProvidersError: as for ``configs``; the query is stopped
    :raises StreamingQueryException: the query has failed
    """
    while True:
        values = configs()
        query = query_factory(values)
        try:
            while not query.awaitTermination(interval):
                if configs() != values:
                    break
            else:
                return
        finally:
            query.stop()
