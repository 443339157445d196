"""How the benchmarks measure, and what they report."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Work = Callable[[], object]


@dataclass(frozen=True)
class Effort:
    """
    The time to spend on measurements.

    :param seconds: the seconds for each piece of work
    :param fewest: the fewest rounds, for slow work
    :param warms_up: whether one run before them is not measured
    """

    seconds: float = 1.0
    fewest: int = 5
    warms_up: bool = True

    def milliseconds(self, work: Work) -> float:
        """Return the median time of ``work`` in milliseconds."""
        if self.warms_up:
            work()
        times: list[float] = []
        end = time.perf_counter() + self.seconds
        while len(times) < self.fewest or time.perf_counter() < end:
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
        return statistics.median(times) * 1000

    def each(self, peers: dict[str, Work]) -> dict[str, float]:
        """Return the median time of each peer in milliseconds."""
        return {name: self.milliseconds(work) for name, work in peers.items()}


def pace() -> float:
    """Return how fast this machine is: the shortest CPU time of a million empty turns of a loop, in milliseconds."""
    return min(_loop() for _ in range(20))


def _loop() -> float:
    start = time.process_time()
    for _ in range(1_000_000):
        pass
    return (time.process_time() - start) * 1000


QUICK = Effort(seconds=0.0, fewest=1, warms_up=False)


@dataclass(frozen=True)
class Aim:
    """
    A promised limit, and what was measured.

    :param is_least: whether the limit is a minimum
    """

    what: str
    limit: float
    measured: float
    unit: str = "ms"
    is_least: bool = False

    @property
    def is_met(self) -> bool:
        """Whether the limit is met."""
        return self.measured >= self.limit if self.is_least else self.measured <= self.limit


@dataclass(frozen=True)
class Report:
    """A benchmark: what was done, the results, and the promised limits."""

    title: str
    text: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    aims: Sequence[Aim] = ()


def number(value: float) -> str:
    """Return ``value`` with three significant digits, or as an integer from 100 on."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def compared(times: dict[str, float], ours: str) -> list[list[str]]:
    """Return a row for each peer: its time, and that time divided by ours."""
    return [
        [f"**{name}**" if name == ours else name, number(time), f"{number(time / times[ours])} x"]
        for name, time in times.items()
    ]
