"""Shows a matrix."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from tests.leaks.canaries import Column
from tests.leaks.matrix import Leak, Matrix
from tests.leaks.sinks import Sink
from tests.trust import show as trust
from tests.trust.show import Row

NARROWEST = 200


def table(matrix: Matrix, undeclared: Collection[Leak]) -> Table:
    """Return the matrix, with a line for each sink; a cell names the slots that leak, and in which forms."""
    table = Table(title="Where a secret was found", title_justify="left", box=SIMPLE_HEAD, show_lines=True)
    table.add_column("sink")
    table.add_column("searched", justify="right")
    columns = list(dict.fromkeys(canary.column for canary in matrix.canaries))
    for column in columns:
        table.add_column(column, overflow="fold")
    cells = _cells(matrix)
    bad = {(leak.sink, leak.column) for leak in undeclared}
    for sink in Sink:
        shown = [
            _cell(cells.get((sink, column), {}), _slots_of(matrix, column), is_bad=(sink, column) in bad)
            for column in columns
        ]
        table.add_row(sink, _size(matrix.searched[sink]), *shown)
    return table


def _slots_of(matrix: Matrix, column: Column) -> list[str]:
    return [canary.slot.name for canary in matrix.canaries if canary.column == column]


def _cells(matrix: Matrix) -> dict[tuple[Sink, Column], dict[str, list[str]]]:
    """Cell -> spelling -> slots."""
    cells: dict[tuple[Sink, Column], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for leak in matrix.found:
        cells[leak.sink, leak.column][leak.spelling].append(leak.slot.name)
    return cells


def _cell(spellings: Mapping[str, Sequence[str]], slots_there_are: Sequence[str], *, is_bad: bool) -> str:
    """Return the forms found, grouped by slots."""
    if not spellings:
        return "-"
    of_slot: dict[str, list[str]] = defaultdict(list)
    for spelling, slots in spellings.items():
        for slot in slots:
            of_slot[slot].append(spelling)
    together: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for slot, names in of_slot.items():
        together[tuple(_spellings(names))].append(slot)
    lines = [f"{_slots(slots, slots_there_are)}: {', '.join(names)}" for names, slots in together.items()]
    return "\n".join([*(["NOT DECLARED"] if is_bad else []), *lines])


def _spellings(names: Iterable[str]) -> list[str]:
    """Return each name once, with base64 at its three offsets as one."""
    return sorted({name.partition(" at ")[0] for name in names})


def _slots(slots: Sequence[str], there_are: Sequence[str]) -> str:
    others = [slot for slot in there_are if slot not in slots]
    if len(others) > 2:
        return ", ".join(sorted(slots))
    return f"everything but {', '.join(others)}" if others else "everything"


def _size(size: int) -> str:
    return f"{size / 1000:,.0f} kB" if size else "NOTHING"


def show(console: Console, matrix: Matrix, undeclared: Collection[Leak], rows: Sequence[Row]) -> None:
    """Print the matrix with what is wrong with it, and what came of the attempts in ``rows``."""
    console.print(table(matrix, undeclared))
    for (sink, slot), leaks in _grouped(undeclared).items():
        places = "; ".join(matrix.found[leaks[0]])
        spellings = ", ".join(_spellings(leak.spelling for leak in leaks))
        console.print(f"NOT DECLARED: {sink}, {slot}, as {spellings}: {places}", soft_wrap=True)
    for place in matrix.unread:
        console.print(f"Not opened, so nothing is proved about it: {place}", soft_wrap=True)
    console.print(trust.table(rows))


def _grouped(leaks: Iterable[Leak]) -> dict[tuple[Sink, str], list[Leak]]:
    grouped: dict[tuple[Sink, str], list[Leak]] = defaultdict(list)
    for leak in leaks:
        grouped[leak.sink, leak.slot.name].append(leak)
    return grouped


def plain_console(*, stderr: bool = False) -> Console:
    """Return a console that shows references and JSON unchanged."""
    console = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if console.is_terminal or console.width >= NARROWEST:
        return console
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, width=NARROWEST)


def as_json(matrix: Matrix, undeclared: Collection[Leak], rows: Sequence[Row]) -> str:
    """Return the matrix and the attempts as one JSON document, which holds no secret."""
    leaks = [
        {
            "sink": leak.sink,
            "column": leak.column,
            "slot": leak.slot.name,
            "spelling": leak.spelling,
            "is_declared": leak not in undeclared,
            "places": places,
        }
        for leak, places in matrix.found.items()
    ]
    document = {
        "ok": not undeclared and all(row.as_declared for row in rows),
        "searched": matrix.searched,
        "unread": matrix.unread,
        "leaks": leaks,
        "attempts": [asdict(row) for row in rows],
    }
    return json.dumps(document, indent=2)
