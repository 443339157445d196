"""The search of the leak matrix finds what it should, and says how it was written."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.leaks import show
from tests.leaks.canaries import CONF, SLOTS, SLOTS_OF_OURS, TWO_LINES, Column, new_canaries
from tests.leaks.declared import DECLARED, not_found, not_searched, undeclared
from tests.leaks.deployed.spellings import IN_PART, printed
from tests.leaks.matrix import Matrix
from tests.leaks.sinks import Sink
from tests.trust.show import Row

PAGE = Path(__file__).parents[2] / "docs/explanation/what-cannot-be-hidden.md"
CANARIES = new_canaries()
CANARY = next(canary for canary in CANARIES if canary.column == Column.OURS)
SPELLINGS = [name for name, _ in printed(CANARY.value)]


def found(text: str | bytes) -> set[tuple[str, str]]:
    """Return column and spelling of what is found in ``text``."""
    matrix = Matrix(CANARIES)
    matrix.look(Sink.TASK_LOG, "here", text)
    return {(leak.column, leak.spelling) for leak in matrix.found}


@pytest.mark.slow
@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("column", Column)
def test_each_spelling_is_found_and_named(column, spelling):
    canary = next(canary for canary in CANARIES if canary.column == column)

    assert (column, spelling) in found(f"before {dict(printed(canary.value))[spelling]} after")


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_each_spelling_is_found_in_a_log_of_json_lines(spelling):
    line = json.dumps({"event": f"x {dict(printed(CANARY.value))[spelling]}"})

    assert (Column.OURS, spelling) in found(f"{line}\n{line}")


@pytest.mark.parametrize("slot", CONF, ids=lambda slot: slot.name)
def test_a_value_is_found_inside_what_stands_around_it(slot):
    canary = next(canary for canary in CANARIES if canary.slot == slot)

    assert (canary.column, "raw") in found(slot.text.format(canary.value))


def test_each_line_of_a_secret_of_two_lines_is_found():
    canary = next(canary for canary in CANARIES if canary.slot == TWO_LINES)

    assert all(found(line) for line in canary.value.splitlines())


@pytest.mark.parametrize(
    "text",
    [CANARY.value[:-3], CANARY.value[3:], CANARY.value.replace("&", "{amp}")],
    ids=["its end cut off", "its beginning cut off", "an unknown escape"],
)
def test_what_is_cut_off_or_written_in_an_unknown_way_is_found_in_part(text):
    assert found(text) == {(Column.OURS, IN_PART)}


def test_a_whole_secret_is_not_found_in_part():
    assert found(CANARY.value) == {(Column.OURS, "raw")}


def test_what_is_packed_is_found():
    assert found(gzip.compress(CANARY.value.encode()))


def test_an_innocent_text_has_nothing():
    assert found("spark.app.db.password=${dir:/sealed:password} and " + "c0ffee" * 20) == set()


def test_a_leak_of_ours_is_undeclared_and_one_of_the_stock_operator_is_not():
    matrix = Matrix(CANARIES)
    for canary in CANARIES:
        matrix.look(Sink.RENDERED, "here", canary.value)

    leaks = undeclared(matrix)
    assert {leak.column for leak in leaks} == {Column.OURS, Column.UNEDITED}
    assert {leak.slot for leak in leaks} == set(SLOTS_OF_OURS)


def test_what_was_not_searched_and_what_was_declared_in_vain_is_told():
    matrix = Matrix(CANARIES)
    matrix.look(Sink.TASK_LOG, "here", "something")

    assert set(not_searched(matrix)) == set(Sink) - {Sink.TASK_LOG}
    assert len(not_found(matrix)) == sum(map(len, DECLARED.values()))


def test_no_secret_stands_in_what_is_shown(capsys):
    matrix = Matrix(CANARIES)
    for canary in CANARIES:
        matrix.look(Sink.RENDERED, "here", canary.value)

    rows = [Row("viewer", "read values", "the rendered fields", "references only", as_declared=True)]
    show.show(show.plain_console(), matrix, undeclared(matrix), rows)
    print(show.as_json(matrix, undeclared(matrix), rows))

    shown = capsys.readouterr().out
    assert "NOT DECLARED" in shown
    assert found(shown) == set()


def test_the_page_names_each_declared_cell_with_a_reason_and_a_way_out():
    rows = [line.strip("| ").split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| ")][2:]

    assert all(len(row) == 4 and all(row) for row in rows)
    assert {row[0]: row[1] for row in rows} == {str(sink): named(slots) for sink, slots in DECLARED.items()}


def named(slots):
    """Return what the page says about the slots of a sink."""
    others = [slot.name for slot in SLOTS_OF_OURS if slot not in slots]
    if len(others) > 1:
        return ", ".join(slot.name for slot in SLOTS if slot in slots)
    return f"all but {others[0]}" if others else "all"
