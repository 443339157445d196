"""A page of HTML that needs nothing else: no script, no font and no image from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Final

from airflow_config_providers.core.text import one_line

MOST_ROWS: Final = 5_000
"""The most rows of a table; plots count all."""

_SHORT: Final = 24
"""The longest text of a cell that is not broken over lines, such as an id or the name of a DAG."""

_STYLE: Final = """
:root { color-scheme: light dark; --text: light-dark(#1c1e21, #e6e7e9); --back: light-dark(#fff, #17181a);
  --card: light-dark(#f6f7f9, #202226); --soft: light-dark(#59616b, #a3abb5); --line: light-dark(#d8dbe0, #3a3d42);
  --bar: light-dark(#b3261e, #f2796f); --plain: light-dark(#2f6fb5, #78b0ee); --whole: light-dark(#d3dae3, #3c434c) }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back); max-width: 75rem;
  margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.6rem; margin-bottom: .3rem } h2 { font-size: 1.2rem; margin-top: 2.2rem }
p.verdict { font-size: 1.25rem; margin: .2rem 0 1.2rem }
.more, footer { color: var(--soft) } .more { margin: .3rem 0; font-size: .9rem } footer { margin: 2rem 0 }
table { border-collapse: collapse; width: 100%; font-size: .9rem }
caption { text-align: left; color: var(--soft); padding-bottom: .3rem }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); white-space: nowrap;
  vertical-align: top; min-width: 3.6rem }
td.long { white-space: normal; overflow-wrap: anywhere; min-width: 10rem }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums }
.scroll { overflow-x: auto }
.plots { columns: 30rem 2; column-gap: 1rem }
figure { margin: 0 0 1rem; padding: .8rem 1rem; background: var(--card); border-radius: .5rem; break-inside: avoid }
figure.wide { column-span: all } figcaption { font-weight: 600; margin-bottom: .5rem }
svg { width: 100%; height: auto; display: block } svg text { fill: var(--text); font: 12px system-ui, sans-serif }
svg text.soft { fill: var(--soft) } svg .grid { stroke: var(--line) } svg .bar { fill: var(--bar) }
svg .plain { fill: var(--plain) } svg .whole { fill: var(--whole) }
details { margin-top: .5rem; font-size: .9rem } summary { cursor: pointer; color: var(--soft) }
@media print { body { max-width: none; margin: 0 } }
"""


def page_of(title: str, parts: Iterable[str]) -> str:
    """Return a page with a heading and parts, which are markup."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f'<meta name="viewport" content="width=device-width"><title>{text(title)}</title>'
        f"<style>{_STYLE}</style></head><body><main><h1>{text(title)}</h1>{''.join(parts)}</main>"
        f"<footer>Made by airflow-config-providers on {datetime.now(UTC):%Y-%m-%d, %H:%M} UTC.</footer></body></html>\n"
    )


def verdict(sentence: str) -> str:
    """Return the result of an audit, to be read first."""
    return f'<p class="verdict">{text(_begun(sentence))}</p>'


def paragraph(sentence: str) -> str:
    """Return a paragraph."""
    return f"<p>{text(_begun(sentence))}</p>"


def section(title: str, *parts: str) -> str:
    """Return parts, which are markup, with a heading."""
    return f"<h2>{text(title)}</h2>{''.join(parts)}"


def plots(figures: Iterable[str]) -> str:
    """Return figures side by side; nothing if all are empty."""
    shown = "".join(figures)
    return f'<div class="plots">{shown}</div>' if shown else ""


def table(heads: Sequence[str], rows: Sequence[Sequence[object]], *, caption: str = "", count: int = 0) -> str:
    """
    Return a table. Numbers are to the right, lists are joined, and None is empty.

    :param caption: what the table has, for those who cannot see where it is
    :param count: how many rows there are in all, if that is more than ``rows``
    """
    shown = rows[:MOST_ROWS]
    is_number = [bool(shown) and all(_is_number(row[place]) for row in shown) for place in range(len(heads))]
    head = "".join(
        f'<th scope="col"{_number(right)}>{text(name)}</th>' for name, right in zip(heads, is_number, strict=True)
    )
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in shown)
    named = f"<caption>{text(caption)}</caption>" if caption else ""
    head = f"<thead><tr>{head}</tr></thead>"
    more = _more(max(count, len(rows)) - len(shown))
    return f'<div class="scroll"><table>{named}{head}<tbody>{body}</tbody></table></div>{more}'


def text(string: str) -> str:
    """Return ``string`` as text of a page: markup and control characters are escaped."""
    return escape(one_line(string))


def moment(at: str | None) -> str:
    """Return a moment in ISO 8601 and UTC for people, to the minute."""
    return (at or "")[:16].replace("T", " ")


def _begun(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _is_number(cell: object) -> bool:
    return isinstance(cell, int)


def _number(is_number: bool) -> str:
    return ' class="number"' if is_number else ""


def _cell(cell: object) -> str:
    if isinstance(cell, int):
        return f'<td class="number">{cell:,}</td>'
    shown = ", ".join(map(str, cell)) if isinstance(cell, (list, tuple)) else str("" if cell is None else cell)
    long = ' class="long"' if len(shown) > _SHORT else ""
    return f"<td{long}>{text(shown)}</td>"


def _more(count: int) -> str:
    return f"<p>and {count:,} more.</p>" if count > 0 else ""
