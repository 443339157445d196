from __future__ import annotations

import time

import pytest

from airflow_config_providers.core.concurrency.clock import seconds_since_boot


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="this system does not count the time of a suspension")
def test_it_counts_the_time_for_which_the_machine_was_suspended() -> None:
    before = time.clock_gettime(time.CLOCK_BOOTTIME)
    now = seconds_since_boot()
    assert before <= now <= time.clock_gettime(time.CLOCK_BOOTTIME)
