"""Values that a command cannot take as they are."""

from __future__ import annotations

import pytest

from airflow_config_providers.exceptions import ExposedValueError
from airflow_config_providers.job.exposed_values import placed_texts, refuse_broken_words, refuse_exposed

WRITTEN = {"sql": "SELECT ${v:a}", "keytab": "${v:b}", "principal": "${v:c}", "name": "x"}


def refused(**values):
    with pytest.raises(ExposedValueError) as caught:
        refuse_broken_words(WRITTEN, written=WRITTEN, **values)
    return [problem.partition(":")[0] for problem in caught.value.problems]


def test_a_reference_that_is_in_a_string_twice_is_one_problem():
    with pytest.raises(ExposedValueError) as caught:
        refuse_exposed(placed_texts({"spark.app.name": "${v:a}-${v:a}"}), ["v"])

    assert len(caught.value.problems) == 1


def test_all_strings_whose_values_would_be_readable_are_reported_together():
    values = {"sql": "SELECT 1", "keytab": "/b", "name": "x"}

    assert refused(values=values, allow_exposed=False) == ["sql", "keytab"]


def test_all_strings_whose_meaning_a_value_would_change_are_reported_together():
    values = {"sql": "SELECT 1; DROP", "keytab": "/a b", "principal": "me"}

    assert refused(values=values, allow_exposed=True) == ["sql", "keytab"]


def test_strings_with_values_that_are_words_are_taken_where_they_may_be_readable():
    values = {"sql": "SELECT 1", "keytab": "/b", "principal": "me", "name": "x"}

    refuse_broken_words(WRITTEN, written=WRITTEN, values=values, allow_exposed=True)


TWO = "sh -c 'mount ${v:a} --as ${v:b}'"


@pytest.mark.parametrize(
    ("written", "value"),
    [
        pytest.param(TWO, "sh -c 'mount /x --as me'", id="marks of the author between two references"),
        pytest.param("cd ${HOME:-/x}; echo ${v:a}", "cd ${HOME:-/x}; echo me", id="a reference that stays"),
    ],
)
def test_what_an_author_writes_beside_references_is_not_taken_for_a_value(written, value):
    refuse_broken_words(["after"], written={"after": written}, values={"after": value}, allow_exposed=True)


@pytest.mark.parametrize("value", ["sh -c 'mount a b --as me'", "sh -c 'mount a --as me;id'", "sh -c 'mount  --as ''"])
def test_a_mark_in_one_of_several_values_is_refused(value):
    with pytest.raises(ExposedValueError):
        refuse_broken_words(["after"], written={"after": TWO}, values={"after": value}, allow_exposed=True)
