"""Providers that are opened on first use."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from airflow_config_providers.core.closed_on_exit import ClosedOnExit
from airflow_config_providers.core.closing import close_all
from airflow_config_providers.core.provider import ConfigProvider
from airflow_config_providers.core.variable import variables
from airflow_config_providers.exceptions import ProviderDefinitionError, ProviderLookupError, refuse

if TYPE_CHECKING:
    from airflow_config_providers.core.concurrency.shared_calls import SharedCall, SharedCalls, Wait

_EnvironmentNames = Callable[[Mapping[str, ConfigProvider], float | None], frozenset[str]]


class ProvidersOnDemand(ClosedOnExit, Mapping[str, ConfigProvider]):
    """
    Providers by name, in the order in which they are listed. The first lookup of a provider opens it. Thread-safe.

    A wrong definition is an error only for callers that need its provider. If two threads open a provider at the same
    time, one of the two instances is closed again.

    :param names: the providers that are defined
    :param open_: creates and configures the provider with this name
    :param environment_names: given the open providers and a timeout, returns the names of the environment variables
        that all can read; opens none
    :param unlisted: the names of providers that are defined, but not listed
    :param under_way: starts the calls that open providers; shared by all callers that share open providers
    """

    def __init__(
        self,
        names: Iterable[str],
        open_: Callable[[str], ConfigProvider],
        *,
        environment_names: _EnvironmentNames = lambda opened, timeout: frozenset(),
        unlisted: Collection[str] = (),
        under_way: SharedCalls | None = None,
    ) -> None:
        from threading import RLock  # noqa: PLC0415 - slow to import, and what has its providers at hand opens none

        self.unlisted = unlisted
        self._names = tuple(names)
        self._open_one = open_
        self._environment_names = environment_names
        self._under_way = under_way or _under_way()
        self._opened: dict[str, ConfigProvider] = {}
        self._lock = RLock()  # a killed task calls keep_leases in a signal handler
        self._is_closed = False

    def open_for(self, texts: Iterable[str]) -> None:
        """
        Open the providers that ``texts`` refer to.

        :raises ProviderDefinitionError: definitions of these providers are wrong; names all problems
        :raises ProviderLookupError: a provider was refused, or could not connect, while it was configured
        """
        self.open_named({variable.provider for text in texts for variable in variables(text)})

    def open_named(self, names: Collection[str], *, wait: Wait | None = None) -> None:
        """
        Open the providers called ``names``: in parallel in other threads, or one after another in the caller's.

        :param wait: waits until another thread has opened the provider with this name, or raises; None to open the
            providers in the caller's thread
        :raises ProviderDefinitionError: definitions of these providers are wrong; names all problems
        :raises ProviderLookupError: a provider was refused, or could not connect, while it was configured
        :raises Exception: whatever ``wait`` raises; a provider that is still being opened then is kept once it is open.
            If it took too long, a caller that needs it earlier opens it again
        """
        missing = [name for name in self._names if name in names and name not in self._opened]
        openings: dict[str, SharedCall] = {}
        if wait is not None:
            openings = {name: self._under_way.start(name, partial(self.__getitem__, name)) for name in missing}
        problems: list[str] = []
        for name in missing:
            try:
                if wait is not None:
                    _wait_for(name, openings, wait)
                self[name]
            except ProviderDefinitionError as error:
                problems += error.problems
        refuse(ProviderDefinitionError, problems)

    def is_open(self, name: str) -> bool:
        """Return whether the provider with this name is open."""
        return name in self._opened

    def environment_names(self, *, timeout: float | None = None) -> frozenset[str]:
        """
        Return the names of the environment variables that the providers can read. None is opened for this.

        :param timeout: the seconds for importing and creating those that are not open; None for no limit
        :raises ProviderUnavailableError: one of these did not answer in time
        """
        return self._environment_names(dict(self._opened), timeout)

    def keep_leases(self, *, is_left: bool) -> None:
        """Call ``ConfigProvider.keep_leases`` of each open provider."""
        with self._lock:
            opened = list(self._opened.values())
        for provider in opened:
            provider.keep_leases(is_left=is_left)

    def close(self) -> None:
        """Close the open providers; no other is opened afterwards."""
        with self._lock:
            opened, self._opened = self._opened, {}
            self._is_closed = True
        close_all((f"Provider {name}", provider) for name, provider in opened.items())

    def __getitem__(self, name: str) -> ConfigProvider:
        """
        Return the provider with this name.

        :raises ProviderDefinitionError: it cannot be created from its definition
        :raises ProviderLookupError: all providers were closed while it was opened
        """
        if name not in self._names:
            raise KeyError(name)
        if (found := self._opened.get(name)) is not None:
            return found
        provider = self._open_one(name)
        with self._lock:
            kept = None if self._is_closed else self._opened.setdefault(name, provider)
        if kept is not provider:
            close_all([(f"Provider {name}", provider)])
        if kept is None:
            raise ProviderLookupError("The providers have been closed. Open them again.")
        return kept

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _under_way() -> SharedCalls:
    from airflow_config_providers.core.concurrency.shared_calls import SharedCalls  # noqa: PLC0415 - slow to import, as in lookup

    return SharedCalls()


def _wait_for(name: str, openings: Mapping[str, SharedCall], wait: Wait) -> None:
    try:
        wait(name, openings[name])
    finally:
        if not openings[name].done():  # the time for all of them is up
            for opening in openings.values():
                opening.is_given_up = True
