from __future__ import annotations

import pytest

from airflow_config_providers.providers.vault.session import LONGEST, seconds, when_to_renew, when_to_retry


def test_the_moment_is_about_two_thirds_and_differs() -> None:
    moments = {when_to_renew(100, 60) for _ in range(50)}
    assert len(moments) > 10
    assert all(136 <= moment <= 142 for moment in moments)


@pytest.mark.parametrize(
    ("now", "expires", "again"),
    [(0, 100, 25), (0, 3, 1), (0, 2, None), (5, 4, None)],
    ids=["far", "near", "end", "past"],
)
def test_a_failed_renewal_is_tried_again_while_there_is_time(now: float, expires: float, again: float | None) -> None:
    assert when_to_retry(now, expires) == again


@pytest.mark.parametrize(
    ("duration", "expected"),
    [
        (60, 60.0),
        (1.5, 1.5),
        (0, 0.0),
        (-1, 0.0),
        (float("nan"), 0.0),
        (10**12, float(LONGEST)),
        (10**400, float(LONGEST)),
        (True, 0.0),
        (None, 0.0),
        ("60", 0.0),
    ],
)
def test_durations_are_seconds_within_reason(duration: object, expected: float) -> None:
    assert seconds(duration) == expected
