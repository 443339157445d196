"""Measures strings that are made to be slow to parse."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import omegaconf

from airflow_config_providers.core.variable import scan
from benchmarks.measure import Aim, Effort, Report, number
from benchmarks.ratios import Watched, cpu
from benchmarks.resolve import KAFKAS_PATTERN

HARMLESS = "`${a:b}` repeated"
TEXTS: dict[str, Callable[[int], str]] = {
    "`${a:` repeated": lambda size: ("${a:" * size)[:size],
    "`${`, then `a:` repeated": lambda size: "${" + ("a:" * size)[: size - 2],
    "`${` repeated": lambda size: ("${" * size)[:size],
    "`${a:`, then `}`, repeated": lambda size: (("${a:" * 99 + "}" * 99) * (size // 495 + 1))[:size],
    HARMLESS: lambda size: "${a:b}" * (size // 6),
}
LARGEST = 1024 * 1024
SIZES = [LARGEST // 16, LARGEST // 4, LARGEST]
SMALL_SIZES = [100, 200, 400]


def slope(sizes: list[int], times: list[float]) -> float:
    """Return the exponent with which ``times`` grow: the slope of the best line through their logarithms."""
    xs, ys = [math.log(size) for size in sizes], [math.log(time) for time in times]
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)) / sum((x - mean_x) ** 2 for x in xs)


def omega(text: str) -> None:
    try:
        omegaconf.OmegaConf.to_container(omegaconf.OmegaConf.create({"key": text}), resolve=True)
    except Exception:  # noqa: BLE001 - it refuses these texts; only the time matters
        return


def watched() -> Iterator[Watched]:
    text = TEXTS[HARMLESS](LARGEST // 4)
    ours, peer = cpu(partial(scan, text)), cpu(lambda: list(KAFKAS_PATTERN.finditer(text)))
    yield Watched("a string of 43,690 references, against `re`", ours, peer)


def run(effort: Effort) -> list[Report]:
    short = Effort(seconds=effort.seconds / 4, fewest=1)
    rows: list[list[str]] = []
    slopes, longest = [], 0.0
    for name, make in TEXTS.items():
        ours = [short.milliseconds(partial(scan, make(size))) for size in SIZES]
        kafka = [short.milliseconds(partial(KAFKAS_PATTERN.sub, "", make(size))) for size in SMALL_SIZES]
        other = short.milliseconds(partial(omega, make(SMALL_SIZES[-1])))
        if name != HARMLESS:
            longest = max(longest, ours[-1])
            slopes.append(slope(SIZES, ours))
        rows.append([name, *map(number, (ours[-1], slope(SIZES, ours), kafka[-1], slope(SMALL_SIZES, kafka), other))])
    return [
        Report(
            "Hostile strings",
            "Ours reads 1 MiB. Kafka's pattern, in Python's `re`, and OmegaConf read 400 characters, because 1 MiB "
            "would take them too long. The exponent shows how time grows with length: 1 is linear. The last string is "
            "harmless: it has 174,762 references.",
            ("string", "ours, 1 MiB, ms", "exponent", "pattern, 400 characters, ms", "exponent", "OmegaConf, 400, ms"),
            rows,
            [
                Aim("a hostile string of 1 MiB", 20, longest),
                Aim("growth of time with the length of a hostile string", 1.1, max(slopes), "exponent"),
            ],
        )
    ]
