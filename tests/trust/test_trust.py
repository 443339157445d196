"""Who can read and steer what: each attempt is made, and the page about security says what comes of it."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import pytest

from tests.trust.attempt import ATTEMPTS, What, Who
from tests.trust.attempts import SECRET

PAGE = Path(__file__).parents[2] / "docs/explanation/security.md"


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda attempt: attempt.run.__name__)
def test_an_attempt_ends_as_the_table_says(world, attempt, record_property):
    outcome = attempt.run(world)
    record_property("attempt", (*attempt.row, str(outcome)))

    assert outcome == attempt.outcome


def test_the_page_has_the_table():
    lines = [line.strip("| ").split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| ")]

    assert [tuple(line) for line in lines if line[0] in set(Who) and len(line) == 4] == [
        (*attempt.row, attempt.outcome) for attempt in ATTEMPTS
    ]


def test_each_of_them_tries_to_read_and_each_thing_is_steered_by_somebody():
    assert {attempt.who for attempt in ATTEMPTS if attempt.what == What.READ} == set(Who)
    assert {attempt.what for attempt in ATTEMPTS} == set(What)


def test_no_attempt_is_listed_twice():
    assert len({attempt.row for attempt in ATTEMPTS}) == len(ATTEMPTS)
    assert SECRET not in "".join(chain.from_iterable(attempt.row for attempt in ATTEMPTS))
