"""What is remembered of changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_config_providers.dynamic import history
from airflow_config_providers.dynamic.document import Document, Sealed
from airflow_config_providers.dynamic.history import MOST_CHANGES, MOST_CHARACTERS, Change, History


def change(version: int, value: str = "v") -> Change:
    return Change(version, "", "2026-01-01T00:00:00+00:00", "ann", {"k": None}, {"k": value})


def kept(*changes: Change) -> list[Change]:
    """Write changes, and return those that are read."""
    return list(history.read(history.write(History(changes)), name="n").changes)


VALUES = st.dictionaries(st.text(), st.none() | st.text() | st.builds(Sealed, st.text()), max_size=3)


VERSIONS = st.integers(min_value=1)


@given(
    st.builds(
        Change, VERSIONS, st.text(), st.text(), st.text(), VALUES, VALUES, st.text(), restored=st.none() | VERSIONS
    )
)
def test_what_was_written_is_read(one):
    assert kept(one) == [one]


def test_what_this_version_knows_is_not_kept_a_second_time_as_a_member_of_a_newer_one():
    written = History([Change(2, "report", "now", "ann", {"k": None}, {"k": "v"}, "rollback", restored=1)])

    found = history.read(history.write(written), name="n")

    assert (found.more, found.changes[0].more) == ({}, {})


def test_what_was_not_restored_says_nothing_of_it():
    assert "restored" not in history.write(History([change(1)]))


@pytest.mark.parametrize("lost", [{}, {"a": "1"}], ids=["nothing", "something"])
def test_a_loss_is_recorded_with_what_is_known_to_be_gone(lost):
    past = History([Change(3, "", "now", "ann", {"a": None, "b": "1"}, {"a": lost.get("a"), "b": None})])

    (loss,) = history.with_loss(past, Document(2)).changes[1:]

    assert (loss.version, loss.was, loss.became) == (4, lost, dict.fromkeys(lost))


def test_the_loss_of_several_resources_without_values_is_one_change():
    past = History([Change(version, f"t{version}", "now", "ann", {"a": "1"}, {"a": None}) for version in (1, 2)])

    assert [loss.version for loss in history.with_loss(past, Document(1)).changes[2:]] == [3]


@pytest.mark.parametrize(("version", "values"), [(0, {}), (2, {"a": "1"}), (3, {"a": "2"})])
def test_a_version_is_what_there_was_before_later_changes_and_version_0_is_empty(version, values):
    changes = [Change(3, "", "now", "ann", {"a": "1"}, {"a": "2"})]

    assert history.as_of(version, {"a": "2"}, changes) == values


@pytest.mark.parametrize("version", [3, 4])
def test_a_document_that_is_as_new_as_its_history_is_not_lost(version):
    past = History([change(3)])

    assert history.with_loss(past, Document(version)) is past


def test_nothing_was_changed():
    assert kept() == []
    assert history.read(None, name="n") == History()


def test_the_oldest_of_many_changes_is_forgotten():
    changes = kept(*(change(version) for version in range(1, MOST_CHANGES + 3)))

    assert [one.version for one in changes] == list(range(3, MOST_CHANGES + 3))


def test_the_oldest_of_large_changes_are_forgotten():
    text = history.write(History([change(version, "x" * 10_000) for version in range(1, 101)]))

    changes = history.read(text, name="n").changes
    assert MOST_CHARACTERS - 11_000 < len(text) < MOST_CHARACTERS + 100
    assert [one.version for one in changes] == list(range(101 - len(changes), 101))


def test_the_newest_change_is_remembered_whatever_its_size():
    large = change(2, "x" * 2 * MOST_CHARACTERS)

    assert kept(change(1), large) == [large]


def test_a_small_change_after_a_large_one_forgets_that():
    """Those that are remembered are the newest without a gap, or going back would skip one."""
    assert kept(change(1), change(2, "x" * 2 * MOST_CHARACTERS), change(3)) == [change(3)]
