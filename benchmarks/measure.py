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
    How long to measure.

    :param seconds: for each piece of work, after one run that is not counted
    :param fewest: rounds at least, for work that is slow
    """

    seconds: float = 1.0
    fewest: int = 5

    def milliseconds(self, work: Work) -> float:
        """Give the median time of ``work`` in milliseconds."""
        work()
        times: list[float] = []
        end = time.perf_counter() + self.seconds
        while len(times) < self.fewest or time.perf_counter() < end:
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
        return statistics.median(times) * 1000

    def each(self, peers: dict[str, Work]) -> dict[str, float]:
        """Give the median milliseconds of each peer."""
        return {name: self.milliseconds(work) for name, work in peers.items()}


QUICK = Effort(seconds=0.0, fewest=1)


@dataclass(frozen=True)
class Aim:
    """
    A number that is promised, and what was measured.

    :param is_least: whether more is better
    """

    what: str
    limit: float
    measured: float
    unit: str = "ms"
    is_least: bool = False

    @property
    def is_met(self) -> bool:
        """Whether the promise is kept."""
        return self.measured >= self.limit if self.is_least else self.measured <= self.limit


@dataclass(frozen=True)
class Report:
    """One benchmark: what was done, what came out, and what was promised."""

    title: str
    text: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    aims: Sequence[Aim] = ()


def number(value: float) -> str:
    """Give ``value`` with three digits that count."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def compared(times: dict[str, float], ours: str) -> list[list[str]]:
    """Give a row for each peer: its time, and how many times ours that is."""
    return [
        [f"**{name}**" if name == ours else name, number(time), f"{number(time / times[ours])} x"]
        for name, time in times.items()
    ]
