"""Pages of HTML, with plots in SVG, that need no script, font or image from elsewhere."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import cache
from html import escape
from itertools import pairwise
from pkgutil import get_data
from typing import Final

from airflow_config_providers.core.text import one_line

MOST_ROWS: Final = 5_000
"""The most rows of a table; plots count all."""

_SHORT: Final = 24
"""The longest text of a cell that is not broken over lines, such as an id or the name of a DAG."""

_LONGEST_WORD: Final = 36
"""The most characters of a word that is not broken, such as a key of Spark's."""

_ROOM: Final = 22
"""The width of a cell whose word is broken, in zeros, such as a path."""

_LEAST: Final = 12
"""The least width of a cell with several lines, in zeros."""

_WIDTH_OF_ONE: Final = 0.9
"""The width of most characters, in zeros."""

_MOMENT: Final = re.compile(r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}")
_CODE: Final = re.compile(r"`([^`]*)`")


def page_of(title: str, *parts: str) -> str:
    """Return a page with a heading and parts, which are markup."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f'<meta name="viewport" content="width=device-width"><title>{text(title)}</title>'
        f"<style>\n{_style()}</style></head><body><main><h1>{text(title)}</h1>{''.join(parts)}</main>"
        f"<footer>Made by airflow-config-providers on {datetime.now(UTC):%Y-%m-%d, %H:%M} UTC.</footer></body></html>\n"
    )


@cache
def _style() -> str:
    return (get_data(__package__, "report.css") or b"").decode()


def verdict(sentence: str) -> str:
    """Return the result of an audit, to be read first."""
    return f'<p class="verdict">{text(_begun(sentence))}</p>'


def paragraph(sentence: str) -> str:
    """Return a paragraph."""
    return f"<p>{text(_begun(sentence))}</p>"


def section(title: str, *parts: str) -> str:
    """Return parts, which are markup, with a heading."""
    return f"<h2>{text(title)}</h2>{''.join(parts)}"


def table_section(
    title: str, heads: Sequence[str], rows: Sequence[Sequence[object]], *, most_room: float = math.inf
) -> str:
    """Return a table with a heading; nothing if it has no rows. For the parameters, see ``table``."""
    return section(title, table(heads, rows, most_room=most_room)) if rows else ""


def plots(figures: Iterable[str]) -> str:
    """Return figures side by side; nothing if all are empty."""
    shown = "".join(figures)
    return f'<div class="plots">{shown}</div>' if shown else ""


def table(
    heads: Sequence[str], rows: Sequence[Sequence[object]], *, count: int = 0, most_room: float = math.inf
) -> str:
    """
    Return a table. Numbers are to the right, lists are joined, and None is empty.

    :param count: how many rows there are in all, if that is more than ``rows``
    :param most_room: the most width that a cell keeps for a long word, in zeros; a table of many columns has little
    """
    shown = rows[:MOST_ROWS]
    is_number = [bool(shown) and all(isinstance(row[place], int) for row in shown) for place in range(len(heads))]
    head = "".join(
        f'<th scope="col"{_number(right)}>{text(name)}</th>' for name, right in zip(heads, is_number, strict=True)
    )
    body = "".join(f"<tr>{''.join(_cell(cell, most_room) for cell in row)}</tr>" for row in shown)
    head = f"<thead><tr>{head}</tr></thead>"
    more = _more(max(count, len(rows)) - len(shown))
    return f'<div class="scroll"><table>{head}<tbody>{body}</tbody></table></div>{more}'


@dataclass(frozen=True, slots=True)
class AuditScope:
    """
    What an audit was about, which its readers need to judge the result.

    :param rows: what was chosen, and how; what has no value is left out of the page
    :param notes: sentences about what was not read or not searched for
    :param unknown: a sentence about what the audit could not know; empty if there is nothing
    """

    rows: Sequence[tuple[str, object]] = ()
    notes: Sequence[str] = ()
    unknown: str = ""

    def first(self) -> str:
        """Return the paragraph that must be read before the result."""
        return paragraph(self.unknown) if self.unknown else ""

    def section(self, show: Callable[[str], str] = str) -> str:
        """
        Return the section; nothing if nothing is known.

        :param show: returns a string as people may see it
        """
        rows = [(name, _each(value, show)) for name, value in self.rows if value not in (None, "", [], ())]
        notes = [paragraph(show(note)) for note in self.notes]
        return section("What was audited", table(("what", "which"), rows), *notes) if rows or notes else ""


def _each(value: object, show: Callable[[str], str]) -> object:
    if isinstance(value, (list, tuple)):
        return [show(str(one)) for one in value]
    return show(value) if isinstance(value, str) else f"{value:,}"  # as a string, which is beside the others


NOT_KNOWN: Final = AuditScope()
"""The scope of an audit of which nothing is known."""


class Quoted(str):
    """A string that has code between backticks."""

    __slots__ = ()


def text(string: str) -> str:
    """Return ``string`` as text of a page: markup and control characters are escaped."""
    return escape(one_line(string))


def moment(at: str | None) -> str:
    """Return a moment in ISO 8601 and UTC for people, to the minute."""
    return (at or "")[:16].replace("T", " ")


def _begun(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _number(is_number: bool) -> str:
    return ' class="number"' if is_number else ""


def _cell(cell: object, most_room: float) -> str:
    if isinstance(cell, int):
        return f'<td class="number">{cell:,}</td>'
    shown = ", ".join(map(str, cell)) if isinstance(cell, (list, tuple)) else str("" if cell is None else cell)
    markup = text(shown)
    if isinstance(cell, Quoted):
        markup = _CODE.sub(r"<code>\1</code>", markup)
    is_list = isinstance(cell, (list, tuple)) and len(cell) > 1
    return f"<td{_shape(shown, is_long=is_list or len(shown) > _SHORT, most_room=most_room)}>{markup}</td>"


def _shape(shown: str, *, is_long: bool, most_room: float) -> str:
    """Return the attributes of a cell: a long one has room for its longest word, unless that is very long."""
    if is_long:
        longest = max(map(len, shown.split()), default=0)
        room = _ROOM if longest > _LONGEST_WORD else max(longest * _WIDTH_OF_ONE, _LEAST)
        return f' class="long" style="min-width:{min(room, most_room):g}ch"'
    return ' class="moment"' if _MOMENT.fullmatch(shown) else ""


def _more(count: int) -> str:
    return f"<p>and {count:,} more.</p>" if count > 0 else ""


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
