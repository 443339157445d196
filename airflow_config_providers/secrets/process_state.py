"""
The state that all backends of a process share.

Airflow often makes a new backend for a single request, so what must be opened only once is kept here. A child process
starts with nothing: it shares no login, socket or lock with its parent, and does not close what its parent has opened.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Collection, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from airflow_config_providers.core.concurrency.per_process import run_in_children
from airflow_config_providers.core.concurrency.shared_calls import SharedCalls, SingleFlight
from airflow_config_providers.core.on_demand import ProvidersOnDemand
from airflow_config_providers.core.provider import BatchConfigProvider, ConfigData, ConfigProvider
from airflow_config_providers.core.text import printable
from airflow_config_providers.secrets import answering
from airflow_config_providers.secrets.answering import importing
from airflow_config_providers.secrets.definitions import DefinitionSource
from airflow_config_providers.secrets.entry_files import ChangingFiles


def _for_deployment(definitions: Mapping[str, str]) -> ProvidersOnDemand:
    """
    Return the providers of ``definitions``, of the classes that the deployment allows.

    :raises ConfigProvidersError: the definitions cannot be read
    """
    from airflow_config_providers import settings  # noqa: PLC0415 - Airflow might be reading its configuration
    from airflow_config_providers.core.registry import ProviderRegistry  # noqa: PLC0415 - as above
    from airflow_config_providers.masker import mask_parameters  # noqa: PLC0415 - as above

    mask_parameters(definitions)
    registry = ProviderRegistry(
        allowed_classes=settings.allowed_provider_classes(), deployment=True, importing=importing
    )
    return registry.on_demand(definitions)


class SharedProviders:
    """
    Providers that are opened on first use, once for all threads, and again after their definitions change.

    Providers of previous definitions are closed when they are no longer in use.

    :param definitions: the definitions of the providers
    """

    def __init__(self, definitions: DefinitionSource) -> None:
        self._definitions = definitions
        self._lock = threading.Lock()
        self._opening = SingleFlight()
        self._kept: _Opened | None = None

    @contextmanager
    def use(self) -> Iterator[ProvidersOnDemand]:
        """
        Yield the providers, which stay open while the ``with`` block runs.

        :raises ConfigProvidersError: their definitions cannot be read
        """
        opened = self._taken()
        try:
            yield ProvidersOnDemand(
                opened.providers,
                lambda name: _chained(name, self._open_one(opened.providers, name)),
                unlisted=opened.providers.unlisted,
                under_way=opened.under_way,
            )
        finally:
            self._give_back(opened)

    def close(self) -> None:
        """Close the providers, now or when they are no longer in use; the next use opens them again."""
        self._replace(None)

    def _taken(self) -> _Opened:
        while True:
            state = self._definitions.state()
            with self._lock:
                if (kept := self._kept_for(state)) is not None:
                    kept.users += 1
                    return kept
            with answering.step(f"the providers of {self._definitions}", identity=self._definitions):
                self._opening.run(state, lambda state=state: self._open(state))  # type: ignore[misc]  # a bound name

    def _kept_for(self, state: Hashable) -> _Opened | None:
        return self._kept if self._kept is not None and self._kept.state == state else None

    def _open(self, state: Hashable) -> None:
        with self._lock:
            is_done = self._kept_for(state) is not None  # by another thread, after this one has looked
        if not is_done:
            self._replace(_Opened(_for_deployment(self._definitions.read()), state))

    def _open_one(self, providers: ProvidersOnDemand, name: str) -> ConfigProvider:
        if providers.is_open(name):
            return providers[name]
        with answering.step(f"opening provider {printable(name)}", identity=(self._definitions, name)):
            return providers[name]

    def _replace(self, opened: _Opened | None) -> None:
        with self._lock:
            former, self._kept = self._kept, opened
            is_unused = former is not None and former.users == 0
        if former is not None and is_unused:
            former.providers.close()

    def _give_back(self, opened: _Opened) -> None:
        with self._lock:
            opened.users -= 1
            is_over = opened is not self._kept and opened.users == 0
        if is_over:
            opened.providers.close()


@dataclass(slots=True)
class _Opened:
    providers: ProvidersOnDemand
    state: Hashable
    users: int = 0
    under_way: SharedCalls = field(default_factory=SharedCalls)


class _Chained(ConfigProvider):
    """A provider that adds a step to the chain for each answer."""

    def __init__(self, name: str, provider: ConfigProvider) -> None:
        self._step = f"provider {printable(name)}"
        self._provider = provider

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        with answering.step(self._step):
            return self._provider.get(path, keys)


class _ChainedBatch(_Chained, BatchConfigProvider):
    _provider: BatchConfigProvider

    def get_batch(self, wanted: Mapping[str, Collection[str]]) -> Mapping[str, ConfigData | Exception]:
        with answering.step(self._step):
            return self._provider.get_batch(wanted)


def _chained(name: str, provider: ConfigProvider) -> ConfigProvider:
    return (_ChainedBatch if isinstance(provider, BatchConfigProvider) else _Chained)(name, provider)


class ProcessState:
    """
    Files that were read, open providers, and requests under way. Safe to use from several threads.

    :ivar files: reads files, again after they change
    :ivar questions: combines simultaneous requests for the same thing into one
    """

    def __init__(self) -> None:
        self.files = ChangingFiles()
        self.questions = SingleFlight()
        self._lock = threading.Lock()
        self._providers: dict[DefinitionSource, SharedProviders] = {}

    def providers(self, definitions: DefinitionSource) -> SharedProviders:
        """Return the providers of ``definitions``, which are opened when needed and closed when the process ends."""
        with self._lock:
            if not self._providers:
                atexit.register(self.close)
            if definitions not in self._providers:
                self._providers[definitions] = SharedProviders(definitions)
            return self._providers[definitions]

    def close(self) -> None:
        """Close all providers; the next request opens them again."""
        for providers in list(self._providers.values()):
            providers.close()


_state = ProcessState()


_inherited: list[ProcessState] = []


def state() -> ProcessState:
    """Return the state of this process."""
    return _state


def _start_anew() -> None:
    global _state  # noqa: PLW0603 - the one thing that changes, and only in a child process
    _inherited.append(_state)  # a reference, so that nothing that the parent opened is closed here
    atexit.unregister(_state.close)
    _state = ProcessState()


run_in_children(_start_anew)
