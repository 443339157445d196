"""Rows on standard output, as table, JSON, YAML or plain text."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.core.sensitive import HIDDEN
from airflow_config_providers.core.templates import ONLY_A_RUN_KNOWS
from airflow_config_providers.core.text import one_line
from airflow_config_providers.deployment.rows import DETAILS, KEY_COLUMNS, NOT_READ_HERE, Row, as_json

if TYPE_CHECKING:
    from rich.console import Console

_GOOD: Final = "green"
_NOTABLE: Final = "yellow"
_BAD: Final = "red"
_FAINT: Final = "dim"

_COLOURS: Final[Mapping[str, Mapping[str, str]]] = {
    "change": {
        "added": _GOOD,
        "removed": _BAD,
        **dict.fromkeys(("changed", "other secret", ONLY_A_RUN_KNOWS, NOT_READ_HERE), _NOTABLE),
    },
    "verdict": {
        **dict.fromkeys(("allows", "applies", "loads"), _GOOD),
        **dict.fromkeys(("beaten", "filtered", "other spelling", "warns", ONLY_A_RUN_KNOWS), _NOTABLE),
        **dict.fromkeys(("denies", "not allowed", "not read", "typo"), _BAD),
        **dict.fromkeys(("not asked", "not set"), _FAINT),
    },
    "is_newest": {"true": _GOOD, "false": _NOTABLE},
}
"""Column -> string of a cell -> its colour."""

_PENDING: Final = "pending, "


def colour(column: str, text: str) -> str:
    """Return the colour of a cell, as rich names it; empty for the usual one."""
    if text == HIDDEN:
        return _FAINT
    if column == "applied" and text.startswith(_PENDING):
        return _NOTABLE
    return _COLOURS.get(column, {}).get(text, "")


_PROPERTIES: Final = frozenset({"type", "sensitive", "read_only"})
"""The columns that terminals leave out if no row has the property, so that there is room for names and values."""


_NARROWEST: Final = 6
"""The least width of a column, with the line beside it. In less, a table has no room for its cells, or shows none."""


def show(rows: Sequence[Row], output: str, *, nothing: str = "No data found") -> None:
    """
    Print ``rows``, which have the same columns. Nothing in them is markup, and nothing is cut.

    JSON and YAML keep numbers, booleans and null as they are; Airflow's own printer turns them into strings.

    :param nothing: what to print for people if there are no rows
    """
    if is_for_people(output) and not rows:
        _write(nothing)
    else:
        _PRINTERS[output](rows)


def show_document(document: Row, output: str) -> None:
    """Print a document for programs, as JSON or YAML."""
    (_json if output == "json" else _yaml)(document)


def show_columns(rows: Sequence[Row], output: str, *, synonyms: bool = False, nothing: str = "") -> None:
    """Print all of ``rows`` of a description for programs, and for people the columns that fit on a screen."""
    show(_for_people(rows, synonyms=synonyms) if is_for_people(output) else rows, output, nothing=nothing)


def _for_people(rows: Sequence[Row], *, synonyms: bool) -> list[Row]:
    """Return rows with the columns that fit on a screen, or one row for each synonym."""
    if synonyms:
        return [synonym for row in rows for synonym in row["synonyms"]]
    marked = map(_with_chosen_files, rows)
    shown = [{name: value for name, value in row.items() if name not in (*DETAILS, *KEY_COLUMNS)} for row in marked]
    return [_with_applied(row) if "applied" in row else row for row in shown]


def _with_chosen_files(row: Row) -> Row:
    """Return a row whose value names the files that only a run chooses and that can override it."""
    files = row.get("or_from")  # which neither a record has, nor a server of an older version
    return {**row, "value": f"{row['value']} (or from {', '.join(files)})"} if files else row


def _with_applied(row: Row) -> Row:
    """Return a row whose column ``applied`` says whether the key waits for the next submit."""
    had = "not set" if row["applied"] is None else row["applied"]
    others = {name: value for name, value in row.items() if name != "pending"}
    return {**others, "applied": f"{_PENDING}is {had}"} if row["pending"] else others


def is_for_people(output: str) -> bool:
    """Return whether ``output`` is a format for people, who want few columns, and not for programs."""
    return output in {"table", "plain"}


def _json(rows: Sequence[Row] | Row) -> None:
    _write(_as_text(lambda ascii_only: json.dumps(_plain_values(rows), ensure_ascii=ascii_only, indent=2)))


def _yaml(rows: Sequence[Row] | Row) -> None:
    import yaml  # noqa: PLC0415 - few ask for it

    def dumped(ascii_only: bool) -> str:
        text = yaml.safe_dump(_plain_values(rows), allow_unicode=not ascii_only, sort_keys=False, width=sys.maxsize)
        return str(text).rstrip("\n")

    _write(_as_text(dumped))


def _as_text(dumped: Callable[[bool], str]) -> str:
    """
    Return a document, with escapes if it has characters that would steer a terminal or that the output cannot encode.

    :param dumped: returns the document, in ASCII only or not
    """
    text = dumped(False)
    return text if text.replace("\n", "").isprintable() and _is_encodable(text) else dumped(True)


def _is_encodable(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _plain_values(rows: Sequence[Row] | Row) -> Any:
    return json.loads(as_json(rows))


def _table(rows: Sequence[Row]) -> None:
    columns = {column: [_text(row[column]) for row in rows] for column in rows[0]}
    (_folded if sys.stdout.isatty() else _unfolded)(columns)


def _folded(columns: Mapping[str, Sequence[str]]) -> None:
    from airflow.cli.simple_table import AirflowConsole, SimpleTable  # noqa: PLC0415 - heavy
    from rich.text import Text  # noqa: PLC0415 - as above

    console = AirflowConsole(markup=False, emoji=False, highlight=False, force_terminal=True)  # it respects NO_COLOR
    table = SimpleTable(show_header=True)  # type: ignore[no-untyped-call]  # Airflow has no types here
    shown = {column: texts for column, texts in columns.items() if _says_something(column, texts)}
    if console.width < _NARROWEST * len(shown):
        _stacked(shown)
        return
    for column, texts in shown.items():
        is_name = column == "key" and max(map(len, texts)) <= console.width // 2
        table.add_column(column, overflow="fold", no_wrap=is_name)
    for cells in zip(*shown.values(), strict=True):
        styled = zip(shown, cells, strict=True)
        table.add_row(*(Text(text, colour(column, text), overflow="fold") for column, text in styled))
    console.print(table)


def _stacked(columns: Mapping[str, Sequence[str]]) -> None:
    """Print each cell on a line of its own, and an empty line after each row."""
    for cells in zip(*columns.values(), strict=True):
        _write("\n".join(f"{column}: {text}".rstrip() for column, text in zip(columns, cells, strict=True)) + "\n")


def _unfolded(columns: Mapping[str, Sequence[str]]) -> None:
    """
    Print a table with each row on one line: grep does not find a value that is wrapped over two lines.

    It is that of rich, but nothing is padded at the end of a line: one long value would make each line as long.

    Rich takes many times as long, because it looks for places to wrap.
    """
    lines = [tuple(columns), *zip(*columns.values(), strict=True)]
    widths = _widths(lines)
    head, *drawn = (_aligned(line, widths, " | ") for line in lines)
    rule = "=+=".join("=" * width for width in (*widths[:-1], _width([*columns][-1])))
    _write("\n".join([head, rule, *drawn, ""]))


def _says_something(column: str, texts: Sequence[str]) -> bool:
    """Return whether a column is worth its width on a terminal; a property that no row has is not."""
    return column not in _PROPERTIES or any(text not in {"", "false"} for text in texts)


def _plain(rows: Sequence[Row]) -> None:
    lines = [tuple(rows[0]), *(tuple(map(_text, row.values())) for row in rows)]
    widths = _widths(lines)
    for line in lines:
        _write(_aligned(line, widths, "  "))


def _aligned(texts: Sequence[str], widths: Sequence[int], between: str) -> str:
    padded = (text + " " * (width - _width(text)) for text, width in zip(texts, widths, strict=True))
    return between.join(padded).rstrip()


def _widths(lines: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(_width, column)) for column in zip(*lines, strict=True)]


def _width(text: str) -> int:
    """Return how many columns of a terminal a text takes: a Chinese character takes two."""
    from rich.cells import cell_len  # noqa: PLC0415 - few commands print a table

    return cell_len(text)


def _write(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return "; ".join(map(_text, value))
    return str(value).lower() if isinstance(value, bool) else one_line(str(value))


_PRINTERS: Final[Mapping[str, Callable[[Sequence[Row]], None]]] = {
    "json": _json,
    "plain": _plain,
    "table": _table,
    "yaml": _yaml,
}


_PATIENCE: Final = 2.0
"""Seconds after which progress is shown."""


@contextmanager
def progress(
    total: int,
    of: str = "DAG files",
    *,
    console: Console | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Callable[[], None]]:
    """
    Yield a function that counts one. After two seconds, the number is shown, and removed at the end.

    :param of: what is counted
    :param console: where to show it, if that is a terminal; None for standard error
    """
    from rich.console import Console  # noqa: PLC0415 - only a command that runs needs these
    from rich.progress import MofNCompleteColumn, Progress, TextColumn  # noqa: PLC0415

    shown_on = console or Console(stderr=True)
    columns = (TextColumn(of), MofNCompleteColumn())
    bar = Progress(*columns, console=shown_on, transient=True, disable=not shown_on.is_terminal)
    task, start = bar.add_task("", total=total), clock()

    def tick() -> None:
        bar.advance(task)
        if clock() - start > _PATIENCE:
            bar.start()

    try:
        yield tick
    finally:
        bar.stop()
