"""What a thousand subscriptions cost, and how soon a change is told."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from watchfiles import watch

from airflow_config_providers.core.provider import ConfigData
from airflow_config_providers.providers import DirectoryConfigProvider
from benchmarks.measure import Aim, Effort, Report, number

SUBSCRIPTIONS = 1000
IDLE_SECONDS = 10
CASES = {
    "1,000 subscriptions to one directory": 1,
    "1,000 subscriptions to 1,000 directories": SUBSCRIPTIONS,
}
OURS = "ours: from the write to the callback"
FLOOR = "floor: watchfiles alone, looking every 50 ms"


def directories(root: Path, count: int) -> list[Path]:
    """Return ``count`` new directories with a secret each."""
    found = [root / str(place) for place in range(count)]
    for folder in found:
        folder.mkdir()
        (folder / "password").write_text("one")
    return found


@contextmanager
def provider(root: Path) -> Iterator[DirectoryConfigProvider]:
    """Yield a provider that may read everything below ``root``, and reads it again every hour."""
    found = DirectoryConfigProvider()
    found.configure({"allowed.paths": str(root), "poll.interval": "3600000"})
    yield found
    found.close()


def kilobytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4


def switches() -> int:
    """Return how often the threads of this process have gone to sleep."""
    lines = (line for task in Path("/proc/self/task").iterdir() for line in (task / "status").read_text().splitlines())
    return sum(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt_switches"))


def idle(count: int) -> dict[str, float]:
    """Return what ``SUBSCRIPTIONS`` to ``count`` directories cost while nothing changes; in a process of its own."""
    with tempfile.TemporaryDirectory() as name, provider(Path(name)) as subscribed:
        folders = directories(Path(name), count)
        threads, before = threading.active_count(), kilobytes()
        start = time.perf_counter()
        for place in range(SUBSCRIPTIONS):
            subscribed.subscribe(str(folders[place % count]), {"password"}, lambda path, data: None)
        subscribing = time.perf_counter() - start
        time.sleep(3)  # the watch starts, and looks once at what nobody watched
        sleeps, cpu = switches(), time.process_time()
        time.sleep(IDLE_SECONDS)
        return {
            "threads": threading.active_count() - threads,
            "megabytes": (kilobytes() - before) / 1024,
            "per hour": (switches() - sleeps) * 3600 / IDLE_SECONDS,
            "cpu": (time.process_time() - cpu) / IDLE_SECONDS * 100,
            "subscribing": subscribing * 1000,
        }


def in_a_process(count: int) -> dict[str, float]:
    done = subprocess.run([sys.executable, "-m", __name__, str(count)], capture_output=True, text=True, check=True)
    answer: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return answer


def delay(write: Callable[[], object], told: threading.Event) -> float:
    """Return the milliseconds from ``write`` until ``told`` is set."""
    told.clear()
    start = time.perf_counter()
    write()
    told.wait(60)
    return (time.perf_counter() - start) * 1000


def delay_of_ours(rounds: int) -> float:
    with tempfile.TemporaryDirectory() as name, provider(Path(name)) as subscribed:
        (folder,) = directories(Path(name), 1)
        told = threading.Event()

        def call(path: str, data: ConfigData) -> None:
            told.set()

        subscribed.subscribe(str(folder), {"password"}, call)
        time.sleep(3)
        return statistics.median(
            delay(partial((folder / "password").write_text, str(place)), told) for place in range(rounds)
        )


def delay_of_floor(rounds: int) -> float:
    with tempfile.TemporaryDirectory() as name:
        (folder,) = directories(Path(name), 1)
        told, end = threading.Event(), threading.Event()

        def look() -> None:
            for _ in watch(folder, stop_event=end, step=50, debounce=50, watch_filter=None):
                told.set()

        thread = threading.Thread(target=look)
        thread.start()
        time.sleep(1)
        found = statistics.median(
            delay(partial((folder / "password").write_text, str(place)), told) for place in range(rounds)
        )
        end.set()
        thread.join()
        return found


def run(effort: Effort) -> list[Report]:
    found = {case: in_a_process(count) for case, count in CASES.items()}
    rounds = max(3, effort.fewest)
    times = {OURS: delay_of_ours(rounds), FLOOR: delay_of_floor(rounds)}
    return [
        Report(
            "Subscriptions while nothing changes",
            f"Of the directory provider, for {IDLE_SECONDS} seconds, with a poll.interval of an hour. The threads wake "
            "every quarter of a second to look at what the system has noticed. A provider that is polled has one "
            "thread, which wakes once for each path in a poll.interval.",
            ("", "threads", "MB", "wake-ups an hour", "CPU, %", "subscribing, ms"),
            [
                [case, *(number(cost[name]) for name in ("threads", "megabytes", "per hour", "cpu", "subscribing"))]
                for case, cost in found.items()
            ],
            [Aim("threads of 1,000 subscriptions", 2, max(cost["threads"] for cost in found.values()), unit="")],
        ),
        Report(
            "From a change to its callback",
            "A file of a directory is written. Ours lets what writes it settle for a fifth of a second, reads the "
            "directory, and compares.",
            ("", "ms"),
            [[name, number(time)] for name, time in times.items()],
            [Aim("from the write of a file to the callback", 1000, times[OURS])],
        ),
    ]


if __name__ == "__main__":
    print(json.dumps(idle(int(sys.argv[1]))))
