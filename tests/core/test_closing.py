"""What closes all that it has opened."""

from __future__ import annotations

import pytest

from airflow_config_providers.core.closing import Closing, close_all


class Member:
    def __init__(self, error: Exception | None = None) -> None:
        self.closed = 0
        self._error = error

    def close(self) -> None:
        self.closed += 1
        if self._error:
            raise self._error


def test_members_are_closed_once():
    members = [Member(), Member()]

    with Closing([("a", members[0]), ("b", members[1])]) as closing:
        assert [member.closed for member in members] == [0, 0]
    closing.close()

    assert [member.closed for member in members] == [1, 1]


def test_one_that_fails_is_told_without_its_words_and_keeps_no_other_open(caplog: pytest.LogCaptureFixture):
    members = [("Provider a\nb", Member(ValueError("hunter2"))), ("Provider c", last := Member())]

    close_all(members)

    assert last.closed == 1
    assert caplog.messages == [r"Provider a\nb could not be closed: ValueError"]


def test_an_error_inside_is_raised_all_the_same():
    with pytest.raises(ZeroDivisionError), Closing([("a", member := Member())]):
        raise ZeroDivisionError

    assert member.closed == 1
