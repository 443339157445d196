"""The result of an audit as one HTML file, which needs nothing else: no script, no font and no image from elsewhere."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from datetime import date
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final

from airflow_config_providers.core.text import one_line, printable
from airflow_config_providers.exceptions import ConfigException

if TYPE_CHECKING:
    from airflow_config_providers.spark.audit.leak import Leak
    from airflow_config_providers.spark.audit.leak_audit import LeakReport

_MOST_ROWS: Final = 5_000
"""The most leaks in the table; the plots count all."""

_MOST_BARS: Final = 15

_DAG: Final = re.compile(r"(?:^|[/:])dag_id=([^/]+)")
"""The folder in which Airflow keeps the logs of a DAG, or the name of a row in its database."""

_STYLE: Final = """
:root { color-scheme: light dark; --text: light-dark(#1a1a1a, #e8e8e8); --back: light-dark(#fff, #17181a);
  --soft: light-dark(#667, #9aa); --line: light-dark(#d8dbe0, #3a3d42); --bar: light-dark(#b3261e, #f2796f) }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back); max-width: 70rem;
  margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.1rem; margin-top: 2rem } p.good { font-size: 1.2rem }
table { border-collapse: collapse; width: 100%; font-size: .9rem }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); overflow-wrap: anywhere;
  vertical-align: top }
td.number { text-align: right; font-variant-numeric: tabular-nums } .soft { color: var(--soft) }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: 1rem 2rem }
figure { margin: 0 } figcaption { font-weight: 600; margin-bottom: .3rem } svg { width: 100%; height: auto }
svg text { fill: var(--text); font: 12px system-ui, sans-serif } svg rect { fill: var(--bar) }
"""


def write_report(path: str, report: LeakReport) -> None:
    """
    Write the page.

    :raises ConfigException: the file cannot be written
    """
    try:
        Path(path).write_text(page(report), encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        problem = error.strerror or type(error).__name__
    else:
        return
    raise ConfigException(f"--report {printable(path)} cannot be written: {problem}. Name another file.")


def summary(report: LeakReport) -> str:
    """Return the result in one line."""
    accepted = f", and {report.accepted} that the baseline accepts" if report.accepted else ""
    rows = f" and {_counted(report.rows, 'row')} of Airflow's database" if report.rows else ""
    return (
        f"{_counted(report.files, 'file')}{rows} with {report.octets:,} bytes searched ({report.read:,} read now): "
        f"{_counted(len(report.leaks), 'leak')}{accepted}."
    )


def page(report: LeakReport) -> str:
    """Return the page, in which nothing that came from outside is markup."""
    leaks = report.leaks
    plots = (
        ("By week of the file", sorted(Counter(map(_week, leaks)).items())),
        ("By DAG", Counter(map(_dag, leaks)).most_common(_MOST_BARS)),
        ("By reference", Counter(leak.reference for leak in leaks).most_common(_MOST_BARS)),
        ("By encoding", Counter(leak.encoding for leak in leaks).most_common(_MOST_BARS)),
        ("By kind of file", Counter(map(_sink, leaks)).most_common(_MOST_BARS)),
    )
    verdict = "Nothing found." if report.is_complete else "Nothing found so far."
    parts = [
        "<h1>Leaks of known values</h1>",
        f"<p>{_text(summary(report))}</p>",
        "" if leaks else f'<p class="good">{verdict}</p>',
        f'<div class="plots">{"".join(_plot(*plot) for plot in plots)}</div>' if leaks else "",
        _unread(report),
        _table(leaks) if leaks else "",
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width"><title>Leaks of known values</title>'
        f"<style>{_STYLE}</style></head><body>{''.join(parts)}</body></html>\n"
    )


def _plot(title: str, bars: Sequence[tuple[str, int]]) -> str:
    """Return bars with their labels and numbers."""
    most, height = max(count for _, count in bars), 22
    rows = []
    for place, (label, count) in enumerate(bars[-_MOST_BARS:]):
        width, y = 200 * count / most, place * height
        rows.append(
            f'<text x="0" y="{y + 15}">{_text(_short(label))}</text>'
            f'<rect x="190" y="{y + 4}" width="{max(1.0, width):.1f}" height="14" rx="2"/>'
            f'<text x="{196 + width:.1f}" y="{y + 15}">{count}</text>'
        )
    described = "; ".join(f"{label}: {count}" for label, count in bars)
    return (
        f'<figure><figcaption>{_text(title)}</figcaption><svg viewBox="0 0 440 {len(rows) * height + 4}" role="img" '
        f'aria-label="{_text(described)}">{"".join(rows)}</svg></figure>'
    )


def _unread(report: LeakReport) -> str:
    rows = [
        *sorted(report.unread.items()),
        *((path, f"Skipped: {why}.") for path, why in sorted(report.skipped.items())),
    ]
    if not rows:
        return ""
    body = "".join(f"<tr><td>{_text(path)}</td><td>{_text(reason)}</td></tr>" for path, reason in rows[:_MOST_ROWS])
    return f"<h2>Not read, or not wholly</h2><table><tr><th>file</th><th>why</th></tr>{body}</table>{_more(len(rows))}"


def _table(leaks: Sequence[Leak]) -> str:
    heads = "".join(f"<th>{name}</th>" for name in ("file", "line", "offset", "reference", "encoding", "age", "id"))
    body = "".join(_row(leak) for leak in leaks[:_MOST_ROWS])
    return f"<h2>Leaks</h2><table><tr>{heads}</tr>{body}</table>{_more(len(leaks))}"


def _row(leak: Leak) -> str:
    numbers = "".join(f'<td class="number">{number}</td>' for number in (leak.line, leak.offset))
    texts = "".join(f"<td>{_text(text)}</td>" for text in (leak.reference, leak.encoding, leak.age))
    return f'<tr><td>{_text(leak.file)}</td>{numbers}{texts}<td class="soft">{leak.id}</td></tr>'


def _more(count: int) -> str:
    return f"<p>and {count - _MOST_ROWS:,} more.</p>" if count > _MOST_ROWS else ""


def _week(leak: Leak) -> str:
    year, week, _ = date.fromisoformat(leak.modified[:10]).isocalendar()
    return f"{year}, week {week:02}"


def _dag(leak: Leak) -> str:
    found = _DAG.search(leak.file)
    return found[1] if found else "(no DAG in the path)"


def _sink(leak: Leak) -> str:
    if leak.file.startswith("database:"):
        return leak.file.split(":")[1]
    suffixes = Path(leak.file).suffixes[-2:]
    return "".join(suffixes) or "(no extension)"


def _short(text: str) -> str:
    return text if len(text) <= 28 else f"{text[:12]}...{text[-13:]}"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}" if count else f"no {noun}s"


def _text(text: str) -> str:
    return escape(one_line(text))
