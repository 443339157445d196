"""Properties in YAML: what is written is what is read, and nothing becomes larger or other than it looks."""

from __future__ import annotations

import re
import sys
import time
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from airflow_config_providers.core import properties
from airflow_config_providers.core.properties import Property
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.spark import layer_files


@pytest.fixture(params=["C", "Python"], autouse=True)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read with each of PyYAML's parsers: some builds have only the one in Python."""
    if request.param == "Python":
        monkeypatch.delattr(yaml, "CSafeLoader")


def read(text: str) -> dict[str, str]:
    return {entry.key: entry.value for entry in layer_files.parse(text, name="base.yaml", path="base.yaml")}


def problems(text: str) -> list[str]:
    with pytest.raises(ConfigException) as caught:
        layer_files.parse(text, name="base.yaml", path="base.yaml")
    return list(caught.value.problems)


def test_what_yaml_has_besides_maps_is_reported_with_what_is_wrong_further_down() -> None:
    found = problems("\ufeffa: !!int 1\nb: &x y\nc: *x\nd: [1, *x]\ne:\nf: !t {g: ~}\n")

    assert [one.removeprefix("base.yaml:")[:24] for one in found] == [
        "1: tags (!) are not supp",
        "2: anchors (&) and alias",
        "3: anchors (&) and alias",
        "4: anchors (&) and alias",
        "6: tags (!) are not supp",
        "4: 'd' has a list. Write",
        "5: 'e' has no value. Wri",
        "6: 'f.g' has no value. W",
    ]


def test_an_anchor_on_which_the_indentation_depends_is_reported_alone() -> None:
    (found,) = problems("&x a: 1\nb: 2\n")

    assert "1: anchors" in found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", {}, id="nothing"),
        pytest.param("# only a comment\n---\n", {}, id="comment"),
        pytest.param("{}", {}, id="empty map"),
        pytest.param("\ufeffspark.a: 1", {"spark.a": "1"}, id="byte order mark"),
        pytest.param("spark.a.b: x", {"spark.a.b": "x"}, id="key with dots"),
        pytest.param("spark:\n  a:\n    b: x\n  c: y", {"spark.a.b": "x", "spark.c": "y"}, id="nested"),
        pytest.param("spark:\n  sql.adaptive:\n    enabled: true", {"spark.sql.adaptive.enabled": "true"}, id="mixed"),
        pytest.param("spark: {a: {b: 1}}", {"spark.a.b": "1"}, id="on one line"),
        pytest.param("spark.a: 1\nspark:\n  b: 2", {"spark.a": "1", "spark.b": "2"}, id="in two parts"),
        pytest.param("a: 1\r\nb: 2\r\n", {"a": "1", "b": "2"}, id="line ends of Windows"),
        pytest.param("1: x\nyes: y", {"1": "x", "yes": "y"}, id="keys that are not strings"),
        pytest.param(
            "spark:\n  speculation: true\n  speculation.interval: 1s",
            {"spark.speculation": "true", "spark.speculation.interval": "1s"},
            id="a value beside longer keys",
        ),
        pytest.param("a: ${vault:apps/db:password}", {"a": "${vault:apps/db:password}"}, id="reference"),
        pytest.param("a: '{{ ds }}'", {"a": "{{ ds }}"}, id="template"),
        pytest.param("a: >-\n  -Da=b\n  -Dc=d\n", {"a": "-Da=b -Dc=d"}, id="folded"),
        pytest.param("a: |\n  x\n  y\n", {"a": "x\ny\n"}, id="lines"),
    ],
)
def test_maps_become_keys_with_dots(text: str, expected: dict[str, str]) -> None:
    assert read(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "0o17",
        "017",
        "0x1F",
        "1e3",
        "1_000",
        "12:30:45",
        "2026-01-01",
        ".5",
        "1.10",
        "-0",
        "+1",
        ".inf",
        ".nan",
        "no",
        "yes",
        "on",
        "off",
        "y",
        "N",
        "=",
        "1.0.0",
        "9999999999999999999",
        "4g",
        "truE",
    ],
)
def test_a_value_stays_as_it_is_written(text: str) -> None:
    assert read(f"a: {text}") == {"a": text}


@pytest.mark.parametrize(
    ("text", "expected"),
    [("true", "true"), ("True", "true"), ("TRUE", "true"), ("False", "false"), ("'True'", "True"), ('"NULL"', "NULL")],
)
def test_booleans_are_written_as_spark_does_unless_quoted(text: str, expected: str) -> None:
    assert read(f"a: {text}") == {"a": expected}


def test_each_entry_has_the_line_of_its_key() -> None:
    text = "# comment\nspark:\n  a: 1\n\n  b: >\n    x\n    y\n  c:\n    z\n"

    assert layer_files.parse(text, name="x", path="x.yaml") == [
        Property("spark.a", "1", 3),
        Property("spark.b", "x y\n", 5),
        Property("spark.c", "z", 8),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a: 1\nb:\n", "2: 'b' has no value. Write one, write", id="empty"),
        pytest.param("a:\n  b: ~", "2: 'a.b' has no value", id="tilde"),
        pytest.param("a: null", "1: 'a' has no value", id="null"),
        pytest.param("a:\n- b", "1: 'a' has a list. Write it as one string, such as \"a,b\"", id="list"),
        pytest.param("a: []", "1: 'a' has a list", id="empty list"),
        pytest.param("- a", "1: expected keys and their values", id="list of keys"),
        pytest.param("\nspark.a=1", "2: expected keys and their values", id="properties"),
        pytest.param("a: &x 1", "1: anchors (&) and aliases (*) are not supported", id="anchor"),
        pytest.param("a: 1\nb: *x", "2: anchors (&) and aliases (*) are not supported", id="alias"),
        pytest.param("a: !!int 1", "1: tags (!) are not supported", id="tag"),
        pytest.param("a: !!python/object:os.system x", "1: tags (!) are not supported", id="tag of Python"),
        pytest.param("!x {a: 1}", "1: tags (!) are not supported", id="tag of a map"),
        pytest.param("a:\n  <<: {b: 1}", "2: merge keys (<<) are not supported", id="merge key"),
        pytest.param("a: 1\n? [b]\n: x", "2: a key must be a string", id="list as key"),
        pytest.param(
            "a: {{ ds }}", "1: a key must be a string. Put a template such as '{{ ds }}' in quotes", id="Jinja"
        ),
        pytest.param("a: 1\n~: x", "2: the key is missing", id="no key"),
        pytest.param("a:\n  b: 1\na:\n  c: 1", "3: 'a' is in line 1 already. Write both as one map", id="map twice"),
        pytest.param("a: 1\na:\n  c: 1", "2: 'a' is in line 1 already", id="value and map"),
        pytest.param("a: 1\n---\nb: 1", "2: ", id="two documents"),
        pytest.param("a: 1\n\tb: 1", "2: a tab is not allowed here. Indent with spaces.", id="tab"),
        pytest.param("a:\n  \tb: 1", "2: a tab is not allowed here. Indent with spaces.", id="tab after spaces"),
        pytest.param("é: ä\n\tb: 1", "2: a tab is not allowed here", id="tab after other letters"),
        pytest.param("a: 'x", "1: ", id="open quote"),
        pytest.param(
            "a: 1\nb: x\u2028y", '2: U+2028 ends a line in some versions of YAML. Write "\\u2028", in', id="line end"
        ),
    ],
)
def test_what_has_no_meaning_is_refused_with_its_line_and_a_way_out(text: str, expected: str) -> None:
    (problem,) = problems(text)

    assert problem.startswith(f"base.yaml:{expected}")


def test_control_characters_are_refused() -> None:
    assert problems("a: \x01") == ["base.yaml: it is not YAML (ReaderError). Correct it."]


def test_all_problems_are_reported_together() -> None:
    assert len(problems("a:\nb: [1]\nc: {<<: {}}\n")) == 3


def test_no_problem_shows_a_value() -> None:
    found = problems("a: [c4nary]\nb:\n  - c4nary\nc: {d: c4nary}\nc: {e: c4nary}\n")

    assert len(found) == 3
    assert "c4nary" not in "".join(found)


def test_a_repeated_key_has_several_entries() -> None:
    assert [(one.value, one.line) for one in layer_files.parse("a: 1\nb: 2\na: 3", name="x", path="x.yaml")] == [
        ("1", 1),
        ("2", 2),
        ("3", 3),
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("a: " + "{x: " * 100_000, "maps are nested too deeply", id="flow"),
        pytest.param("a: " + "[" * 100_000, "nested too deeply", id="lists"),
        pytest.param("".join(f"{' ' * depth}a:\n" for depth in range(500)), "maps are nested too deeply", id="block"),
        pytest.param(
            "a" * 900 + ":\n" + "".join(f"  {'b' * 100}{n}: 1\n" for n in range(1000)), "1000 char", id="keys"
        ),
        pytest.param("a: &a [x]\n" + "b: &b [*a,*a]\n" * 50, "anchors", id="laughs"),
    ],
)
def test_attack_a_small_file_neither_overflows_nor_grows(text: str, problem: str) -> None:
    before = sys.getrecursionlimit()

    assert problem in problems(text)[0]
    assert sys.getrecursionlimit() == before


KEY = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn"], exclude_characters="\ufeff\ufffe"), min_size=1)
VALUE = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(" #:{}[]&*!|>'\"%@`-?,\n\t\r\\~"))
FLAT = st.dictionaries(
    st.lists(st.sampled_from(["spark", "sql", "a", "b c", "é", "1", "no", "~"]), min_size=1, max_size=20).map(".".join)
    | KEY,
    VALUE,
)


def nested(flat: dict[str, str]) -> dict[str, Any]:
    """Nest the keys as far as no value is in the way; the rest of a key keeps its dots."""
    tree: dict[str, Any] = {}
    for key, value in sorted(flat.items()):
        node, (*parents, last) = tree, key.split(".")
        while parents and isinstance(node.setdefault(parents[0], {}), dict):
            node = node[parents.pop(0)]
        node[".".join([*parents, last])] = value
    return tree


@given(flat=FLAT, is_nested=st.booleans(), flow=st.sampled_from([None, True, False]))
def test_yaml_of_a_flat_map_reads_back_as_its_properties_file_does(
    flat: dict[str, str], is_nested: bool, flow: bool | None
) -> None:
    is_plain = not re.search("[\x85\u2028\u2029\ufeff]", "".join([*flat, *flat.values()]))
    text = yaml.safe_dump(nested(flat) if is_nested else flat, default_flow_style=flow, allow_unicode=is_plain)
    as_properties = {one.key: one.value for one in properties.parse(properties.dump(flat), name="base.properties")}

    assert read(text) == as_properties


def test_a_large_file_is_read_in_time_linear_in_its_length() -> None:
    def seconds(keys: int) -> float:
        text = "spark:\n" + "".join(f"  key{n}: x\n" for n in range(keys))
        start = time.process_time()
        layer_files.parse(text, name="x", path="x.yaml")
        return time.process_time() - start

    seconds(250)
    assert min(seconds(2000) for _ in range(2)) < 40 * min(seconds(250) for _ in range(2))


def test_a_wrong_indentation_says_where_to_look() -> None:
    (problem,) = problems("a: 1\n  b: 2\n")

    assert problem.startswith("base.yaml:2: ")
    assert problem.endswith("look at the indentation and the quotes of this line and of the one before.")
