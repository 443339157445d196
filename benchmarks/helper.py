"""What the process that outlives a killed task, and gives its login back to Vault, costs the task."""

from __future__ import annotations

import statistics
import time
from itertools import pairwise
from pathlib import Path

from airflow_config_providers.providers.vault.revocation import Helper, Server
from benchmarks.measure import Aim, Effort, Report, number

SERVER = Server("http://127.0.0.1:1", None, True, None, "")
BALLAST = 256 * 1024 * 1024
"""Bytes that a task process may well have; with more of it, a fork takes longer."""

TOKEN = "hvs." + "x" * 91
AGAIN = 100
SECONDS_TO_BEGIN = 0.05
"""Long enough for the shell to read its script, and to wait."""


def kibibytes(pid: int) -> dict[str, int]:
    """Return the memory of a process: all that it maps, its share of that, and what it alone has."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    sizes = {name.rstrip(":"): int(size) for name, size, *_ in map(str.split, lines)}
    return {"RSS": sizes["Rss"], "PSS": sizes["Pss"], "USS": sizes["Private_Clean"] + sizes["Private_Dirty"]}


def life() -> tuple[dict[str, float], dict[str, int]]:
    """Return the milliseconds that each part of one helper's life costs the task, and the helper's memory."""
    helper, times = Helper(lambda: SERVER), [time.perf_counter()]
    key = held(helper, "auth/token/revoke-self", {})
    times.append(time.perf_counter())
    time.sleep(SECONDS_TO_BEGIN)
    memory = kibibytes(helper.pid or 0)
    times.append(time.perf_counter())
    for _ in range(AGAIN):
        helper.drop(held(helper, "sys/leases/revoke", {"lease_id": "database/creds/app/" + "x" * 24}))
    times.append(time.perf_counter())
    helper.drop(key)
    helper.close()
    times.append(time.perf_counter())
    start, _, more, end = (1000 * (after - before) for before, after in pairwise(times))
    return {"start it": start, "hold a lease, and drop it": more / AGAIN, "end it": end}, memory


def held(helper: Helper, path: str, body: dict[str, str]) -> int:
    key = helper.hold(path, token=TOKEN, body=body)
    assert key is not None, "the helper is closed"
    return key


def run(effort: Effort) -> list[Report]:
    ballast = bytearray(BALLAST)
    ballast[::4096] = b"x" * len(ballast[::4096])
    lives = [life() for _ in range(50 if effort.seconds else 3)]
    times = {name: statistics.median(times[name] for times, _ in lives) for name in lives[0][0]}
    memory = {name: statistics.median(memory[name] for _, memory in lives) for name in lives[0][1]}
    return [
        Report(
            "Vault: the helper process",
            "What it costs a task with 256 MiB of memory that its login is revoked even if it is killed. RSS is all "
            "that the helper maps, PSS its share of it, and USS what it alone has. /bin/sh decides how much that is.",
            ("", "median"),
            [
                *([name, f"{number(time)} ms"] for name, time in times.items()),
                *([name, f"{number(size)} kB"] for name, size in memory.items()),
            ],
            [
                Aim("time of a task for the helper, without leases", 10, times["start it"] + times["end it"]),
                Aim("memory of the helper, even if it shares nothing", 5000, memory["RSS"], "kB"),
            ],
        )
    ]
