"""Kafka's vectors are those of Connect's WorkerConfigTransformer; where ours differ, the name of the test says how."""

from __future__ import annotations

import pytest

from airflow_config_providers.core import ReloadAction, ReloadScheduler
from airflow_config_providers.core.reload import LONGEST_DELAY
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.testing import FakeClock, FakeTimer

DB = ("vault", "apps/db")
QUEUE = ("vault", "apps/queue")


class Planned:
    """A scheduler whose time a test moves, and the jobs that it has reloaded."""

    def __init__(self, default=ReloadAction.RESTART):
        self.timer = FakeTimer(FakeClock(1000.0))
        self.reloaded = []
        self.scheduler = ReloadScheduler(self.timer, default, reload=self.reloaded.append, clock=self.timer.clock)
        self.plan = self.scheduler.plan

    @property
    def delays(self):
        return [call.delay_ms for call in self.timer.planned]

    @property
    def waiting(self):
        return [call.delay_ms for call in self.timer.planned if call.is_waiting]


@pytest.fixture
def planned():
    return Planned()


@pytest.mark.parametrize(
    ("text", "action"),
    [
        pytest.param("none", ReloadAction.NONE, id="none"),
        pytest.param("restart", ReloadAction.RESTART, id="restart"),
        pytest.param(" ReStart\n", ReloadAction.RESTART, id="any case and whitespace around it"),
    ],
)
def test_an_action_is_parsed(text, action):
    assert ReloadAction.parse(text) is action


@pytest.mark.parametrize("text", ["", "reload", "no ne", "restart,none", "RESTART!", "${env:ACTION}"])
def test_any_other_text_is_refused(text):
    with pytest.raises(ConfigException, match="use none or restart"):
        ReloadAction.parse(text)


@pytest.mark.parametrize(
    ("configs", "action"),
    [
        pytest.param({}, None, id="neither key"),
        pytest.param({"config.reload.action": "none"}, ReloadAction.NONE, id="the name in KIP-297"),
        pytest.param({"config.action.reload": "restart"}, ReloadAction.RESTART, id="the name in Kafka"),
        pytest.param(
            {"config.reload.action": "none", "config.action.reload": "NONE"},
            ReloadAction.NONE,
            id="both, and they agree",
        ),
    ],
)
def test_the_action_of_a_configuration_has_two_names(configs, action):
    assert ReloadAction.of(configs) is action


def test_all_problems_with_the_action_are_named_at_once():
    with pytest.raises(ConfigException) as caught:
        ReloadAction.of({"config.reload.action": "retsart", "config.action.reload": "never"})
    assert caught.value.problems == (
        "config.reload.action: 'retsart' is invalid; use none or restart.",
        "config.action.reload: 'never' is invalid; use none or restart.",
    )


def test_the_two_names_of_the_action_must_agree():
    with pytest.raises(ConfigException, match="two names of one setting"):
        ReloadAction.of({"config.reload.action": "none", "config.action.reload": "restart"})


def test_a_ttl_schedules_a_reload_after_it(planned):
    planned.plan("job", {DB: 60_000})

    planned.timer.sleep(59.9)
    assert planned.reloaded == []
    planned.timer.sleep(0.1)
    assert planned.reloaded == ["job"]


def test_a_ttl_of_zero_is_due_at_once(planned):
    planned.plan("job", {DB: 0})
    assert planned.delays == [0]


@pytest.mark.parametrize("ttl", [None, -1], ids=["unknown", "negative"])
def test_attack_53_a_place_without_a_ttl_schedules_nothing(planned, ttl):
    planned.plan("job", {DB: ttl})
    assert planned.delays == []


def test_without_a_job_nothing_is_scheduled(planned):
    planned.plan(None, {DB: 100})
    assert planned.delays == []


def test_none_schedules_nothing(planned):
    planned.plan("job", {DB: 100}, ReloadAction.NONE)
    assert planned.delays == []


def test_an_action_of_the_job_beats_the_default():
    planned = Planned(default=ReloadAction.NONE)
    planned.plan("job", {DB: 100})
    assert planned.delays == []
    planned.plan("job", {DB: 100}, ReloadAction.RESTART)
    assert planned.delays == [100]


def test_a_longer_ttl_replaces_the_earlier_request(planned):
    planned.plan("job", {DB: 1})
    planned.plan("job", {DB: 10})
    assert (planned.delays, planned.waiting) == ([1, 10], [10])


def test_the_earlier_request_is_cancelled_before_the_next_is_scheduled(planned):
    planned.plan("job", {DB: 1})
    first, waiting = planned.timer.planned[0], []
    schedule, planned.timer.schedule = (
        planned.timer.schedule,
        lambda *call: waiting.append(first.is_waiting) or schedule(*call),
    )

    planned.plan("job", {DB: 10})
    assert waiting == [False]


@pytest.mark.parametrize(
    "again",
    [
        pytest.param(({DB: None}, None), id="without a ttl"),
        pytest.param(({}, None), id="when the place is no longer used"),
        pytest.param(({DB: 500}, ReloadAction.NONE), id="with none"),
    ],
)
def test_the_earlier_request_stays(planned, again):
    planned.plan("job", {DB: 100})
    planned.plan("job", *again)
    assert planned.waiting == [100]


def test_requests_of_other_jobs_and_places_are_apart(planned):
    planned.plan("one", {DB: 100, QUEUE: 200})
    planned.plan("other", {DB: 300})
    assert planned.waiting == [100, 200, 300]


def test_unlike_in_kafka_equal_paths_of_two_providers_are_two_places(planned):
    planned.plan("job", {("vault", ""): 100, ("aws", ""): 200})
    assert planned.waiting == [100, 200]


def test_unlike_in_kafka_the_same_ttl_with_each_answer_does_not_put_the_reload_off(planned):
    for _ in range(5):
        planned.plan("job", {DB: 60_000})
        planned.timer.sleep(15)
    assert planned.reloaded == ["job"]


def test_unlike_in_kafka_a_ttl_that_varies_a_little_does_not_put_the_reload_off_for_ever(planned):
    for n in range(20):
        planned.plan("job", {DB: 60_000 + n % 3})
        planned.timer.sleep(10)
    assert len(planned.reloaded) >= 2


def test_after_a_reload_the_time_counts_anew(planned):
    planned.plan("job", {DB: 60_000})
    planned.timer.sleep(60)
    planned.plan("job", {DB: 60_000})
    assert planned.waiting == [60_000]


def test_all_of_a_job_reloads_at_once(planned):
    planned.plan("job", {DB: 100, QUEUE: 200})
    planned.timer.sleep(10)
    assert planned.reloaded == ["job"]


def test_a_cancelled_job_is_not_reloaded_and_others_are(planned):
    planned.plan("one", {DB: 100})
    planned.plan("other", {DB: 100})
    planned.scheduler.cancel("one")

    planned.timer.sleep(10)
    assert planned.reloaded == ["other"]


def test_a_call_that_could_not_be_cancelled_in_time_does_nothing(planned):
    planned.plan("job", {DB: 100})
    late = planned.timer.planned[0].callback
    planned.scheduler.cancel("job")

    late()
    assert planned.reloaded == []


def test_after_close_nothing_is_reloaded_or_scheduled(planned):
    planned.plan("job", {DB: 100})
    planned.scheduler.close()
    planned.plan("job", {QUEUE: 100})

    planned.timer.sleep(10)
    assert (planned.reloaded, planned.waiting) == ([], [])


def test_attack_53_a_ttl_that_no_timer_can_wait_for_is_cut(planned):
    planned.plan("job", {DB: 10**30})
    assert planned.delays == [LONGEST_DELAY]


def test_a_reload_can_plan_the_next_one(planned):
    planned.scheduler = ReloadScheduler(
        planned.timer,
        reload=lambda job: planned.reloaded.append(job) or planned.scheduler.plan(job, {DB: 1000}),
        clock=planned.timer.clock,
    )
    planned.scheduler.plan("job", {DB: 1000})

    planned.timer.sleep(3.5)
    assert planned.reloaded == ["job"] * 3
