"""The ratios between ours and a peer that must not grow, and the file that keeps them."""

from __future__ import annotations

import gc
import json
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import Work, number

FILE = Path(__file__).parent / "ratios.json"
LIMIT = 1.3
RUNS = 4
"""How often a ratio is measured that is worse: what else a machine does can slow down one of two for minutes."""

Cost = Callable[[], float]
"""Does something once, and returns the CPU time that it took in milliseconds."""
Ratios = Mapping[str, float]
"""What is compared -> the CPU time of ours, divided by the peer's."""


def cpu(work: Work, *, times: int = 1) -> Cost:
    """Return the cost of ``work``: an average of ``times``, if once is too short to measure."""

    def cost() -> float:
        gc.collect()  # what the other left behind is not ours
        start = time.process_time()
        for _ in range(times):
            work()
        return (time.process_time() - start) * 1000 / times

    return cost


@dataclass(frozen=True)
class Watched:
    """
    Our work beside a peer's.

    Both are measured in CPU time, because the machine has other work, too. For moments that work also makes the
    processor slower. Therefore the two take turns, and each time of ours is divided by the peer's next to it.

    :param what: what is compared, and with whom
    :param aim: the ratio that it should have at most; None if there is only the one that it has now
    :param seconds: the seconds to spend on it
    :param fewest: the fewest turns, for slow work
    """

    what: str
    ours: Cost
    peer: Cost
    aim: float | None = None
    seconds: float = 2.0
    fewest: int = 7

    def ratio(self) -> float:
        """Return the median of the ratios of all turns, after one that is not measured."""
        self.ours(), self.peer()
        gc.freeze()  # otherwise each collection looks at all modules
        found: list[float] = []
        end = time.perf_counter() + self.seconds
        while len(found) < self.fewest or time.perf_counter() < end:
            found.append(self.ours() / self.peer())
        gc.unfreeze()
        return statistics.median(found)


def kept(file: Path = FILE) -> dict[str, Ratios]:
    """Return benchmark -> the ratios that ``file`` keeps."""
    found: dict[str, Ratios] = json.loads(file.read_text())
    return found


def keep(ratios: Mapping[str, Ratios], file: Path = FILE) -> None:
    """Replace the ratios of these benchmarks in ``file``; those of the other benchmarks stay."""
    rounded = {name: {what: float(f"{ratio:.3g}") for what, ratio in those.items()} for name, those in ratios.items()}
    file.write_text(json.dumps(dict(sorted((kept(file) | rounded).items())), indent=2) + "\n")


def worse(measured: Ratios, kept: Ratios) -> dict[str, float]:
    """Return what got worse by the limit or more -> how many times worse it is."""
    return {what: by for what, by in _times_kept(measured, kept).items() if by >= LIMIT}


def better(measured: Ratios, kept: Ratios) -> list[str]:
    """Return a sentence for each ratio that is so much better that the file should know."""
    return [
        f"{what}: {1 / by:.2f} times better than the ratio in {FILE.name}, which can be renewed."
        for what, by in _times_kept(measured, kept).items()
        if by <= 1 / LIMIT
    ]


def least(first: Ratios, second: Ratios) -> dict[str, float]:
    """Return the better ratios of two runs; the second one can lack some."""
    return {what: min(ratio, second.get(what, ratio)) for what, ratio in first.items()}


def problems(best: Ratios, kept: Ratios) -> list[str]:
    """
    Return a sentence for each ratio that got worse, and for each that is only measured or only kept.

    :param best: the best ratios of all runs: one that is good in any of them is good
    """
    grown = [
        f"{what}: {number(best[what])} times the peer's CPU time, {by:.2f} times worse than the "
        f"{number(kept[what])} in {FILE.name}, in {RUNS} runs."
        for what, by in worse(best, kept).items()
    ]
    new = [f"{what}: measured, but not in {FILE.name}." for what in best if what not in kept]
    gone = [f"{what}: in {FILE.name}, but no longer measured." for what in kept if what not in best]
    return [*grown, *new, *gone]


def _times_kept(measured: Ratios, kept: Ratios) -> dict[str, float]:
    return {what: ratio / kept[what] for what, ratio in measured.items() if what in kept}
