from __future__ import annotations

from itertools import cycle

import pytest

from benchmarks import ratios
from benchmarks.ratios import Watched, better, keep, kept, least, problems, worse
from benchmarks.run import WATCHED

KEPT = {"parse": 1.0, "resolve": 2.0}


def test_a_ratio_is_ours_divided_by_the_peer():
    assert Watched("w", lambda: 3.0, lambda: 2.0, seconds=0).ratio() == 1.5


def test_a_slow_moment_of_the_machine_does_not_change_the_ratio():
    """Both are slower in it, and a time that only one of them lost is rare."""
    slow, lost = [1, 1, 2, 2, 1, 1], [0, 0, 0, 0, 0, 9]
    ours = (3.0 * by + more for by, more in zip(cycle(slow), cycle(lost), strict=False))
    peer = (2.0 * by for by in cycle(slow))

    assert Watched("w", lambda: next(ours), lambda: next(peer), seconds=0, fewest=5).ratio() == 1.5


@pytest.mark.parametrize(
    ("measured", "expected"),
    [
        pytest.param(2.0, {}, id="same"),
        pytest.param(1.0, {}, id="better"),
        pytest.param(2.5, {}, id="a little worse"),
        pytest.param(2.6, {"resolve": 1.3}, id="worse"),
    ],
)
def test_worse_is_thirty_per_cent_more_than_kept(measured, expected):
    assert worse({"parse": 1.0, "resolve": measured}, KEPT) == expected


def test_a_ratio_that_is_good_in_one_of_two_runs_is_no_problem():
    assert problems(least({"parse": 1.0, "resolve": 9.0}, {"resolve": 2.1}), KEPT) == []


def test_a_ratio_that_is_worse_in_all_runs_is_reported_with_the_best_of_them():
    found = problems(least({"parse": 1.0, "resolve": 9.0}, {"resolve": 4.0}), KEPT)

    assert found == ["resolve: 4 times the peer's CPU time, 2.00 times worse than the 2 in ratios.json, in 4 runs."]


def test_a_new_ratio_is_reported_until_it_is_kept():
    assert problems({**KEPT, "alter": 3.0}, KEPT) == ["alter: measured, but not in ratios.json."]


def test_a_kept_ratio_that_nothing_measures_is_reported():
    assert problems({"parse": 1.0}, KEPT) == ["resolve: in ratios.json, but no longer measured."]


def test_a_ratio_that_is_much_better_is_shown_so_that_the_file_is_renewed():
    assert better({"parse": 0.9, "resolve": 1.0}, KEPT) == [
        "resolve: 2.00 times better than the ratio in ratios.json, which can be renewed."
    ]


def test_writing_some_benchmarks_leaves_the_others_in_the_file(tmp_path):
    file = tmp_path / "ratios.json"
    file.write_text('{"settle": {"a": 1.0}, "resolve": {"gone": 1.0}}')

    keep({"resolve": {"b": 2.34567}}, file)

    assert kept(file) == {"settle": {"a": 1.0}, "resolve": {"b": 2.35}}


def test_the_file_has_every_benchmark_that_is_watched():
    assert sorted(kept(ratios.FILE)) == sorted(WATCHED)
