from __future__ import annotations

import pytest

from benchmarks.measure import QUICK, Effort


@pytest.mark.parametrize(("effort", "times"), [(QUICK, 1), (Effort(seconds=0, fewest=2), 3)], ids=["quick", "usual"])
def test_work_is_done_once_before_it_is_measured_unless_it_must_be_quick(effort, times):
    done = []

    effort.milliseconds(lambda: done.append(1))

    assert len(done) == times
