"""
Fakes for the tests of this project and of its users.

They implement the interfaces of the package, so that nothing needs to be patched.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self
from uuid import uuid4

from airflow_config_providers.core.process_environment import having
from airflow_config_providers.core.provider import BatchConfigProvider, ConfigChangeCallback, ConfigData, ConfigProvider
from airflow_config_providers.dynamic.store import AuditEntry, Kept


class InMemoryConfigProvider(ConfigProvider):
    """
    A provider that answers from a mapping and remembers what it was asked.

    :param data: path -> key -> value
    :param ttl: the milliseconds for which every answer is valid; None for no limit
    :param error: raised by every ``get`` instead of an answer
    """

    def __init__(
        self,
        data: Mapping[str, Mapping[str, str]] | None = None,
        *,
        ttl: int | None = None,
        error: Exception | None = None,
    ) -> None:
        self.data = {path: dict(values) for path, values in (data or {}).items()}
        self.ttl = ttl
        self.error = error
        self.configs: Mapping[str, Any] | None = None
        self.calls: list[tuple[str, frozenset[str] | None]] = []
        self.closed = 0
        self._lock = threading.Lock()

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Remember the parameters in ``configs``."""
        self.configs = dict(configs)

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        """Return the values in ``data``; an unknown path has no keys."""
        with self._lock:
            self.calls.append((path, None if keys is None else frozenset(keys)))
        if self.error is not None:
            raise self.error
        values = self.data.get(path, {})
        return ConfigData({k: v for k, v in values.items() if keys is None or k in keys}, self.ttl)

    def close(self) -> None:
        """Count the calls in ``closed``."""
        self.closed += 1


@contextmanager
def deployment(
    providers: Mapping[str, Mapping[str, Mapping[str, str]] | ConfigProvider] | None = None,
    *,
    settings: Mapping[str, str] | None = None,
    connections: Mapping[str, Mapping[str, Any]] | None = None,
    config_conn_id: str = "config_providers_default",
) -> Iterator[dict[str, ConfigProvider]]:
    """
    Answer references from memory until the block ends, so that a test can render the tasks of its DAGs.

    Sets environment variables of this process, as a deployment would, and restores them. Not thread-safe.

    ``apply_to`` in ``settings`` configures stock operators of the DAG files that a ``DagBag`` loads in the block, as in
    a deployment; not those that the test itself makes.

    A provider that is given is asked as it is, also for a check, several paths together or subscriptions, if it can do
    that. It is neither configured nor closed; a subscription ends with the task or the sensor that has made it.

    :param providers: name -> what it answers, path -> key -> value; or a provider, such as one that raises an error
    :param settings: option of ``[config_providers]`` -> value
    :param connections: ID of another connection -> its fields, such as ``{"conn_type": "spark", "host": "yarn"}``
    :param config_conn_id: the connection that defines the providers; what the DAG names, if it names one
    :return: name -> the provider, an ``InMemoryConfigProvider`` unless another one was given
    """
    fakes = {
        name: answers if isinstance(answers, ConfigProvider) else InMemoryConfigProvider(answers)
        for name, answers in (providers or {}).items()
    }
    place = uuid4().hex
    definition = {"conn_type": "config_providers", "extra": _definitions(fakes, place)}
    options = {"config_conn_id": config_conn_id, "allowed_provider_classes": "", **(settings or {})}
    allowed = [options["allowed_provider_classes"] or "", *map(_path, _KINDS.values())]
    options["allowed_provider_classes"] = ",".join(allowed)
    _DEPLOYED[place] = fakes
    variables = {**_options(options), **_connections({**(connections or {}), config_conn_id: definition})}
    try:
        with ExitStack() as block:
            for name, value in variables.items():
                block.enter_context(having(os.environ, name, value))
            yield fakes
    finally:
        del _DEPLOYED[place]


class _DeployedProvider(ConfigProvider):
    """Stands in a ``deployment`` for one of its providers, and asks that one."""

    params: ClassVar[Collection[str]] = ("deployment", "name")
    _provider: ConfigProvider

    def __init__(self) -> None:
        self._subscribed: list[tuple[str, Collection[str] | None, ConfigChangeCallback]] = []

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Find the provider."""
        self._provider = _DEPLOYED[configs["deployment"]][configs["name"]]

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        """Return what the provider answers."""
        return self._provider.get(path, keys)

    def subscribe(self, path: str, keys: Collection[str] | None, callback: ConfigChangeCallback) -> None:
        """Subscribe to changes of the provider."""
        self._provider.subscribe(path, keys, callback)
        self._subscribed.append((path, keys, callback))

    def unsubscribe(self, path: str, keys: Collection[str] | None, callback: ConfigChangeCallback) -> None:
        """Undo one ``subscribe`` of these keys, in any collection; do nothing if none was made here."""
        wanted = _arguments(path, keys, callback)
        made = next((one for one in self._subscribed if _arguments(*one) == wanted), None)
        if made is not None:
            self._subscribed.remove(made)
            self._provider.unsubscribe(*made)

    def unsubscribe_all(self) -> None:
        """Undo each ``subscribe`` that was made here: other tasks of the test can have their own."""
        while self._subscribed:
            self._provider.unsubscribe(*self._subscribed.pop())

    def close(self) -> None:
        """Undo each ``subscribe``, if the provider can; it stays open for the next task."""
        with suppress(NotImplementedError):
            self.unsubscribe_all()


def _arguments(
    path: str, keys: Collection[str] | None, callback: ConfigChangeCallback
) -> tuple[str, frozenset[str] | None, ConfigChangeCallback]:
    """Return the arguments of a subscription such that those of the same one are equal."""
    return path, None if keys is None else frozenset(keys), callback


class _DeployedBatch(_DeployedProvider, BatchConfigProvider):
    """As above, for a provider that reads several paths together."""

    _provider: BatchConfigProvider

    def get_batch(self, wanted: Mapping[str, Collection[str]]) -> Mapping[str, ConfigData | Exception]:
        """Return what the provider answers."""
        return self._provider.get_batch(wanted)


class _DeployedChecked(_DeployedProvider):
    """As above, for a provider that has a check: of another one, people are told that it has none."""

    def check(self) -> str | None:
        """Return what the provider says."""
        return self._provider.check()


class _DeployedCheckedBatch(_DeployedChecked, _DeployedBatch):
    """As above, for a provider that does both."""


_KINDS: Final[Mapping[tuple[bool, bool], type[_DeployedProvider]]] = {
    (False, False): _DeployedProvider,
    (True, False): _DeployedBatch,
    (False, True): _DeployedChecked,
    (True, True): _DeployedCheckedBatch,
}
"""(Whether a fake reads several paths together, whether it has a check) -> the class that passes calls on to it."""


_DEPLOYED: Final[dict[str, dict[str, ConfigProvider]]] = {}
"""Identifier of a ``deployment`` whose block has not ended -> its providers."""


def _definitions(fakes: Mapping[str, ConfigProvider], place: str) -> dict[str, str]:
    found = {"config.providers": ",".join(fakes)}
    for name, fake in fakes.items():
        kind = _KINDS[isinstance(fake, BatchConfigProvider), type(fake).check is not ConfigProvider.check]
        prefix = f"config.providers.{name}"
        found |= {f"{prefix}.class": _path(kind), f"{prefix}.param.deployment": place, f"{prefix}.param.name": name}
    return found


def _path(kind: type) -> str:
    return f"{__name__}.{kind.__name__}"


def _options(options: Mapping[str, str]) -> dict[str, str]:
    return {f"AIRFLOW__CONFIG_PROVIDERS__{name.upper()}": value for name, value in options.items()}


def _connections(connections: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    return {f"AIRFLOW_CONN_{name.upper()}": json.dumps(fields) for name, fields in connections.items()}


class FakeClock:
    """A monotonic clock, in seconds, that moves only when a test sets ``now`` or calls ``sleep``."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:  # noqa: D102 - the class says it
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let ``seconds`` pass at once."""
        self.now += seconds


class FakeTimer:
    """
    A timer of a ``ReloadScheduler`` that makes its calls while a test lets time pass.

    :param clock: shows the time; moved by ``sleep``
    """

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.planned: list[PlannedCall] = []

    def schedule(self, delay_ms: int, callback: Callable[[], None]) -> PlannedCall:
        """Call ``callback`` when that much time has passed."""
        call = PlannedCall(self.clock() + delay_ms / 1000, delay_ms, callback)
        self.planned.append(call)
        return call

    def sleep(self, seconds: float) -> None:
        """Let ``seconds`` pass, and make the calls that are due meanwhile, in order."""
        end = self.clock() + seconds
        while due := [call for call in self.planned if call.is_waiting and call.at <= end]:
            call = min(due, key=lambda each: each.at)
            self.clock.now = max(self.clock(), call.at)
            call.is_waiting = False
            call.callback()
        self.clock.now = end


@dataclass
class PlannedCall:
    """
    A call that a ``FakeTimer`` makes.

    :param at: seconds of the clock
    :param delay_ms: as it was scheduled
    :param is_waiting: False once it was made or cancelled
    """

    at: float
    delay_ms: int
    callback: Callable[[], None]
    is_waiting: bool = True

    def cancel(self) -> None:
        """Do not make it."""
        self.is_waiting = False


class InMemoryConfigStore:
    """
    A store that keeps dynamic configuration in this process. Thread-safe.

    :param texts: the initial content, by name
    """

    def __init__(self, texts: Mapping[str, str] | None = None) -> None:
        self.texts = dict(texts or {})
        self.audit: list[AuditEntry] = []
        self._lock = threading.RLock()

    def read(self, names: Collection[str]) -> dict[str, Kept]:
        """Return what is stored under each of ``names``."""
        with self._lock:
            return {name: Kept(self.texts.get(name), self.texts.get(name)) for name in names}

    def names(self, prefix: str) -> list[str]:
        """Return the names that begin with ``prefix``."""
        with self._lock:
            return sorted(name for name in self.texts if name.startswith(prefix))

    def swap(self, expected: Mapping[str, Kept], texts: Mapping[str, str], audit: Sequence[AuditEntry]) -> bool:
        """Write all of ``texts`` and return True, or nothing if the content is not as ``expected``."""
        with self._lock:
            if any(self.texts.get(name) != kept.mark for name, kept in expected.items()):
                return False
            self.texts.update(texts)
            self.audit.extend(audit)
            return True

    @contextmanager
    def turn(self, names: Collection[str]) -> Iterator[Self]:
        """Keep other threads from reading and writing until the block ends."""
        with self._lock:
            yield self
