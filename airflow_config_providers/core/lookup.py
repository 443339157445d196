"""Ask providers: one request for each provider and path, several in parallel, and again if one is unavailable."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar, cast

from airflow_config_providers.core.errors import foreign_failure, kind_and_place
from airflow_config_providers.core.on_demand import ProvidersOnDemand
from airflow_config_providers.core.provider import BatchConfigProvider, ConfigData, ConfigProvider, only_text
from airflow_config_providers.core.text import counted, printable
from airflow_config_providers.exceptions import (
    ConfigProvidersError,
    ProviderDefinitionError,
    ProviderLookupError,
    ProviderUnavailableError,
)

if TYPE_CHECKING:
    from concurrent.futures import Future

    from tenacity import RetryCallState

    from airflow_config_providers.core.concurrency.workers import Workers

_T = TypeVar("_T")

_HEAD_START: Final = 0.002
"""
Seconds for which one thread asks, before the others help it. It reads some files in that time, and beginning a thread
takes longer than reading one.
"""

Place = tuple[str, str]
"""A provider's name and a path."""

Outcome = ConfigData | Exception
"""The answer of a provider for a place, or the reason why there is none."""

_P = ParamSpec("_P")

_FIRST_WAIT: Final = 0.4
"""Seconds before the second attempt."""
_FACTOR: Final = 3
"""How many times longer each wait is than the one before; four take 16 seconds, long enough for Vault to restart."""
_SPAN: Final = 15.0
"""Seconds after which a call is not retried, unless the provider says when to retry."""
_LONGEST_WAIT: Final = 60.0
"""Longest wait in seconds, even if the provider asks for a longer one."""
_LONGEST_SPREAD: Final = 5.0
"""Most seconds that are added to the wait a provider asks for, so that many processes do not come back together."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Answers:
    """
    The answers of the providers.

    :param data: place -> key -> value
    :param ttls: place -> milliseconds, if the provider returned a TTL that is not negative
    :param failures: place -> why there is no answer
    :param absences: place -> why there is nothing, if the provider gave a reason
    :param denials: place -> key -> why the provider refuses to return it
    """

    data: Mapping[Place, Mapping[str, str]] = field(repr=False)
    ttls: Mapping[Place, int]
    failures: Mapping[Place, Exception]
    absences: Mapping[Place, str] = field(default_factory=dict)
    denials: Mapping[Place, Mapping[str, str]] = field(default_factory=dict)

    def value(self, provider: str, path: str, key: str) -> str | None:
        """Return the value of a reference; None if no provider returned one."""
        found = self.data.get((provider, path))
        return None if found is None else found.get(key)


@dataclass(frozen=True, slots=True)
class FetchOptions:
    """
    How providers are asked.

    :param max_workers: how many paths are read in parallel
    :param attempts: how often an unavailable provider is asked, with increasing waits; five take about 15 seconds
    :param timeout: seconds for all requests together; None for no limit
    :param in_callers_thread: ask for one path after another, in the caller's thread; a call that hangs is not
        interrupted, and after the timeout no further call is made
    :param waits_if_busy: a provider that says when to ask again is asked until the timeout, whatever ``attempts`` is,
        unless that is 1
    """

    max_workers: int = 32
    attempts: int = 1
    timeout: float | None = None
    in_callers_thread: bool = False
    waits_if_busy: bool = True


ONCE: Final = FetchOptions()
"""Ask each provider once, and wait for it."""

PATIENT: Final = FetchOptions(attempts=5, timeout=60.0)
"""Ask again while a server restarts, but for no longer than a minute."""


class Lookup:
    """
    Fetches the values of references.

    :param providers: name -> provider; places of unknown providers are skipped
    :param options: how they are asked
    :param sleep: waits for a number of seconds
    :param clock: returns monotonic seconds
    """

    def __init__(
        self,
        providers: Mapping[str, ConfigProvider],
        options: FetchOptions = ONCE,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.providers = providers
        self.options = options
        self.sleep = sleep
        self.clock = clock

    def fetch(self, wanted: Mapping[Place, Collection[str]]) -> Answers:
        """
        Ask once for each place, with all its keys. A failure is part of the answer and is not raised.

        A ``BatchConfigProvider`` is asked for all its paths at once. Providers are asked in other threads, which see
        the caller's context variables. Without a timeout, a single place is asked for in the caller's thread.

        Providers of ``ProvidersOnDemand`` are opened first, within the same timeout.

        :raises ProviderDefinitionError: a provider cannot be made from its definition
        :raises ProviderLookupError: a provider was refused, could not connect, or was not ready in time
        """
        fetch = _Fetch(self, {place: keys for place, keys in wanted.items() if place[0] in self.providers})
        return _answers(fetch.outcomes())


class _Fetch:
    """One fetch. It ends when its time is over, whatever the providers do."""

    def __init__(self, lookup: Lookup, wanted: Mapping[Place, Collection[str]]) -> None:
        self._providers = lookup.providers
        self._options = lookup.options
        self._clock = lookup.clock
        self._wanted = wanted
        self._until = math.inf if self._options.timeout is None else self._clock() + self._options.timeout
        self._retries = Retries(
            self._options.attempts,
            sleep=lookup.sleep,
            clock=self._clock,
            until=self._until,
            waits_if_busy=self._options.waits_if_busy,
        )

    def outcomes(self) -> dict[Place, Outcome]:
        """Return the outcome for each place."""
        has_no_limit = self._until == math.inf
        if isinstance(self._providers, ProvidersOnDemand):
            waits_here = has_no_limit or self._options.in_callers_thread
            names = {name for name, _ in self._wanted}
            self._providers.open_named(names, wait=None if waits_here else self._wait_until_open)
        if self._options.in_callers_thread or not self._wanted or (has_no_limit and len(self._wanted) == 1):
            return {place: self._late(place[0]) if self._is_over() else self._ask(place) for place in self._wanted}
        from airflow_config_providers.core.concurrency.workers import Workers, in_thread  # noqa: PLC0415 - slow to import

        if len(self._wanted) == 1:
            (place,) = self._wanted
            return {place: self._in_time(in_thread(self._ask_apart, place)) or self._late(place[0])}
        with Workers(self._options.max_workers, at_first=1) as workers:
            return self._side_by_side(workers)

    def _wait_until_open(self, name: str, opening: Future[object]) -> None:
        from concurrent.futures import wait  # noqa: PLC0415 - slow to import, with logging

        done, _ = wait([opening], self._seconds_left())
        if not done:
            raise self._late(name)
        if error := opening.exception():  # two threads that raise the same error would mix up its traceback
            if isinstance(error, ConfigProvidersError):
                raise error.again()
            if isinstance(error, Exception | KeyboardInterrupt):
                raise error
            failure = kind_and_place(error)  # its message can contain a value
            raise ProviderDefinitionError(f"Provider {printable(name)}: it cannot be configured ({failure}).")

    def _side_by_side(self, workers: Workers) -> dict[Place, Outcome]:
        batches = self._batches()
        together = [(batch, workers.start(self._ask_together, *batch)) for batch in batches.items()]
        asked = {place: workers.start(self._ask_apart, place) for place in self._wanted if place[0] not in batches}
        workers.spread([*(batch for _, batch in together), *asked.values()], after=_HEAD_START)
        found: dict[Place, Outcome] = {}
        for (name, paths), batch in together:
            answers = self._in_time(batch)
            found |= {(name, path): self._late(name) for path in paths} if answers is None else answers
        left_out = [place for place in self._wanted if place not in found and place not in asked]
        asked |= {place: workers.start(self._ask_apart, place) for place in left_out}
        found |= {place: self._in_time(answer) or self._late(place[0]) for place, answer in asked.items()}
        return {place: found[place] for place in self._wanted}

    def _batches(self) -> dict[str, dict[str, Collection[str]]]:
        """Return path -> keys for each provider that reads several paths in one batch."""
        batches: dict[str, dict[str, Collection[str]]] = {}
        for (name, path), keys in self._wanted.items():
            if isinstance(self._providers[name], BatchConfigProvider):
                batches.setdefault(name, {})[path] = frozenset(keys)
        return {name: batch for name, batch in batches.items() if len(batch) > 1}

    def _ask_together(self, name: str, wanted: Mapping[str, Collection[str]]) -> dict[Place, Outcome]:
        batch = _Batch(cast(BatchConfigProvider, self._providers[name]), wanted)
        try:
            self._retries.run(name, batch.ask)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - as in _ask_apart
            batch.give_up(name, error)
        return {(name, path): _checked(name, outcome) for path, outcome in batch.found.items()}

    def _ask_apart(self, place: Place) -> Outcome:
        """Ask in a thread that gets no signals, so that what ends a process, such as SystemExit, is an outcome too."""
        try:
            return self._ask(place)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - as in _ask
            return foreign_failure(place, error)

    def _ask(self, place: Place) -> Outcome:
        name, path = place
        try:
            get, keys = self._providers[name].get, frozenset(self._wanted[place])
            return only_text(name, self._retries.run(name, get, path, keys))
        except Exception as error:  # noqa: BLE001 - a third party's provider can raise anything; it becomes the outcome
            return _alone(error)

    def _in_time(self, answer: Future[_T]) -> _T | None:
        """Wait for the answer and return it; None if the time is over before."""
        try:
            return answer.result(self._seconds_left())
        except TimeoutError:  # of the wait itself: an error of a provider is an outcome
            return None

    def _seconds_left(self) -> float | None:
        return None if self._until == math.inf else max(0.0, self._until - self._clock())

    def _is_over(self) -> bool:
        return self._clock() >= self._until

    def _late(self, name: str) -> ProviderUnavailableError:
        limit = counted(self._options.timeout or 0, "second")
        return ProviderUnavailableError(
            f"Provider '{printable(name)}' gave no answer within {limit}, which is all the time that resolving a "
            f"configuration has. Try again later, or raise resolve_timeout in [config_providers]."
        )


class _Batch:
    """Paths of one provider that are asked for together; a retry asks only for those without an answer."""

    def __init__(self, provider: BatchConfigProvider, wanted: Mapping[str, Collection[str]]) -> None:
        self.found: dict[str, Outcome] = {}
        self._provider = provider
        self._open = wanted

    def ask(self) -> None:
        """
        Ask for the paths that are still open.

        :raises ProviderUnavailableError: some of them have no answer yet
        """
        answers = self._provider.get_batch(self._open)
        if not isinstance(answers, Mapping):
            raise ProviderLookupError(
                f"get_batch of {type(self._provider).__name__} returned {type(answers).__name__}. Return a mapping "
                f"from paths to ConfigData; correct the provider."
            )
        self.found.update({path: answers[path] for path in self._open if path in answers})
        down = {path: error for path, error in answers.items() if isinstance(error, ProviderUnavailableError)}
        self._open = {path: keys for path, keys in self._open.items() if path in down}
        for path in self._open:
            raise down[path]

    def give_up(self, name: str, error: BaseException) -> None:
        """Make ``error`` of the provider ``name`` the outcome of each path that has none."""
        for path in self._open:
            outcome = error if isinstance(error, Exception) else foreign_failure((name, path), error)
            self.found.setdefault(path, outcome)


def _checked(name: str, outcome: Outcome) -> Outcome:
    if isinstance(outcome, Exception):
        return _alone(outcome)
    try:
        return only_text(name, outcome)
    except Exception as error:  # noqa: BLE001 - the answer of a third party's provider can be anything
        return _alone(error)


def _alone(error: Exception) -> Exception:
    return error.alone() if isinstance(error, ConfigProvidersError) else error


def _allowed(answer: ConfigData) -> Mapping[str, str]:
    """Return the values that the provider does not refuse. One that returns and refuses a key refuses it."""
    if not answer.denials:
        return answer.data
    return {key: value for key, value in answer.data.items() if key not in answer.denials}


def _answers(outcomes: Mapping[Place, Outcome]) -> Answers:
    good = {place: outcome for place, outcome in outcomes.items() if isinstance(outcome, ConfigData)}
    return Answers(
        data={place: _allowed(answer) for place, answer in good.items()},
        ttls={place: answer.ttl for place, answer in good.items() if answer.ttl is not None and answer.ttl >= 0},
        failures={place: outcome for place, outcome in outcomes.items() if isinstance(outcome, Exception)},
        absences={place: answer.absence for place, answer in good.items() if answer.absence},
        denials={place: answer.denials for place, answer in good.items() if answer.denials},
    )


@dataclass(slots=True, repr=False, eq=False)
class _Outage:
    """
    How long one call has failed because the provider does not answer.

    :param since: when that began, by the clock
    :param failures: how often in a row it has failed since then
    :param busy: how often the provider has said when to ask again
    """

    since: float
    failures: int = 0
    busy: int = 0


class Retries:
    """
    Retries the calls of one fetch.

    A provider that says when to ask again is up, but busy. It can be asked until the time is over, however often.

    :param attempts: how often a call is made at most, except to a busy provider
    :param sleep: waits for a number of seconds
    :param clock: returns monotonic seconds
    :param until: time after which there are no more retries; infinity if only the attempts are limited
    :param waits_if_busy: a call to a busy provider is limited by ``until`` instead of ``attempts``
    """

    def __init__(
        self,
        attempts: int,
        *,
        sleep: Callable[[float], None],
        clock: Callable[[], float],
        until: float,
        waits_if_busy: bool,
    ) -> None:
        self._attempts = attempts
        self._sleep = sleep
        self._clock = clock
        self._until = until
        self._waits_if_busy = waits_if_busy and until < math.inf
        self._given_up: set[str] = set()

    def run(self, name: str, call: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """
        Return the result of ``call``, after several attempts if necessary.

        After a call for ``name`` has used up its attempts, other calls for it get one attempt each, unless the provider
        was only busy.

        :param name: name of the provider
        :raises ProviderUnavailableError: the provider could not answer, even at the last attempt
        """
        if self._attempts == 1:
            return call(*args, **kwargs)
        outage = _Outage(self._clock())
        try:
            return call(*args, **kwargs)
        except ProviderUnavailableError as error:
            first = [error]
        from tenacity import Retrying, retry_if_exception_type  # noqa: PLC0415 - a slow import that only retries need

        retry = retry_if_exception_type(ProviderUnavailableError)
        wait, stop = partial(self._wait, outage), partial(self._is_enough, name, outage)
        retrying = Retrying(retry=retry, stop=stop, wait=wait, sleep=self._sleep, reraise=True)
        answer: _T = retrying(_call, first, call, *args, **kwargs)
        return answer

    def _wait(self, outage: _Outage, state: RetryCallState) -> float:
        """Note a failed attempt in ``outage``, before ``_is_enough`` looks there; return the seconds to wait."""
        import random  # noqa: PLC0415 - slow to import, and most answers come at once

        asked = _retry_after(state)
        if asked is None:
            outage.failures += 1
            return _growing(outage.failures) * random.uniform(0.8, 1.2)  # noqa: S311 - spreads load and guards nothing
        outage.busy += 1
        if self._waits_if_busy:
            outage.since, outage.failures = self._clock(), 0
        else:
            outage.failures += 1
        pause = min(max(_FIRST_WAIT, asked), _LONGEST_WAIT)  # what is asked can be negative, or no number
        most = min(_growing(outage.busy), _LONGEST_SPREAD, max(0.0, self._until - self._clock() - pause))
        return pause + random.uniform(0, most)  # noqa: S311 - as above

    def _is_enough(self, name: str, outage: _Outage, state: RetryCallState) -> bool:
        """Decide after a failed attempt whether it was the last."""
        now, is_busy = self._clock(), _retry_after(state) is not None
        is_over = now - outage.since >= _SPAN and not is_busy
        is_too_late = now + state.upcoming_sleep > self._until
        is_last = outage.failures >= self._attempts or is_over or is_too_late
        if is_last and not (is_busy and self._waits_if_busy):
            self._given_up.add(name)
        return is_last or name in self._given_up


def _growing(count: int) -> float:
    """Return the seconds to wait after ``count`` failures."""
    return float(_FIRST_WAIT * _FACTOR ** min(count - 1, 9))


def _call(failed: list[ProviderUnavailableError], call: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Make ``call``; but first raise what it has ``failed`` with, which counts as an attempt."""
    if failed:
        raise failed.pop()
    return call(*args, **kwargs)


def _retry_after(state: RetryCallState) -> float | None:
    error = state.outcome.exception() if state.outcome is not None else None
    return error.retry_after if isinstance(error, ProviderUnavailableError) else None
