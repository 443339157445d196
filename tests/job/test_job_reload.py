"""When a running job is stopped to be submitted anew: changes, kills and the job's own end meet in any order."""

from __future__ import annotations

import logging
import random
import threading
from collections import Counter

import pytest

from airflow_config_providers.core.concurrency.timetable import Timetable
from airflow_config_providers.core.provider import ConfigData
from airflow_config_providers.core.reversal.reverse import ReverseTransformer
from airflow_config_providers.core.subscriptions import Subscriptions
from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.exceptions import ConfigException, ProviderUnavailableError, SubmitError
from airflow_config_providers.job import job_reload
from airflow_config_providers.job.job_reload import JobControl, JobReload, ReloadLimits
from airflow_config_providers.job.run import JobRun
from airflow_config_providers.testing import FakeClock
from tests.limits import LONGEST, eventually

PLACE = ("dir", "/secrets")


class Secret:
    """One value that all jobs use, and the changes of which they follow."""

    def __init__(self, timetable):
        self.value = "first"
        self.subscriptions = Subscriptions(self.get, interval=lambda: 1000, timetable=timetable)

    def get(self, path, keys=None):
        return ConfigData({"password": self.value})


class Run:
    """The values of one run; ``again`` reads them anew."""

    reverser = ReverseTransformer({}, {})
    dynamic_mark = None
    restarts = True
    shown = {}  # noqa: RUF012 - nothing changes it

    def __init__(self, secret, *, places=(PLACE,), meanwhile=lambda: None):
        self.secret = secret
        self.places = dict.fromkeys(places, ("password",))
        self.ttls = {}
        self.content = secret.value
        self.meanwhile = meanwhile
        self.is_closed = False
        self.callback = None
        self.runs = []

    def subscribe(self, place, callback):
        self.callback = callback
        self.secret.subscriptions.add("/secrets", None, lambda path, data: callback())

    def again(self):
        self.runs.append(Run(self.secret))
        self.meanwhile()
        return self.runs[-1]

    def read_dynamic_mark(self):
        return None

    def close(self):
        self.is_closed = True


class Job:
    """A job that is watched, on a clock that a test moves."""

    def __init__(self, stop=lambda: None, *, settling=0.0, clock=None, **kwargs):
        self.clock = clock or FakeClock()
        self.timetable = Timetable("config-reload", self.clock, start=lambda run: None)
        self.secret = Secret(Timetable("config-changes", self.clock, start=lambda run: None))
        self.stops = []
        self.reload = JobReload(
            JobControl(lambda: (self.stops.append(self.clock()), stop()), **kwargs),
            log=logging.getLogger("task"),
            limits=ReloadLimits(settling, 6),
            timetable=self.timetable,
        )

    def watch(self, **kwargs):
        self.run = Run(self.secret, **kwargs)
        self.reload.watch(self.run)
        return self.run

    def rotate(self, value):
        self.secret.value = value
        self.run.callback()

    def reload_with(self, value):
        self.rotate(value)
        self.after(0)

    def after(self, seconds):
        self.clock.sleep(seconds)
        self.timetable.run_due()


def test_a_change_is_one_stop_and_the_next_run_has_the_new_value():
    job = Job()
    job.watch()
    job.reload_with("second")

    assert len(job.stops) == 1
    assert job.reload.next_run().content == "second"


def test_a_run_that_could_not_be_submitted_stops_no_job_and_is_closed(caplog):
    def refuse(run):
        raise ConfigException("spark.a: cut.")

    job = Job(require_usable=refuse)
    run = job.watch()
    job.reload_with("second")

    assert (job.stops, run.runs[0].is_closed) == ([], True)
    assert "not usable: spark.a: cut." in caplog.text
    assert job.reload.next_run() is None


def test_a_job_with_other_values_than_its_run_is_stopped_without_a_change():
    job = Job(settling=10.0)
    job.reload.watch(Run(job.secret), is_outdated=True)
    job.after(9)
    assert job.stops == []

    job.after(20)
    assert len(job.stops) == 1
    assert job.reload.next_run().content == "first"


def test_a_change_while_the_values_are_read_again_is_not_lost():
    """The reload under way has read the value before this change, and finds that nothing differs."""
    job = Job()
    run = job.watch(meanwhile=lambda: job.rotate("second") if len(run.runs) == 1 else None)
    run.callback()
    job.after(0)

    assert len(run.runs) == 2
    assert run.runs[0].is_closed
    assert job.reload.next_run().content == "second"


def test_a_change_while_the_configuration_is_refused_is_not_lost():
    job = Job()

    def refuse():
        if len(run.runs) == 1:
            job.rotate("second")
            raise ConfigException("half of it")

    run = job.watch(meanwhile=refuse)
    run.callback()
    job.after(0)

    assert job.reload.next_run().content == "second"


def test_a_reload_action_that_was_changed_to_none_leaves_the_running_job_alone(caplog):
    caplog.set_level(logging.INFO, "task")
    job = Job()
    run = job.watch(meanwhile=lambda: setattr(run.runs[-1], "restarts", len(run.runs) > 1))
    job.reload_with("second")
    assert (job.stops, run.runs[0].is_closed) == ([], True)
    assert "config.reload.action is none now" in caplog.text
    assert "No restart: ${dir:/secrets} changed." in caplog.text

    job.reload_with("third")

    assert job.reload.next_run().content == "third"


def refused_until(corrected):
    """Return a job whose new configuration is refused until ``corrected`` is not empty."""
    job = Job()

    def refuse():
        if not corrected:
            raise ConfigException("a policy denies it")

    job.watch(meanwhile=refuse)
    job.reload_with("second")
    return job


def test_a_refused_configuration_that_was_corrected_reaches_the_job_without_another_change():
    corrected = []
    job = refused_until(corrected)
    corrected.append(True)
    job.after(899)
    assert job.stops == []

    job.after(1)

    assert len(job.stops) == 1
    assert job.reload.next_run().content == "second"


def test_a_job_that_has_not_begun_is_stopped_when_it_has():
    begun = []
    job = Job(has_begun=lambda: bool(begun))
    run = job.watch()
    job.reload_with("second")
    assert (job.stops, run.runs) == ([], [])

    begun.append(True)
    job.after(60)
    assert len(job.stops) == 1


def test_a_stop_that_fails_is_tried_again():
    failures = [True]

    def stop():
        if failures and failures.pop():
            raise OSError("no route")

    job = Job(stop)
    run = job.watch()
    job.reload_with("second")
    assert [next_run.is_closed for next_run in run.runs] == [True]

    job.after(60)
    assert len(job.stops) == 2
    assert job.reload.next_run().content == "second"


def test_nothing_begins_after_a_kill_during_the_stop():
    job = Job(lambda: in_another_thread(job.reload.give_up))
    run = job.watch()
    job.reload_with("second")

    assert job.reload.next_run() is None
    assert run.runs[0].is_closed


def test_a_kill_by_the_stop_itself_does_not_end_the_reloads():
    kills = []
    job = Job(lambda: [kill() for kill in kills])
    kills.append(job.reload.give_up)
    job.watch()
    job.reload_with("second")

    assert job.reload.next_run() is not None


def test_nothing_is_submitted_after_a_kill_between_two_jobs():
    job = Job()
    job.watch()
    job.reload_with("second")
    next_run = job.reload.next_run()
    job.reload.give_up()

    with pytest.raises(SubmitError, match="Nothing was submitted"):
        job.reload.watch(next_run)


def test_nothing_is_stopped_after_a_kill_while_values_are_read():
    job = Job()
    run = job.watch(meanwhile=job.reload.give_up)
    job.reload_with("second")

    assert job.stops == []
    assert run.runs[0].is_closed


def test_a_job_that_has_ended_by_itself_is_not_stopped():
    """It ends while its values are read again."""
    job = Job()
    run = job.watch(meanwhile=job.reload.close)
    job.reload_with("second")

    assert job.stops == []
    assert run.runs[0].is_closed


def test_a_job_that_failed_after_a_change_begins_anew_though_it_was_not_stopped(caplog):
    """A database refuses its old password before the settling time is over."""
    job = Job(settling=30.0)
    job.watch()
    job.rotate("second")

    assert job.reload.next_run().content == "second"
    assert job.stops == []
    assert caplog.messages == ["Restart: the job failed after ${dir:/secrets} changed. It is submitted again."]


class WithKeys(Run):
    """A run that uses two keys of a directory."""

    def __init__(self, secret):
        super().__init__(secret)
        values = {ConfigVariable(*PLACE, "password"): secret.value, ConfigVariable(*PLACE, "user"): "user-of-the-job"}
        self.reverser = ReverseTransformer({}, values)

    def again(self):
        return WithKeys(self.secret)


def test_a_reload_names_the_reference_whose_value_has_changed(caplog):
    caplog.set_level("INFO")
    job = Job()
    job.run = WithKeys(job.secret)
    job.reload.watch(job.run)
    job.reload_with("second")

    assert caplog.messages == [
        "Restart: ${dir:/secrets:password} changed. The job is stopped, and submitted again with the new values."
    ]


def test_a_change_that_no_subscription_has_noticed_counts_when_the_job_failed():
    job = Job()
    job.watch()
    job.secret.value = "second"

    assert job.reload.next_run().content == "second"


PASSWORD = ConfigVariable("dir", "/secrets", "password")
USER = ConfigVariable("lender", "creds", "user")


class WithUser(Run):
    """A run with a database user that is made for it."""

    mark = 0

    def __init__(self, secret, earlier=None, **kwargs):
        super().__init__(secret, **kwargs)
        values = {PASSWORD: secret.value, USER: f"user-{id(self)}"}
        self.content = (*values.values(),)
        self.reverser = ReverseTransformer({}, values).knowing(earlier or ReverseTransformer({}, {}))

    def again(self):
        self.runs.append(WithUser(self.secret, self.reverser))
        return self.runs[-1]

    differs_from = JobRun.differs_from

    def read_dynamic_mark(self):
        return self.mark


def with_user(job):
    job.run = WithUser(job.secret)
    job.reload.watch(job.run)
    return job.run


def test_a_job_that_fails_does_not_begin_anew_because_each_run_has_a_user_of_its_own():
    job = Job()
    run = with_user(job)

    assert job.reload.next_run() is None
    assert all(one.is_closed for one in (*run.runs, *run.runs[0].runs))


def test_a_job_that_fails_begins_anew_if_something_besides_its_user_has_changed():
    job = Job()
    with_user(job)
    job.secret.value = "second"

    assert job.reload.next_run().secret.value == "second"


def test_a_job_that_fails_begins_anew_if_its_user_has_ended():
    job = Job()
    with_user(job)
    job.run.callback()

    assert job.reload.next_run() is not None


def test_a_refresh_does_not_restart_a_job_because_each_run_has_a_user_of_its_own():
    job = Job()
    run = with_user(job)
    run.mark = 1
    job.after(15)
    job.after(1)
    assert (len(run.runs), job.stops) == (1, [])

    job.reload_with("second")
    assert len(job.stops) == 1


def away(job):
    raise ProviderUnavailableError("The server is away.")


@pytest.mark.parametrize(
    "meanwhile",
    [
        pytest.param(lambda job: setattr(job.run.runs[0], "content", "first"), id="with the values of before"),
        pytest.param(away, id="while the provider is away"),
        pytest.param(lambda job: job.reload.give_up(), id="while it is killed"),
        pytest.param(lambda job: setattr(job.run.runs[0], "restarts", False), id="with the action none"),
    ],
)
def test_a_job_that_failed_does_not_begin_anew(meanwhile):
    job = Job(settling=30.0)
    run = job.watch(meanwhile=lambda: meanwhile(job))
    job.rotate("second")

    assert job.reload.next_run() is None
    job.reload.close()
    assert len(run.runs) == 1


def test_failures_after_changes_count_as_reloads():
    job = Job()
    for number in range(6):
        job.watch()
        job.rotate(f"value {number}")
        assert job.reload.next_run() is not None
    job.watch()
    job.rotate("one too many")

    assert job.reload.next_run() is None


def test_no_value_is_read_for_a_failed_job_that_may_not_begin_anew():
    job = Job()
    for number in range(7):
        run = job.watch()
        job.rotate(f"value {number}")
        job.reload.next_run()

    assert run.runs == []


def test_the_next_run_begins_only_when_the_stop_is_over():
    """The rest of a stop would do to the next job what it should do to this one."""
    goes_on, found = threading.Event(), []
    job = Job(lambda: goes_on.wait(LONGEST))
    job.watch()
    job.rotate("second")
    stopping = threading.Thread(target=job.after, args=(0,))
    stopping.start()
    assert eventually(lambda: job.stops)
    waiting = threading.Thread(target=lambda: found.append(job.reload.next_run()))
    waiting.start()
    waiting.join(0.2)
    assert found == []

    goes_on.set()
    stopping.join(LONGEST)
    waiting.join(LONGEST)
    assert found[0].content == "second"


def test_a_change_after_the_end_leaves_no_call():
    job = Job()
    run = job.watch()
    job.reload.close()
    run.callback()
    job.after(LONGEST)

    assert (job.stops, run.runs) == ([], [])


@pytest.mark.parametrize("kind", [RuntimeError, SystemExit])
def test_a_provider_that_cannot_subscribe_does_not_fail_the_job(caplog, kind):
    class Broken(Run):
        def subscribe(self, place, callback):
            raise kind("s3cret")

    job = Job()
    job.reload.watch(Broken(job.secret))

    assert f"Changes of ${{dir:/secrets}} are not noticed: {kind.__name__}" in caplog.text
    assert "s3cret" not in caplog.text


class Sealed(Run):
    """A run whose provider is unavailable for some subscriptions, as if Vault was sealed."""

    outages = 1

    def subscribe(self, place, callback):
        if self.outages:
            self.outages -= 1
            raise ProviderUnavailableError("Vault is sealed.")
        super().subscribe(place, callback)
        if self.secret.value != self.content:  # as JobRun does
            callback()


def test_a_provider_that_is_unavailable_at_first_is_subscribed_to_afterwards(caplog):
    job = Job()
    job.reload.watch(run := Sealed(job.secret))
    assert "Changes of ${dir:/secrets} are not noticed until its provider answers: Vault is sealed." in caplog.text

    job.after(60)
    assert eventually(lambda: run.callback)
    job.secret.value = "second"
    run.callback()
    job.after(0)
    assert job.reload.next_run().content == "second"


def test_a_change_while_a_provider_was_unavailable_is_found_when_it_answers():
    job = Job()
    job.reload.watch(Sealed(job.secret))
    job.secret.value = "second"
    job.after(60)

    assert eventually(lambda: (job.after(0), job.stops)[1])
    assert len(job.stops) == 1


def test_a_longer_outage_is_logged_once(caplog):
    job = Job()
    run = Sealed(job.secret)
    run.outages = 3
    job.reload.watch(run)

    assert eventually(lambda: (job.after(60), run.callback)[1])
    assert caplog.text.count("are not noticed") == 1


class AwayAndHanging(Run):
    """A run with a second provider, which is unavailable at first, and hangs when it is subscribed to again."""

    def __init__(self, secret):
        super().__init__(secret, places=(PLACE, ("away", "/secrets")))
        self.is_away, self.has_answered = True, False
        self.is_asked, self.goes_on = threading.Event(), threading.Event()

    def subscribe(self, place, callback):
        if place == PLACE:
            super().subscribe(place, callback)
        elif self.is_away:
            self.is_away = False
            raise ProviderUnavailableError("It is away.")
        else:
            self.is_asked.set()
            self.goes_on.wait(LONGEST)
            self.has_answered = True


def test_a_provider_that_hangs_when_it_is_subscribed_to_again_keeps_no_other_change_from_a_reload():
    job = Job()
    job.reload.watch(run := AwayAndHanging(job.secret))
    job.after(60)
    assert run.is_asked.wait(LONGEST)
    job.secret.value = "second"
    run.callback()
    job.after(0)
    assert (len(job.stops), run.has_answered) == (1, False)

    run.goes_on.set()


def test_after_the_end_of_a_job_nothing_is_subscribed_to_again():
    job = Job()
    run = Sealed(job.secret)
    job.reload.watch(run)
    job.reload.close()
    job.after(60)

    assert run.callback is None


def test_a_provider_that_hangs_while_it_subscribes_does_not_keep_the_job_from_beginning(caplog, monkeypatch):
    goes_on = threading.Event()

    class Hanging(Run):
        def subscribe(self, place, callback):
            goes_on.wait(LONGEST)

    monkeypatch.setattr(job_reload, "_PATIENCE", 0.01)
    job = Job()
    job.reload.watch(Hanging(job.secret))
    goes_on.set()

    assert "Changes of ${dir:/secrets} are not noticed until its provider answers: no answer" in caplog.text


def test_only_places_that_have_not_answered_are_told_of(caplog, monkeypatch):
    goes_on, hangs = threading.Event(), threading.Event()

    class Hanging(Run):
        def subscribe(self, place, callback):
            if place != PLACE:
                hangs.set()
                goes_on.wait(LONGEST)

    monkeypatch.setattr(job_reload, "wait", lambda calls, patience: hangs.wait(LONGEST))
    job = Job()
    job.reload.watch(Hanging(job.secret, places=(PLACE, ("dir", "/others"))))
    goes_on.set()

    assert "Changes of ${dir:/others} are not noticed" in caplog.text
    assert "Changes of ${dir:/secrets}" not in caplog.text


def test_a_provider_that_hangs_keeps_no_other_from_reporting_changes(monkeypatch):
    goes_on, subscribed = threading.Event(), []

    class Hanging(Run):
        def subscribe(self, place, callback):
            if place == PLACE:
                goes_on.wait(LONGEST)
            subscribed.append(place)

    monkeypatch.setattr(job_reload, "_PATIENCE", 0.01)
    job, other = Job(), ("vault", "apps")
    job.reload.watch(Hanging(job.secret, places=(PLACE, other)))

    assert eventually(lambda: subscribed == [other])
    goes_on.set()
    assert eventually(lambda: subscribed == [other, PLACE])
    job.reload.close()


def test_two_hundred_jobs_on_one_secret_restart_spread_over_the_settling_time():
    random.seed(14)
    clock = FakeClock()
    jobs = [Job(settling=30.0, clock=clock) for _ in range(200)]
    changes = Timetable("config-changes", clock, start=lambda run: None)
    secret = Secret(changes)
    heard = []
    for job in jobs:
        job.run = Run(secret)
        job.reload.watch(job.run)
        job.run.subscribe(PLACE, lambda: heard.append(1))
    secret.value = "second"
    clock.sleep(2)
    changes.run_due()
    assert eventually(lambda: len(heard) == 200)
    changed_at = clock()

    for _ in range(700):
        for job in jobs:
            job.after(0)
        clock.sleep(0.1)

    delays = [at - changed_at for job in jobs for at in job.stops]
    assert len(delays) == 200
    assert 30 <= min(delays) < 33
    assert 57 < max(delays) <= 60.2
    assert max(Counter(map(int, delays)).values()) <= 16  # of 200; 7 if they were spread evenly


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        pytest.param(ConfigException("denied"), 900, id="a refusal, which can be over without a change of a value"),
        pytest.param(OSError("s3cret"), 60, id="an error of somebody else, such as of Airflow's API"),
    ],
)
def test_a_reload_that_was_refused_is_tried_again_and_logged_once(caplog, error, seconds):
    job = Job()
    failures = [error, error]

    def fail():
        if failures:
            raise failures.pop()

    run = job.watch(meanwhile=fail)
    job.rotate("second")
    for pause in (0, seconds, seconds):
        job.after(pause)

    assert len(run.runs) == 3
    assert job.reload.next_run().content == "second"
    assert caplog.text.count("goes on as it is") == 1
    assert "s3cret" not in caplog.text


def test_a_wrong_value_that_is_corrected_at_once_is_read_twice():
    job = Job()

    def refuse():
        if job.secret.value == "wrong":
            raise ConfigException("it is wrong")

    run = job.watch(meanwhile=refuse)
    job.reload_with("wrong")
    job.reload_with("right")

    assert job.reload.next_run().content == "right"
    assert len(run.runs) == 2


def test_dynamic_configuration_is_looked_at_again_after_an_error_of_somebody_else():
    marks = [2, OSError("no route")]

    class Marked(Run):
        def read_dynamic_mark(self):
            mark = marks.pop()
            if isinstance(mark, Exception):
                raise mark
            return mark

    job = Job()
    job.reload.watch(run := Marked(job.secret))
    job.secret.value = "second"
    for _ in range(2):
        job.after(12)

    assert [next_run.content for next_run in run.runs] == ["second"]


def test_a_look_for_the_run_before_hides_no_change_from_the_next_run():
    class Marked(Run):
        dynamic_mark = 1

        def read_dynamic_mark(self):
            return 2

    class Before(Marked):
        def read_dynamic_mark(self):
            job.reload.next_run()
            job.reload.watch(following)
            return super().read_dynamic_mark()

    job = Job()
    following = Marked(job.secret)
    job.reload.watch(Before(job.secret))
    for _ in range(2):
        job.after(12)

    assert len(following.runs) == 1


def test_a_change_while_the_stopped_job_ends_stops_nothing_again():
    job = Job()
    run = job.watch()
    for value in ("second", "third"):
        job.rotate(value)
        job.after(0)

    assert len(job.stops) == 1
    assert run.runs[0].is_closed
    assert job.reload.next_run().content == "third"


class Unsubscribed(Run):
    """Its provider returns a ttl, and has no subscriptions."""

    def __init__(self, secret, ttl):
        super().__init__(secret)
        self.ttls = {PLACE: ttl}

    def subscribe(self, place, callback):
        raise NotImplementedError


def test_a_ttl_of_nothing_reads_values_once_a_second():
    job = Job()
    job.reload.watch(run := Unsubscribed(job.secret, 0))
    run.meanwhile = lambda: setattr(run.runs[-1], "ttls", run.ttls)
    for _ in range(10):
        job.after(1.01)

    assert len(run.runs) == 10


class SealedAndUnsubscribed(Sealed, Unsubscribed):
    """A run whose provider is unavailable at first, and then turns out to have no subscriptions."""


def test_after_an_outage_a_ttl_counts_of_a_provider_without_subscriptions(caplog):
    job = Job()
    job.reload.watch(run := SealedAndUnsubscribed(job.secret, 5_000))
    job.after(60)
    job.secret.value = "second"

    assert eventually(lambda: (job.after(5.1), run.runs)[1])
    assert [next_run.content for next_run in run.runs] == ["second"]
    assert caplog.text.count("are not noticed") == 1


def test_after_the_end_of_a_job_no_ttl_of_a_provider_without_subscriptions_counts():
    job = Job()
    run = SealedAndUnsubscribed(job.secret, 5_000)
    job.reload.watch(run)
    job.after(60)
    job.reload.close()
    job.after(LONGEST)

    assert run.runs == []


def test_the_next_look_is_when_the_newest_ttl_is_over():
    job = Job()
    job.reload.watch(run := Unsubscribed(job.secret, 60_000))
    run.meanwhile = lambda: setattr(run.runs[-1], "ttls", {PLACE: 5_000})
    job.after(60.1)
    job.after(5.1)

    assert len(run.runs) == 2


def test_the_end_of_a_ttl_of_the_run_before_reads_nothing_again():
    """Its timer was about to call when the next run began; the moment between two locks has no other door."""
    job = Job()
    before, run = Unsubscribed(job.secret, 60_000), Unsubscribed(job.secret, 60_000)
    job.reload.watch(before)
    job.reload.next_run()
    job.reload.watch(run)
    job.reload._note_end_of_ttl(before)
    job.after(0)

    assert run.runs == []


def in_another_thread(call):
    thread = threading.Thread(target=call)
    thread.start()
    thread.join(LONGEST)
