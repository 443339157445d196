"""Changes of a source that leave everything else as it is."""

from __future__ import annotations

import ast
import shutil
import subprocess
from collections.abc import Collection
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airflow_config_providers.adoption.edits import (
    Edit,
    FileChange,
    Positions,
    blocks,
    edited,
    patch,
    split_lines,
    without_overlaps,
)

TEXTS = st.text("ab\"'\\ é\u2028#{}", max_size=4)
LAYOUTS = st.sampled_from([", ", ",\n    ", ",  # why\n    ", ",\r\n"])


def without(source: str, *keys: str) -> str:
    (mapping,) = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Dict))
    found = [one for one in mapping.keys if isinstance(one, ast.Constant) and one.value in keys]
    return edited(source, [Positions(source).removing(one, mapping) for one in found])


@pytest.mark.parametrize(
    ("source", "keys", "expected"),
    [
        pytest.param('x = {"a": 1, "b": 2}\n', "a", 'x = {"b": 2}\n', id="first"),
        pytest.param('x = {"a": 1, "b": 2}\n', "b", 'x = {"a": 1,}\n', id="last"),
        pytest.param('x = {"a": 1, "b": 2}\n', "ab", "x = {}\n", id="all"),
        pytest.param('x = {"a": 1, "b": 2, "c": 3}\n', "ac", 'x = {"b": 2,}\n', id="around"),
        pytest.param('x = {\n    "a": 1,  # why\n    "b": 2,\n}\n', "a", 'x = {\n    "b": 2,\n}\n', id="own-line"),
        pytest.param('x = {\n    # of b\n    "b": 2\n}\n', "b", "x = {\n    # of b\n}\n", id="comment-above-stays"),
        pytest.param('x = {\n    "a": 1, "b": 2,\n}\n', "a", 'x = {\n    "b": 2,\n}\n', id="shared-line"),
        pytest.param('x = {\n    "é": "é", "b": 2,\n}\n', "b", 'x = {\n    "é": "é",\n}\n', id="beyond-ascii"),
        pytest.param('x = {\r\n    "a": 1,\r\n}\r\n', "a", "x = {\r\n}\r\n", id="line-ends-of-windows"),
        pytest.param('x = {"a": ("1"), "b": 2}\n', "a", 'x = {"b": 2}\n', id="in-parentheses"),
        pytest.param('x = {"b": 2, "a": (("1") )}\n', "a", 'x = {"b": 2,}\n', id="last-in-parentheses"),
        pytest.param('x = {("a"): 1, "b": 2}\n', "a", 'x = {"b": 2}\n', id="key-in-parentheses"),
        pytest.param('x = {"b": ("2"),\n  (  # (why)\n  "a"): 1}\n', "a", 'x = {"b": ("2"),\n}\n', id="key-in-lines"),
        pytest.param(
            'x = {\n    "a": (\n        "1"\n        "2"  # why (not)\n    ),\n    "b": 2,  # (c)\n}\n',
            "a",
            'x = {\n    "b": 2,  # (c)\n}\n',
            id="several-lines-in-parentheses",
        ),
    ],
)
def test_an_entry_is_removed(source: str, keys: str, expected: str):
    assert without(source, *keys) == expected


@given(st.dictionaries(TEXTS, TEXTS, min_size=1, max_size=5), st.data(), LAYOUTS)
def test_what_remains_evaluates_to_the_other_entries(entries: dict[str, str], data: st.DataObject, layout: str):
    keys = data.draw(st.sets(st.sampled_from(sorted(entries))))
    source = "x = {" + layout.join(f"{key!r}: {value!r}" for key, value in entries.items()) + "}\n"

    done = without(source, *keys)

    assert ast.literal_eval(done.removeprefix("x = ")) == {k: v for k, v in entries.items() if k not in keys}


@given(st.lists(st.sampled_from(["a", "b", "\n", "\r\n"]), max_size=30).map("".join), st.data())
def test_blocks_say_what_the_edits_do(source: str, data: st.DataObject):
    places = st.integers(0, len(source))
    spans = data.draw(st.lists(st.tuples(places, places, st.sampled_from(["", "x", "y\nz"])), max_size=4))
    edits = without_overlaps([Edit(min(a, b), max(a, b), text) for a, b, text in spans])

    lines = split_lines(source)
    for block in reversed(blocks(source, edits)):
        lines[block.first : block.end] = block.lines

    assert "".join(lines) == edited(source, edits)


def test_no_edit_changes_nothing():
    assert edited("a\r\nb", []) == "a\r\nb"


CANARY = "c4nary-of-a-patch"
PROGRAMS = {
    "git": ["git", "apply", "--unidiff-zero", "-"],
    "patch": ["patch", "-p1", "--quiet", "--fuzz=0"],
}


def change(source: str, edits: list[Edit], hidden: Collection[int] = ()) -> FileChange:
    return FileChange("dags/a.py", source, blocks(source, without_overlaps(edits)), hidden)


def line_edit(source: str, line: int, text: str) -> Edit:
    positions = Positions(source)
    start = positions.line_start(line)
    return Edit(start, start + len(source.split("\n")[line - 1]), text)


def applied(folder: Path, source: str, text: str, program: str) -> str:
    if shutil.which(PROGRAMS[program][0]) is None:
        pytest.skip(f"needs {program}")
    (folder / "dags").mkdir(exist_ok=True)
    (folder / "dags" / "a.py").write_bytes(source.encode())
    subprocess.run(PROGRAMS[program], cwd=folder, input=text.encode(), check=True)
    return (folder / "dags" / "a.py").read_bytes().decode()


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param("two words.py", id="space"),
        pytest.param("a\tb.py", id="tab"),
        pytest.param("a\n+++ b/c.py", id="line-end"),
        pytest.param("\x1b[31m é.py", id="terminal-code"),
        pytest.param('a"b\\c.py', id="quote"),
        pytest.param("é;$(x) '.py", id="shell"),
        pytest.param("a\udcff.py", id="not-utf-8"),
    ],
)
def test_a_file_with_an_odd_name_is_found(tmp_path: Path, program: str, name: str):
    if shutil.which(PROGRAMS[program][0]) is None:
        pytest.skip(f"needs {program}")
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("a\n")
    text = patch([FileChange(name, "a\n", blocks("a\n", [Edit(0, 1, "b")]))])

    subprocess.run(PROGRAMS[program], cwd=tmp_path, input=text.encode(), check=True)

    assert (tmp_path / name).read_text() == "b\n"


LINES = "".join(f"line {number}\n" for number in range(1, 31))


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(
    ("lines", "hidden"),
    [
        pytest.param([5], [], id="one"),
        pytest.param([1, 30], [], id="ends"),
        pytest.param([5, 8], [], id="near"),
        pytest.param([5, 20], [], id="far"),
        pytest.param([5], [4, 6], id="between-secrets"),
        pytest.param([5, 7], [6], id="around-a-secret"),
        pytest.param([29], [30], id="before-a-secret-at-the-end"),
        pytest.param([2], [3], id="before-a-secret-at-the-beginning"),
        pytest.param([2], [1], id="after-a-secret-at-the-beginning"),
        pytest.param([29], [28], id="after-a-secret-at-the-end"),
    ],
)
def test_it_applies(tmp_path: Path, program: str, lines: list[int], hidden: list[int]):
    edits = [line_edit(LINES, line, f"new {line}\nmore") for line in lines]

    assert applied(tmp_path, LINES, patch([change(LINES, edits, hidden)]), program) == edited(LINES, edits)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_file_without_a_final_line_end_stays_without(tmp_path: Path, program: str):
    source = "a\nb"

    assert applied(tmp_path, source, patch([change(source, [Edit(0, 1, "c")])]), program) == "c\nb"


def test_a_new_file_is_created(tmp_path: Path):
    text = patch([FileChange.new("layers/x.properties", "a=1\n")])

    applied(tmp_path, "x\n", text, "git")

    assert (tmp_path / "layers" / "x.properties").read_text() == "a=1\n"


def test_no_change_is_no_patch():
    assert patch([change("a\n", [])]) == ""


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(["a", "b", CANARY]), min_size=1, max_size=25),
    st.sets(st.integers(0, 24)),
    st.sampled_from(["x", "a", ""]),
)
def test_a_hidden_line_is_never_in_a_patch_that_applies(tmp_path: Path, kinds: list[str], changed: set[int], new: str):
    source = "".join(f"{kind}\n" for kind in kinds)
    hidden = [number for number, kind in enumerate(kinds, 1) if kind == CANARY]
    edits = [line_edit(source, place + 1, new) for place in changed if place < len(kinds) and place + 1 not in hidden]

    text = patch([change(source, edits, hidden)])

    assert CANARY not in text
    if text:
        assert applied(tmp_path, source, text, "git") == edited(source, edits)
