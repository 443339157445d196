"""An ``execution_timeout`` that ends while a task removes values from what others see."""

from __future__ import annotations

import logging
import signal
import threading
from datetime import timedelta

import pytest
from airflow.sdk.exceptions import AirflowTaskTimeout

from airflow_config_providers.operators.execution import PostponedTimeout
from tests.canary import CANARY
from tests.operators.stock import OurOperator, everything_shown

log = logging.getLogger(__name__)


class Slow:
    """The time of the task ends while this is searched."""

    __version__ = 1
    has_rung = False

    def serialize(self):
        return {}

    def __str__(self):
        if not self.has_rung:
            self.has_rung = True
            signal.raise_signal(signal.SIGALRM)
        return "slow"

    __repr__ = __str__


class SlowError(Exception):
    def __init__(self, text):
        super().__init__(text)
        self.response = Slow()


@pytest.fixture
def task(dag, password, connections):
    def made(do):
        return OurOperator(task_id="job", dag=dag, payload=password, do=do, execution_timeout=timedelta(hours=1))

    return made


def test_attack_30_an_error_is_searched_to_its_end(task, run_task, capfd):
    def do(self, context):
        try:
            raise ValueError(self.payload)
        except ValueError as error:
            raise SlowError(self.payload) from error

    run = run_task(task(do))

    assert isinstance(run.error, AirflowTaskTimeout)
    assert isinstance(run.error.__context__, SlowError)
    assert isinstance(run.error.__context__.__cause__, ValueError)
    assert CANARY not in everything_shown(run, capfd) + repr(
        [run.error.__context__.args, run.error.__context__.__cause__]
    )


def test_attack_30_what_execute_leaves_on_the_operator_is_searched_to_its_end(task, run_task, capfd):
    def do(self, context):
        self.slow, self.url = Slow(), f"jdbc:x:{self.payload}"

    run = run_task(task(do))

    assert run.state == "success"
    assert CANARY not in everything_shown(run, capfd)
    assert run.task.url.startswith("jdbc:x:${")


def test_a_job_that_ended_in_time_succeeds_though_the_time_ends_while_its_result_is_searched(task, run_task, capfd):
    run = run_task(task(lambda self, _: Slow()))

    assert run.state == "success"
    assert "The execution_timeout of this task ended while it cleaned up." in everything_shown(run, capfd)


def test_a_job_is_interrupted(task, run_task):
    run = run_task(task(lambda self, _: signal.raise_signal(signal.SIGALRM)))

    assert isinstance(run.error, AirflowTaskTimeout)


@pytest.fixture
def rung():
    """The numbers of the alarms that rang."""
    numbers = []
    before = signal.signal(signal.SIGALRM, lambda number, _: numbers.append(number))
    yield numbers
    signal.signal(signal.SIGALRM, before)


def ring():
    signal.raise_signal(signal.SIGALRM)


def test_an_alarm_before_the_job_rings_when_it_begins(rung):
    with PostponedTimeout(log) as timeout:
        ring()
        assert rung == []
        timeout.run(lambda: rung.append("job"))

    assert rung == [signal.SIGALRM, "job"]


def test_an_alarm_after_a_job_that_failed_rings_at_the_end(rung):
    with pytest.raises(ValueError, match="no"), PostponedTimeout(log):  # noqa: PT012 - both are steps of the job
        ring()
        assert rung == []
        raise ValueError("no")

    assert rung == [signal.SIGALRM]


def test_afterwards_the_alarm_is_what_it_was(rung):
    before = signal.getsignal(signal.SIGALRM)
    with PostponedTimeout(log) as timeout:
        timeout.run(lambda: None)

    assert signal.getsignal(signal.SIGALRM) is before


def test_in_another_thread_nothing_is_held_back(rung):
    before, seen = signal.getsignal(signal.SIGALRM), []

    def work():
        with PostponedTimeout(log) as timeout:
            seen.append(timeout.run(lambda: signal.getsignal(signal.SIGALRM)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]
