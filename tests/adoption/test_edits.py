"""Changes of a source that leave everything else as it is."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_config_providers.adoption.edits import Edit, Positions, blocks, edited, split_lines, without_overlaps

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
