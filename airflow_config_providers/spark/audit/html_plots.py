"""Plots for a page of HTML. They are SVG, each with its numbers in a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import pairwise
from typing import Final

from airflow_config_providers.spark.audit.html_page import table, text

MOST_BARS: Final = 15
"""The most bars of a chart; a line below it counts the rest."""

_MOST_WEEKS: Final = 53
"""The most weeks of a chart over time: a year."""

_ROW: Final = 22
"""The height of a bar with its label."""

_LABEL, _BAR, _BAR_OF_WHOLE, _WIDTH = 190, 220, 160, 480
_LEFT, _RIGHT, _HEIGHT, _BASE, _TOP = 40, 20, 170, 140, 16
_WIDE: Final = 1000
"""The width of a chart over time."""


@dataclass(frozen=True, slots=True)
class Bar:
    """
    A number with its name.

    :param whole: the number of which ``count`` is a part; None if it is not a part
    """

    label: str
    count: int
    whole: int | None = None

    @property
    def most(self) -> int:
        """The length of the bar."""
        return self.count if self.whole is None else self.whole

    @property
    def shown(self) -> str:
        """The numbers for people."""
        return f"{self.count:,}" if self.whole is None else f"{self.count:,} of {self.whole:,} ({self.share})"

    @property
    def share(self) -> str:
        """The part in percent."""
        return percent(self.count, self.whole or 0)


@dataclass(frozen=True, slots=True)
class Plot:
    """
    What a plot is about.

    :param of: what is counted
    :param is_bad: whether less is better, which the colour shows
    """

    title: str
    of: str
    is_bad: bool = True


def percent(part: int, whole: int) -> str:
    """Return a share; a small one is not rounded to none, nor a large one to all."""
    if not whole or part in {0, whole}:
        return "100 %" if part else "0 %"
    return f"{min(99.9, max(0.1, 100 * part / whole)):.1f} %"


def ranking(plot: Plot, bars: Iterable[Bar], *, count: int = 0) -> str:
    """
    Return the longest bars, in their order, from left to right.

    :param bars: sorted
    :param count: how many there are in all, if that is more than ``bars``
    """
    found = list(bars)
    if not found:
        return ""
    shown, most = found[:MOST_BARS], max(1, *(bar.most for bar in found))
    rows = [_row(bar, place * _ROW, most, plot.is_bad) for place, bar in enumerate(shown)]
    return _figure(plot, _Drawing("".join(rows), _WIDTH, len(shown) * _ROW + 2), found, count)


def weekly(plot: Plot, bars: Iterable[Bar]) -> str:
    """
    Return a column for each week, also for weeks without anything, of the last year with anything.

    :param bars: their labels are the Mondays of the weeks, in ISO 8601
    """
    found = sorted(bars, key=lambda bar: bar.label)
    if not found:
        return ""
    weeks = _filled(found[-_MOST_WEEKS:])
    most = max(1, *(bar.most for bar in weeks))
    step = (_WIDE - _LEFT - _RIGHT) / max(len(weeks), 12)
    columns = [
        _column(bar, _LEFT + place * step, step=step, most=most, is_bad=plot.is_bad) for place, bar in enumerate(weeks)
    ]
    every = max(1, -(-len(weeks) // 10))
    names = [_name(bar, _LEFT + place * step + step / 2) for place, bar in enumerate(weeks) if place % every == 0]
    drawn = "".join((*_grid(most), *columns, *names))
    return _figure(plot, _Drawing(drawn, _WIDE, _HEIGHT), found[::-1], len(found))


def monday(day: str) -> str:
    """Return the Monday of the week of a day, both in ISO 8601."""
    found = date.fromisoformat(day[:10])
    return (found - timedelta(days=found.weekday())).isoformat()


@dataclass(frozen=True, slots=True)
class _Drawing:
    """Shapes, and the size that they need."""

    shapes: str
    width: int
    height: int


def _figure(plot: Plot, drawing: _Drawing, bars: Sequence[Bar], count: int) -> str:
    """Return a drawing of ``bars`` with what is read to those who cannot see it, and the numbers."""
    is_wide = drawing.width == _WIDE
    rest = max(count, len(bars)) - len(bars[:MOST_BARS])
    described = "; ".join(f"{bar.label}: {bar.shown}" for bar in bars[:MOST_BARS])
    described += f"; and {rest:,} more" if rest > 0 else ""
    numbers = _numbers(plot, bars, "week of" if is_wide else "name", count)
    more = f'<p class="more">and {rest:,} more</p>' if rest > 0 and not is_wide else ""
    return (
        f"<figure{' class=wide' if is_wide else ''}><figcaption>{text(plot.title)}</figcaption>"
        f'<svg viewBox="0 0 {drawing.width} {drawing.height}" role="img"><title>{text(plot.title)}</title>'
        f"<desc>{text(described)}</desc>{drawing.shapes}</svg>{more}"
        f"<details><summary>Numbers</summary>{numbers}</details></figure>"
    )


def _numbers(plot: Plot, bars: Sequence[Bar], name: str, count: int) -> str:
    if any(bar.whole is not None for bar in bars):
        rows = [(bar.label, bar.count, bar.whole, bar.share) for bar in bars]
        return table((name, plot.of, "of all", "share"), rows, count=count)
    return table((name, plot.of), [(bar.label, bar.count) for bar in bars], count=count)


def _row(bar: Bar, y: int, most: int, is_bad: bool) -> str:
    room = _BAR if bar.whole is None else _BAR_OF_WHOLE
    length, whole = (room * number / most for number in (bar.count, bar.most))
    parts = [f'<text x="0" y="{y + 15}">{text(_short(bar.label))}</text>']
    if bar.whole is not None:
        parts.append(_rect("whole", _LABEL, y + 4, max(1.0, whole), 14))
    if bar.count:
        parts.append(_rect(_colour(is_bad), _LABEL, y + 4, max(1.5, length), 14))
    number = f"{bar.count:,}" if bar.whole is None else f"{bar.count:,} ({bar.share})"
    parts.append(f'<text x="{_LABEL + 6 + whole:.1f}" y="{y + 15}">{number}</text>')
    return f"<g><title>{text(f'{bar.label}: {bar.shown}')}</title>{''.join(parts)}</g>"


def _column(bar: Bar, x: float, *, step: float, most: int, is_bad: bool) -> str:
    width, room = max(2.0, min(40.0, step * 0.7)), _BASE - _TOP
    left = x + (step - width) / 2
    parts = []
    for name, number in (("whole", bar.whole), (_colour(is_bad), bar.count)):
        if number:
            height = max(1.5, room * number / most)
            parts.append(_rect(name, left, _BASE - height, width, height))
    return f"<g><title>{text(f'Week of {bar.label}: {bar.shown}')}</title>{''.join(parts)}</g>"


def _grid(most: int) -> Iterable[str]:
    """Yield the line at the bottom and the one at the top, with their numbers."""
    for number, y in ((0, _BASE), (most, _TOP)):
        yield f'<line class="grid" x1="{_LEFT}" x2="{_WIDE}" y1="{y}" y2="{y}"/>'
        yield f'<text class="soft" x="{_LEFT - 6}" y="{y + 4}" text-anchor="end">{_compact(number)}</text>'


def _name(bar: Bar, x: float) -> str:
    return f'<text class="soft" x="{x:.1f}" y="{_BASE + 20}" text-anchor="middle">{text(bar.label)}</text>'


def _rect(name: str, x: float, y: float, width: float, height: float) -> str:
    return f'<rect class="{name}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="2"/>'


def _colour(is_bad: bool) -> str:
    return "bar" if is_bad else "plain"


def _filled(weeks: Sequence[Bar]) -> list[Bar]:
    """Return weeks with empty ones between them, unless they are more than a year: a record can have any date."""
    days = [date.fromisoformat(bar.label) for bar in weeks]
    if (days[-1] - days[0]).days > 7 * _MOST_WEEKS:
        return list(weeks)
    found = list(weeks[:1])
    for (before, bar), (day, following) in pairwise(zip(days, weeks, strict=True)):
        empty = range(1, (day - before).days // 7)
        none = replace(bar, count=0, whole=None if bar.whole is None else 0)
        found += [replace(none, label=(before + timedelta(weeks=number)).isoformat()) for number in empty]
        found.append(following)
    return found


def _compact(number: int) -> str:
    for size, name in ((1_000_000_000, "G"), (1_000_000, "M"), (10_000, "k")):
        if number >= size:
            return f"{number / min(size, 1_000 if name == 'k' else size):.3g}{name}"
    return str(number)


def _short(label: str) -> str:
    return label if len(label) <= 28 else f"{label[:12]}...{label[-13:]}"
