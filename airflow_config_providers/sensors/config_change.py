"""A sensor that waits until the value of a reference changes, without a worker slot."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Final, NoReturn
from weakref import WeakValueDictionary

from airflow.sdk import BaseOperator
from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_config_providers import settings
from airflow_config_providers.core.concurrency.per_process import PerProcess
from airflow_config_providers.core.concurrency.workers import BriefWorkers
from airflow_config_providers.core.keys import CONFIG_PROVIDERS
from airflow_config_providers.core.lookup import Place
from airflow_config_providers.core.on_demand import ProvidersOnDemand
from airflow_config_providers.core.polled_provider import DEFAULT_POLL_INTERVAL, PolledConfigProvider
from airflow_config_providers.core.provider import ConfigData, ConfigProvider
from airflow_config_providers.core.provider_definition import unknown_provider
from airflow_config_providers.core.subscriptions import Subscriptions
from airflow_config_providers.core.text import counted, first_of, printable, several
from airflow_config_providers.core.variable import ConfigVariable, variables
from airflow_config_providers.exceptions import ConfigException, ConfigProvidersError, refuse
from airflow_config_providers.job.providers import ProvidersConnection
from airflow_config_providers.providers.env import EnvVarConfigProvider

_MOST_NAMED: Final = 10
"""The most references that the log names."""

_AT_ONCE: Final = 16
"""
The most triggers of one process that ask the same providers at the same time, for the first values or to close them.

They only wait, mostly. With 64 that begin together, though, the loop of the triggerer comes late by half a second.
"""

_WORKERS: Final = PerProcess(WeakValueDictionary[tuple[str, ...], BriefWorkers])
"""Connection and names of providers -> the threads in which these are asked, as long as a trigger uses them."""

Changed = Callable[[Place], object]
"""Is called with the place of values that have changed, in any thread."""


class ConfigChangeTrigger(BaseTrigger):
    """
    Fires once when a value of ``references`` is no longer what it was when the trigger started.

    Its arguments and its event contain references, and no value. A triggerer that is restarted starts it anew, so a
    change between the two is not noticed.

    :param references: the references, such as ``${vault:apps/db:password}``
    :param config_conn_id: the connection that defines the providers
    """

    def __init__(self, references: Sequence[str], config_conn_id: str) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Airflow has no types here
        self.references = list(references)
        self.config_conn_id = config_conn_id

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the path of this class, and its arguments."""
        arguments = {"references": self.references, "config_conn_id": self.config_conn_id}
        return f"{type(self).__module__}.{type(self).__qualname__}", arguments

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Yield one event: ``changed``, with the references that can have changed, or ``error``."""
        loop, news = asyncio.get_running_loop(), asyncio.Queue[Place]()
        places = _by_place(self.references)
        stack = ExitStack()

        def note(place: Place) -> None:
            loop.call_soon_threadsafe(news.put_nowait, place)

        # Not in the loop's own threads: there are few of them, and other triggers would wait for a store that hangs.
        entered, workers = stack.enter_context, _workers_of(self.config_conn_id, places)
        started = workers.start(entered, watching(self.config_conn_id, places, note))
        begun = asyncio.wrap_future(started)
        try:
            self.log.info("%s", await asyncio.shield(begun))
            event = {"changed": [str(reference) for reference in places[await news.get()]]}
        except ConfigProvidersError as error:
            event = {"error": list(error.problems)}
        except Exception as error:  # noqa: BLE001 - of a provider of another package; its message can contain a value
            event = {"error": [f"The references cannot be watched ({type(error).__name__})."]}
        finally:
            if not started.cancel():  # otherwise it was still waiting for its turn, and there is nothing to close
                await asyncio.wait([begun])
                await asyncio.wrap_future(workers.start(stack.close))
        yield TriggerEvent(event)  # type: ignore[no-untyped-call]  # Airflow has no types here


class ConfigChangeSensor(BaseOperator):
    """
    Waits until the value of one of ``references`` changes, deferred to the triggerer.

    A value is read when the sensor has started, so a change before is not noticed. The task returns the references at
    the place that has changed. If nothing changes within ``execution_timeout``, it fails.

    :param references: the references; not templated, so that a run cannot choose them
    :param config_conn_id: the connection that defines the providers; None for the default of the deployment
    :raises ConfigException: there is no reference, or a string is not one; raised when the DAG is parsed
    """

    def __init__(self, *, references: Sequence[str] | str, config_conn_id: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.references = several(references)
        self.config_conn_id = config_conn_id
        _by_place(self.references)

    def execute(self, context: Any) -> NoReturn:
        """Defer until there is a change."""
        conn_id = settings.config_conn_id(self.config_conn_id)
        trigger = ConfigChangeTrigger(self.references, conn_id)
        self.defer(trigger=trigger, method_name="execute_complete", timeout=self.execution_timeout)

    def execute_complete(self, context: Any, event: Mapping[str, Any]) -> list[str]:
        """
        Return the references that can have changed.

        :raises ConfigException: they cannot be watched
        """
        refuse(ConfigException, event.get("error") or ())
        changed = [str(reference) for reference in event["changed"]]
        self.log.info("Changed: %s", ", ".join(map(printable, changed)))
        return changed


@contextmanager
def watching(conn_id: str, places: Mapping[Place, Sequence[ConfigVariable]], changed: Changed) -> Iterator[str]:
    """
    Call ``changed(place)`` after each change at one of ``places``, until the block ends.

    Yields a sentence about what is watched and how often, without values.

    :raises ConfigProvidersError: a provider is not defined, or refuses
    """
    with ProvidersConnection(conn_id).on_demand() as providers, ExitStack() as stack:
        _require_known(places, providers, conn_id)
        paces: dict[str, str] = {}
        for place, references in places.items():
            polled = _watched(providers, place, references, changed)
            if polled is not None:
                stack.callback(polled.clear)
            paces[place[0]] = _pace(providers[place[0]], polled)
        yield _description(places, paces)


def _workers_of(conn_id: str, places: Iterable[Place]) -> BriefWorkers:
    """Return the threads of these providers: those of other providers, which can hang, are not waited for."""
    names = sorted({name for name, _ in places})
    return _WORKERS().setdefault((conn_id, *names), BriefWorkers(_AT_ONCE))


def _description(places: Mapping[Place, Sequence[ConfigVariable]], paces: Mapping[str, str]) -> str:
    references = first_of((str(one) for some in places.values() for one in some), most=_MOST_NAMED)
    how_often = "; ".join(f"provider '{printable(name)}' {pace}" for name, pace in paces.items())
    return f"Watching {references} for a change: {how_often}."


def _pace(provider: ConfigProvider, polled: Subscriptions | None) -> str:
    if isinstance(provider, EnvVarConfigProvider):
        return "never reports one, because the environment of a process does not change"
    if polled is None and not isinstance(provider, PolledConfigProvider):
        return "reports changes itself"
    milliseconds = provider.poll_interval if isinstance(provider, PolledConfigProvider) else DEFAULT_POLL_INTERVAL
    return f"looks at least every {counted(milliseconds / 1000, 'second')}"


def _watched(
    providers: Mapping[str, ConfigProvider], place: Place, references: Sequence[ConfigVariable], changed: Changed
) -> Subscriptions | None:
    """Subscribe to ``references``, all at ``place``; an error names them."""
    try:
        return _subscribe(providers[place[0]], place, {reference.key for reference in references}, changed)
    except ConfigProvidersError as error:
        failure = error
    shown = first_of(map(str, references))
    raise type(failure)(*(f"{shown}: cannot be watched. {problem}" for problem in failure.problems))


def _subscribe(provider: ConfigProvider, place: Place, keys: Collection[str], changed: Changed) -> Subscriptions | None:
    """Subscribe to ``keys``; return the subscriptions to end if the provider has none itself, so that it is polled."""

    def call(path: str, data: ConfigData) -> None:
        changed(place)

    try:
        provider.subscribe(place[1], keys, call)
    except NotImplementedError:
        polled = Subscriptions(provider.get, interval=lambda: DEFAULT_POLL_INTERVAL)
        polled.add(place[1], keys, call)
        return polled
    return None


def _require_known(
    places: Mapping[Place, Sequence[ConfigVariable]], providers: ProvidersOnDemand, conn_id: str
) -> None:
    home = f"{CONFIG_PROVIDERS} of connection '{printable(conn_id)}'"
    problems = [
        unknown_provider(references[0], providers, unlisted=providers.unlisted, home=home)
        for (name, _), references in places.items()
        if name not in providers
    ]
    refuse(ConfigException, problems)


def _by_place(texts: Iterable[str]) -> dict[Place, list[ConfigVariable]]:
    """
    Return (provider, path) -> the references to it.

    :raises ConfigException: there is none, or a string is not a reference
    """
    found: dict[Place, list[ConfigVariable]] = {}
    problems = []
    for text in texts:
        references = variables(str(text))
        if len(references) == 1 and str(references[0]) == text:
            found.setdefault((references[0].provider, references[0].path), []).append(references[0])
        else:
            problems.append(f"'{printable(str(text))}' is not a reference. Write one as ${{provider:path:key}}.")
    if problems or not found:
        raise ConfigException(*(problems or ["references is empty. Name the references to wait for."]))
    return found
