"""Options of a Java virtual machine are split as Spark splits them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_config_providers.core.sensitive import HIDDEN
from airflow_config_providers.dynamic.policies.spark_keys import readings, unreadable


@pytest.mark.parametrize(
    ("text", "launcher", "spark"),
    [
        pytest.param("", [], [], id="nothing"),
        pytest.param("  -Da=b\t-Dc\n", ["-Da=b", "-Dc"], None, id="blanks"),
        pytest.param("\"a b\"'c d'e f", ["a bc de", "f"], None, id="quotes"),
        pytest.param("\"\" ''x", ["", "x"], None, id="an empty word"),
        pytest.param("\"it's\" '\"'", ["it's", '"'], None, id="one quote in the other"),
        pytest.param('"a\\"b"', ['a"b'], None, id="an escaped quote"),
        pytest.param("'a\\b'", ["a\\b"], None, id="single quotes keep a backslash"),
        pytest.param("a\\ b", ["a b"], ["a\\", "b"], id="an escaped blank"),
        pytest.param('\\"a b\\"', ['"a', 'b"'], ['\\a b"'], id="an escaped quote outside of quotes"),
        pytest.param("a\u2003b\x0bc", ["a", "b", "c"], ["a\u2003b\x0bc"], id="blanks of Unicode"),
        pytest.param("a\u00a0b", ["a\u00a0b"], None, id="a blank that does not break"),
        pytest.param("-Da=${dir:/it's here:k l} b", ["-Da=${dir:/it's here:k l}", "b"], None, id="a reference"),
    ],
)
def test_each_reader_splits_in_its_way(text, launcher, spark):
    assert readings(text) == (launcher, launcher if spark is None else spark)


@pytest.mark.parametrize("text", ["'a", 'a "b', "a\\", '"a\\"', "\\"])
def test_what_is_not_finished_has_no_reading(text):
    assert readings(text) is None


def test_what_is_hidden_has_no_reading_and_the_problem_says_so():
    found = unreadable({"spark.driver.extraJavaOptions": HIDDEN})

    assert readings(HIDDEN) is None
    assert "has a secret, which hides its options" in found["spark.driver.extraJavaOptions"]


@given(st.lists(st.text(st.characters(exclude_characters="\"'\\$"), max_size=8)))
def test_words_in_quotes_come_back_as_they_are(words):
    assert readings(" ".join(f'"{word}"' for word in words)) == (words, words)
