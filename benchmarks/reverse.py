"""Finds 1,000 secrets in a log, in every encoding."""

from __future__ import annotations

import os
import random
import re
import shutil
import string
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import re2
from airflow.sdk._shared.secrets_masker import SecretsMasker

from airflow_config_providers.core.reversal.encodings import forms
from airflow_config_providers.core.reversal.reverse import ReverseTransformer, reverse_bytes
from airflow_config_providers.core.reversal.stream import reverse_chunks, reverse_lines
from airflow_config_providers.core.variable import ConfigVariable
from benchmarks import innocent
from benchmarks.hostile import slope
from benchmarks.measure import Aim, Effort, Report, Work, number
from benchmarks.ratios import Watched, cpu

Made = TypeVar("Made")
MB = 1_000_000
CHARACTERS = string.ascii_letters + string.digits + "-_/+=.:!@#$&"
OURS = "ours"


def secrets(count: int, random_: random.Random) -> list[str]:
    return ["".join(random_.choices(CHARACTERS, k=random_.randint(16, 40))) for _ in range(count)]


def log(size: int, random_: random.Random) -> list[str]:
    """Return lines like those of Spark's driver, with about 210 characters each."""
    found: list[str] = []
    while size > 0:
        task, host = random_.randint(0, 99_999), random_.randint(1, 99)
        found.append(
            f"26/11/20 12:{task % 60:02d}:{host % 60:02d} INFO TaskSetManager: Finished task {task}.0 in stage 12.0 "
            f"(TID {task}) in {random_.randint(1, 999)} ms on host-{host}.example.com (executor {host}) ({task}/9999), "
            f"block broadcast_{task}_piece0 of {random_.randint(1, 99_999)} B in memory"
        )
        size -= len(found[-1]) + 1
    return found


@dataclass(frozen=True)
class Peer:
    """
    A program that finds secrets.

    :param registered: the milliseconds that its preparation took
    :param line: processes a single line
    :param buffer: processes all lines at once
    :param share: the share of the text that it gets, so that it finishes
    """

    name: str
    registered: float
    line: Callable[[str], object]
    buffer: Callable[[bytes], object]
    share: float


def reverser(values: Sequence[str]) -> ReverseTransformer:
    found = ReverseTransformer({}, {ConfigVariable("vault", "apps", f"k{i:04}"): v for i, v in enumerate(values)})
    found.finder.find(b"")  # otherwise it is built for the first text
    return found


def masker(values: Sequence[str]) -> SecretsMasker:
    found = SecretsMasker()  # type: ignore[no-untyped-call]  # as Airflow has it
    found.min_length_to_mask = 5
    for value in values:
        found.add_mask(value)
    return found


def alternation(patterns: Sequence[bytes]) -> bytes:
    return b"|".join(re.escape(pattern) for pattern in sorted(patterns, key=len, reverse=True))


def re2_pattern(patterns: Sequence[bytes]) -> Any:  # re2 has no types
    options = re2.Options()
    options.max_mem = 1 << 30
    options.encoding = re2.Options.Encoding.LATIN1
    return re2.compile(alternation(patterns), options)


def made(make: Callable[[], Made]) -> tuple[Made, float]:
    """Return the result of ``make`` and its milliseconds; only one run, since some take half a minute."""
    start = time.perf_counter()
    return make(), (time.perf_counter() - start) * 1000


def peers(values: Sequence[str], patterns: Sequence[bytes], effort: Effort) -> Iterator[Peer]:
    ours = reverser(values)
    registered = effort.milliseconds(partial(reverser, values))
    yield Peer(OURS, registered, ours.reverse_text, lambda data: reverse_bytes(data, (ours,)), 1)
    known = values if effort.seconds else values[:100]
    airflow, registered = made(partial(masker, known))
    name = f"Airflow's masker, {len(known):,} patterns"
    yield Peer(name, registered, airflow.redact, lambda data: airflow.redact(data.decode()), 0.005)
    python, registered = made(lambda: re.compile(alternation(patterns)))
    name = "`re`, an alternation"
    yield Peer(name, registered, lambda line: python.sub(b"", line.encode()), partial(python.sub, b""), 0.0002)
    google, registered = made(partial(re2_pattern, patterns))
    name = "google-re2, an alternation"
    yield Peer(name, registered, lambda line: google.sub(b"", line.encode()), partial(google.sub, b""), 0.1)


def all_forms(values: Sequence[str]) -> list[bytes]:
    """Return the patterns of ``values``: each in all encodings."""
    return list(dict.fromkeys(form for value in values for form in forms(value)))


def each(work: Callable[[str], object], lines: Sequence[str]) -> None:
    for line in lines:
        work(line)


def rates(lines: Sequence[str], values: Sequence[str], effort: Effort) -> Report:
    patterns = all_forms(values)
    data = "\n".join(lines).encode()
    measured: dict[str, tuple[float, float, float]] = {}
    brief = Effort(seconds=effort.seconds, fewest=1)
    for peer in peers(values, patterns, effort):
        some = lines[: max(3, int(len(lines) * peer.share))]
        part = "\n".join(some).encode()
        by_line = mb_per_second(part, brief, partial(each, peer.line, some))
        measured[peer.name] = (peer.registered, by_line, mb_per_second(part, brief, partial(peer.buffer, part)))
    floors = {
        "floor: ripgrep -F, with its start": ripgrep(data, patterns, effort),
        "floor: bytes.count of one octet": mb_per_second(data, effort, lambda: data.count(b"\0")),
    }
    registered, by_line, whole = measured[OURS]
    found = effort.milliseconds(lambda: reverser(values).reverse_text(values[0])) - registered
    return Report(
        "Reverse a log",
        f"{len(values):,} secrets of 16 to 40 characters, which are {len(patterns):,} patterns in all encodings, and "
        f"{len(data) / MB:.0f} MB of a driver's log without any of them, as in most of a log. Slow peers read a part "
        "of it. Airflow's masker searches for the plain values only, so it finds less; it is called once for each "
        "line, as in Airflow. None of the peers finds a value that is split over lines. When ours finds its first "
        f"value, it builds a second automaton, which takes {max(found, 0):.0f} ms once.",
        ("", "register, ms", "line by line, MB/s", "ours is", "whole, MB/s", "ours is"),
        [
            *(row(name, *figures, ours=(by_line, whole)) for name, figures in measured.items()),
            *(row(name, None, None, rate, ours=(by_line, whole)) for name, rate in floors.items()),
        ],
        [
            Aim(f"register {len(values):,} secrets, {len(patterns):,} patterns", 200, registered),
            Aim("reverse a log line by line", 150, by_line, "MB/s", is_least=True),
            Aim("reverse a log in whole buffers", 350, whole, "MB/s", is_least=True),
        ],
    )


def row(name: str, ms: float | None, by_line: float | None, whole: float | None, *, ours: Sequence[float]) -> list[str]:
    def times(mine: float, other: float | None) -> str:
        return "" if other is None else f"{number(mine / other)} x"

    def shown(value: float | None) -> str:
        return "" if value is None else number(value)

    title = f"**{name}**" if name == OURS else name
    return [title, shown(ms), shown(by_line), times(ours[0], by_line), shown(whole), times(ours[1], whole)]


def mb_per_second(data: bytes, effort: Effort, work: Work) -> float:
    return len(data) / MB / effort.milliseconds(work) * 1000


def ripgrep(data: bytes, patterns: Sequence[bytes], effort: Effort) -> float | None:
    """Return the speed of ripgrep counting lines on one core; None without ripgrep. Much text hides its start."""
    if not shutil.which("rg"):
        print(" (without ripgrep, as there is no rg on the PATH)", end="", file=sys.stderr)
        return None
    with tempfile.TemporaryDirectory() as directory:
        text, words = Path(directory, "log"), Path(directory, "patterns")
        repeated = data * max(1, 200 * MB // len(data)) if effort.seconds else data
        text.write_bytes(repeated)
        words.write_bytes(b"\n".join(patterns))
        command = ["rg", "--threads=1", "--no-config", "--count", "--text", "-F", "-f", str(words), str(text)]
        brief = Effort(seconds=effort.seconds, fewest=1)
        return mb_per_second(repeated, brief, lambda: subprocess.run(command, capture_output=True, check=False))


def repeated(unit: bytes, size: int) -> bytes:
    return (unit * (size // len(unit) + 1))[:size]


def hostile(values: Sequence[str], effort: Effort) -> Report:
    """Measure texts that are made to be slow, by someone who knows the secrets."""
    runs = [*values, "a" * 5, "a" * 10, "ab" * 5, "a" * 300 + "b"]
    ours = reverser(runs)
    texts = {
        "`a` repeated; `aaaaa` and `aaaaaaaaaa` are secrets": b"a",
        "`ab` repeated": b"ab",
        "a secret without its end, repeated": values[0][:-1].encode(),
        "the first 7 characters of every secret": "".join(value[:7] for value in values).encode(),
        "secrets, and nothing else": "".join(values).encode(),
        "secrets broken over lines": "\n".join(f"{value[:9]}\n{value[9:]}" for value in values).encode(),
        "line ends": b"\n",
        "blanks": b" ",
    }
    largest = 1024 * 1024 if effort.seconds else 64 * 1024
    sizes = [largest // 16, largest // 4, largest]
    brief = Effort(seconds=effort.seconds / 4, fewest=1)
    rows, slopes = [], []
    for name, unit in texts.items():
        times = [brief.milliseconds(partial(reverse_bytes, repeated(unit, size), (ours,))) for size in sizes]
        slopes.append(slope(sizes, times))
        rows.append([name, number(times[-1]), number(largest / MB / times[-1] * 1000), number(slopes[-1])])
    return Report(
        "Reverse hostile logs",
        f"{largest / 1024 / 1024:.3g} MiB each, with {len(runs):,} secrets. The exponent shows how time grows with "
        "length: 1 is linear. If everything matches, the matches take most of the time.",
        ("log", "ms", "MB/s", "exponent"),
        rows,
        [Aim("growth of time with the length of hostile logs", 1.15, max(slopes), "exponent")],
    )


def stream(lines: Sequence[str], values: Sequence[str], effort: Effort) -> Report:
    """Process a gigabyte, and measure time and memory."""
    ours = reverser(values)
    secret = f"password={values[7]}\n"
    block = ("\n".join(lines[: 1024 * 1024 // 215]) + "\n" + secret).encode()
    texts = block.decode().splitlines(keepends=True)
    size = 1_000 * MB if effort.seconds else 20 * MB
    count = size // len(block)
    rows: list[list[str]] = []
    growths: list[float] = []
    for name, pieces in (
        ("blocks of 1 MB", reverse_chunks((block for _ in range(count)), (ours,))),
        (
            "line by line, as spark-submit's output",
            reverse_lines((t for _ in range(count // 4) for t in texts), (ours,)),
        ),
    ):
        length = len(block) * (count if name.startswith("blocks") else count // 4)
        start, before = time.perf_counter(), resident()
        most = shown = 0
        for number_, piece in enumerate(pieces):
            shown += "${vault:apps:k0007}" in piece if isinstance(piece, str) else b"${vault:apps:k0007}" in piece
            if number_ % 1000 == 0 or isinstance(piece, bytes):
                most = max(most, resident())
        seconds = time.perf_counter() - start
        growths.append(max(0, most - before) / MB)
        rows.append([name, number(length / MB), number(length / MB / seconds), number(growths[-1]), number(shown)])
    return Report(
        "Reverse a log that does not fit into memory",
        "Each megabyte contains a secret. Memory is how much the process grows at most.",
        ("", "MB", "MB/s", "memory, MB", "secrets found"),
        rows,
        [Aim("memory for a log of any length", 32, max(growths), "MB")],
    )


def alarms(effort: Effort) -> Report:
    """Search texts that contain no values."""
    kinds = innocent.values(1000, random.Random(7))
    ours = reverser(kinds)
    rows: list[list[str]] = []
    most = 0
    for what, text in (*innocent.texts(), *(innocent.logs() if effort.seconds else ())):
        data = text.encode()
        found = ours.finder.find(data)
        most += len(found)
        speed = mb_per_second(data, Effort(seconds=0, fewest=1), partial(reverse_bytes, data, (ours,)))
        rows.append([what, number(len(data) / MB), number(len(found)), number(speed)])
    return Report(
        "Search files that contain no value",
        "1,000 values: database URLs, hosts, class names, user names, short passwords, tokens, UUIDs, AWS keys, PEM "
        "and JSON documents. Most resemble something in these files, such as a class name or the beginning of a key, "
        "but none of the files contains one. Each match is a false alarm.",
        ("", "MB", "false alarms", "MB/s"),
        rows,
        [Aim("false alarms in files that contain no value", 0, most, "places")],
    )


def resident() -> int:
    """Return the bytes of memory that this process uses."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def watched() -> Iterator[Watched]:
    random_ = random.Random(5)
    values = secrets(1000, random_)
    lines = log(MB, random_)
    ours, patterns = reverser(values), all_forms(values)
    google = re2_pattern(patterns)
    yield Watched(
        "register 1,000 secrets, against google-re2",
        cpu(partial(reverser, values)),
        cpu(partial(re2_pattern, patterns)),
    )
    data, few = "\n".join(lines).encode(), lines[:1000]
    yield Watched(
        "reverse a log in whole buffers, against google-re2",
        cpu(lambda: reverse_bytes(data, (ours,))),
        cpu(lambda: google.sub(b"", data)),
        aim=1,
    )
    by_line = cpu(lambda: [google.sub(b"", line.encode()) for line in few])
    yield Watched(
        "reverse a log line by line, against google-re2",
        cpu(lambda: [ours.reverse_text(line) for line in few]),
        by_line,
    )
    blocks = [data + f"\npassword={values[7]}\n".encode()] * 4
    yield Watched(
        "reverse a stream in blocks of 1 MB, each with a secret, against google-re2",
        cpu(lambda: deque(reverse_chunks(iter(blocks), (ours,)), maxlen=0)),
        cpu(lambda: [google.sub(b"", block) for block in blocks]),
    )
    ended = [f"{line}\n" for line in few]
    yield Watched(
        "reverse a stream line by line, against google-re2",
        cpu(lambda: deque(reverse_lines(iter(ended), (ours,)), maxlen=0)),
        by_line,
    )


def run(effort: Effort) -> list[Report]:
    random_ = random.Random(5)
    values = secrets(1000, random_)
    lines = log((10 if effort.seconds else 1) * MB, random_)
    return [rates(lines, values, effort), hostile(values, effort), stream(lines, values, effort), alarms(effort)]
