"""Searches logs for 1,000 secrets, in every encoding, on Spark with two cores."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.spark.audit.leaks.file_blocks import blocks, opened
from airflow_config_providers.spark.audit.leaks.file_listing import FileListing, grouped, splits_of
from airflow_config_providers.spark.audit.leaks.fingerprint import FingerprintKey
from airflow_config_providers.spark.audit.leaks.fingerprint_finder import FingerprintFinder
from airflow_config_providers.spark.audit.leaks.leak_audit import LeakAudit, Work, seldom_collected
from airflow_config_providers.spark.audit.leaks.leak_finder import KnownSecret, LeakFinder
from airflow_config_providers.spark.audit.leaks.leak_report import LeakReport
from airflow_config_providers.spark.audit.leaks.sought import OccurrenceFinder, Sought
from airflow_config_providers.spark.audit.session import audit_session
from benchmarks.measure import Aim, Effort, Report, number
from benchmarks.reverse import MB, all_forms, alternation, log, re2_pattern, secrets

OURS = "ours: `audit leaks`"
FLOOR = "floor: the same tasks, which only read and count lines"
ARROW = "floor: Spark reads lines, and counts them in Arrow batches"
ALONE = "ours, in one process without Spark, whole buffers"
KEY = FingerprintKey(bytes(32))
SECRETS = 1_000
BLOCK = 8 * MB
SAMPLE = 4 * MB
"""How much of the text slow peers get."""


def block(values: Sequence[str], random_: random.Random) -> bytes:
    """Return lines like those of Spark's driver, one of which has a secret in some encoding."""
    lines = log(BLOCK, random_)
    forms = all_forms(random_.sample(values, 1))
    lines[len(lines) // 2] += " value=" + random_.choice(forms).decode("utf-8", "replace")
    return "\n".join(lines).encode() + b"\n"


def write(path: Path, size: int, parts: Sequence[bytes]) -> None:
    with path.open("wb") as file:
        while file.tell() < size:
            file.write(parts[file.tell() // BLOCK % len(parts)])


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def known(values: Sequence[str]) -> list[KnownSecret]:
    return [KnownSecret(ConfigVariable("vault", "apps", f"k{place:04}"), value) for place, value in enumerate(values)]


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def rate(path: Path, work: Callable[[], Any]) -> float:
    """Return the megabytes of a file that ``work`` processes in a second."""
    return path.stat().st_size / MB / timed(work)[0]


def searched(audit: LeakAudit, path: Path) -> LeakReport:
    """Search a folder, listing included, as ``audit_leaks`` does."""
    report = LeakReport()
    with seldom_collected():
        for some in audit.run(Work.of(FileListing.of([str(path)]), {}, margin=0)):
            report.add_all(some, None)
    return report


def only_read(group: Iterable[Any]) -> int:
    lines = 0
    for split in group:
        with opened(split.file.path, split.file.size) as source:
            lines += sum(part.count(b"\n") for part in blocks(source, split.begin, split.end))
    return lines


def reading(session: Any, path: Path) -> int:
    files = FileListing.of([str(path)]).files
    groups = list(grouped(split for file in files for split in splits_of(file)))
    return sum(session.sparkContext.parallelize(groups, len(groups)).map(only_read).collect())


def in_arrow(session: Any, path: Path) -> int:
    import pyarrow as pa

    def count(batches: Iterable[Any]) -> Iterator[Any]:
        yield pa.RecordBatch.from_pydict({"lines": [sum(batch.num_rows for batch in batches)]})

    lines = session.read.text(str(path)).mapInArrow(count, "lines long")
    return sum(row.lines for row in lines.collect())


def by_pattern(session: Any, path: Path, make: Callable[[], Any]) -> int:
    """Count the lines that a pattern of Python finds, as a job that is written by hand does."""

    def count(lines: Iterable[str]) -> Iterator[int]:
        pattern = make()
        yield sum(pattern.search(line.encode()) is not None for line in lines)

    return sum(session.sparkContext.textFile(str(path), 2).mapPartitions(count).collect())


def ripgrep(path: Path, patterns: Sequence[bytes]) -> float | None:
    if not shutil.which("rg"):
        print(" (without ripgrep, as there is no rg on the PATH)", end="", file=sys.stderr)
        return None
    with folder() as words:
        (words / "patterns").write_bytes(b"\n".join(patterns))
        options = ["--threads=2", "--no-config", "--count", "--text", "-F", "-f", str(words / "patterns")]
        return rate(path, lambda: subprocess.run(["rg", *options, str(path)], capture_output=True, check=False))


def run(effort: Effort) -> list[Report]:
    random_ = random.Random(16)
    values = secrets(SECRETS, random_)
    patterns = all_forms(values)
    parts = [block(values, random_) for _ in range(4)]
    with (
        folder() as home,
        audit_session("local[2]") as session,
        closing(LeakAudit(session, Sought(known(values)))) as audit,
    ):
        session.sparkContext.setLogLevel("OFF")
        write(warm := home / "warm", BLOCK, parts)
        searched(audit, warm)  # builds the finders of the workers
        return [
            rates(session, audit, home, patterns, values, parts, effort),
            *by_rules(home, values),
            *([growth(audit, home, parts)] if effort.seconds else []),
        ]


def rates(  # noqa: PLR0913, PLR0917 - what run has made
    session: Any,
    audit: LeakAudit,
    home: Path,
    patterns: Sequence[bytes],
    values: Sequence[str],
    parts: Sequence[bytes],
    effort: Effort,
) -> Report:
    large, sample, short = (home / name for name in ("large", "sample", "short"))
    write(large, 1_000 * MB if effort.seconds else 64 * MB, parts)
    sample.write_bytes(parts[0][:SAMPLE])
    short.write_bytes(parts[0][: SAMPLE // 100])
    finder = LeakFinder(known(values))
    prints = FingerprintFinder(KEY.of_secrets(known(values)), KEY)
    for one in (finder, prints):
        list(one.find(parts[0]))
    lines, plain = session.read.text(str(sample)), "|".join(map(re.escape, values))
    speed = {
        OURS: rate(large, lambda: searched(audit, large)),
        FLOOR: rate(large, lambda: reading(session, large)),
        ARROW: rate(large, lambda: in_arrow(session, large)),
        "floor: ripgrep -F, two threads": ripgrep(large, patterns),
        "google-re2 in `mapPartitions`": rate(
            sample, lambda: by_pattern(session, sample, lambda: re2_pattern(patterns))
        ),
        "`re` in `mapPartitions`": rate(
            short, lambda: by_pattern(session, short, lambda: re.compile(alternation(patterns)))
        ),
        "Spark's `rlike`, plain values only": rate(sample, lambda: lines.where(lines.value.rlike(plain)).count()),
        ALONE: in_one_process(finder, parts),
        "ours, the same by fingerprints": in_one_process(prints, parts),
    }
    ours, arrow, alone = (speed[name] or 0.0 for name in (OURS, ARROW, ALONE))
    return Report(
        "Search logs for 1,000 secrets on Spark",
        f"{number(large.stat().st_size / MB)} MB of text on `local[2]`, with a secret every 8 MB. All but `rlike` "
        "search for every encoding. The slow peers get a few megabytes, or less, and their start is in their time. "
        "gitleaks and Kingfisher look for rules and not for given values, so they are not among these.",
        ("", "MB/s", "times ours"),
        [[name, number(found), number(found / ours)] for name, found in speed.items() if found],
        [
            Aim("search logs for 1,000 secrets on two cores", 150, ours, "MB/s", is_least=True),
            Aim("the same, against an Arrow pass that counts lines", 0.8, ours / arrow, "times", is_least=True),
            Aim("search whole buffers in one process", 500, alone, "MB/s", is_least=True),
        ],
    )


def in_one_process(finder: OccurrenceFinder, parts: Sequence[bytes]) -> float:
    """Return the megabytes that ``finder`` searches in a second: one buffer takes too short a time to be measured."""
    seconds = [timed(partial(all_in, finder, part))[0] for _ in range(5) for part in parts]
    return len(parts[0]) / MB / statistics.median(seconds)


def all_in(finder: OccurrenceFinder, part: bytes) -> None:
    deque(finder.find(part), maxlen=0)


def by_rules(home: Path, values: Sequence[str]) -> Iterator[Report]:
    """Yield what tools find that know rules and not values, if they are there."""
    tools = [tool for tool in (gitleaks, kingfisher) if program(tool.__name__)]
    if gitleaks not in tools:
        print(" (without gitleaks, as there is none on the PATH)", end="", file=sys.stderr)
    forms = all_forms(values[:50])
    path = home / "forms" / "log"
    path.parent.mkdir()
    lines = [f"INFO api_key={form.decode('utf-8', 'replace')} was read" for form in forms]
    path.write_text("\n".join(lines) + "\n")
    finder = LeakFinder(known(values[:50]))
    times = {"**ours**": timed(lambda: lines_with(finder, path.read_bytes()))}
    times |= {tool.__name__: timed(partial(tool, path)) for tool in tools}
    megabytes = path.stat().st_size / MB
    yield Report(
        "Find given values, and what looks like a secret",
        f"{len(forms)} lines, each with one of 50 values in some encoding, after `api_key=`. gitleaks and Kingfisher, "
        "with their own rules, do not know the values; they are for those that nobody knows, which ours does not find, "
        "except for tokens with a fixed prefix. Their start is in their time.",
        ("", "lines found", "MB/s"),
        [
            [name, f"{len(found)} of {len(forms)}", number(megabytes / seconds)]
            for name, (seconds, found) in times.items()
        ],
    )


def program(name: str) -> str | None:
    """Return the path of a program that is installed beside Python or on the PATH."""
    return shutil.which(name, path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")


def gitleaks(path: Path) -> set[int]:
    """Return the lines in which it finds something."""
    report = path.parent.with_suffix(".json")
    options = ["--no-banner", "--exit-code=0", "--report-format=json", f"--report-path={report}"]
    subprocess.run(["gitleaks", "dir", str(path.parent), *options], capture_output=True, check=True)
    return {found["StartLine"] for found in json.loads(report.read_text())}


def kingfisher(path: Path) -> set[int]:
    """Return the lines in which it finds something. It asks nobody whether a token is valid."""
    command = [
        program(kingfisher.__name__) or "",
        "scan",
        "--no-validate",
        "--no-update-check",
        "--no-dedup",
        "--confidence=low",
    ]
    options = ["--git-history=none", f"--rule-cache-dir={path.parent.parent / 'rules'}", "--format=jsonl"]
    done = subprocess.run([*command, *options, str(path.parent)], capture_output=True, check=False)
    if done.returncode not in {0, 200}:  # nothing found, and something
        raise RuntimeError(done.stderr.decode(errors="replace"))
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith(b'{"rule"')]
    return {row["finding"]["line"] for row in rows}


def lines_with(finder: LeakFinder, data: bytes) -> set[int]:
    return {data.count(b"\n", 0, one.start) for one in finder.find(data)}


def growth(audit: LeakAudit, home: Path, parts: Sequence[bytes]) -> Report:
    """Measure whether twice as much takes twice as long, in one file and in many."""
    rows = []
    for gigabytes in (1, 2, 5, 10):
        write(path := home / "growing", gigabytes * 1_000 * MB, parts)
        rows.append(row(f"one file of {gigabytes} GB", gigabytes, *timed(partial(searched, audit, path))))
        path.unlink()
    many = home / "many"
    for place in range(1_000_000):
        path = many / f"{place // 1000:03}" / f"{place % 1000:03}"
        if place % 1000 == 0:
            path.parent.mkdir(parents=True)
        path.write_bytes(parts[0][place % 7_000 * 1000 :][:1000])
    rows.append(row("a million files of 1 KB, listing included", 1, *timed(lambda: searched(audit, many))))
    if shutil.which("rg"):
        command = ["rg", "--threads=2", "--no-config", "--count", "--text", "-F", "no such text", str(many)]
        seconds, _ = timed(lambda: subprocess.run(command, capture_output=True, check=False))
        rows.append(["floor: ripgrep opens these million files", number(seconds), number(1000 / seconds), "", ""])
    return Report(
        "Search more and more",
        "The same text in larger files, and 1 GB in a million files. Memory is the most that one of Spark's Python "
        "workers has had since its start.",
        ("", "seconds", "MB/s", "leaks", "memory, MB"),
        rows,
    )


def row(name: str, gigabytes: int, seconds: float, report: LeakReport) -> list[str]:
    return [name, number(seconds), number(gigabytes * 1000 / seconds), str(len(report.leaks)), number(most_memory())]


def most_memory() -> float:
    """Return the megabytes of the Python worker, below this process, that has had most."""
    below = psutil.Process().children(recursive=True)
    workers = [each for each in below if each.status() != psutil.STATUS_ZOMBIE and "pyspark.daemon" in each.cmdline()]
    return max(peak(process.pid) for process in workers)


def peak(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) / 1000
