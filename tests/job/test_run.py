"""The values of one run, compared with those of an earlier one."""

from __future__ import annotations

import gc
import io
import os
import sys
import threading
from types import SimpleNamespace

import pytest
from airflow.sdk.execution_time import task_runner

from airflow_config_providers.airflow_compat import AirflowTaskTimeout
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.core.resolved_config import ResolvedConfig
from airflow_config_providers.core.resolver import ConfigResolver
from airflow_config_providers.core.reversal.reverse import ReverseTransformer
from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.exceptions import ProviderUnavailableError
from airflow_config_providers.job.run import JobRun
from airflow_config_providers.log import installation
from airflow_config_providers.log.reversing_guards import GuardedStream
from airflow_config_providers.testing import InMemoryConfigProvider
from tests.limits import LONGEST, eventually
from tests.servers import quick_python

NOW = "c4nary/n0w+value"  # no other test has it: a driver's values are known until its process ends
OLD = "c4nary/f0rmer+value"
PASSWORD = ConfigVariable("vault", "db", "password")
USER = ConfigVariable("vault", "db", "user")


def known(*pairs, hidden=()):
    return ReverseTransformer.of_pairs(pairs, hidden=hidden)


@pytest.mark.parametrize(
    ("submitted", "expected"),
    [
        pytest.param(known((PASSWORD, NOW)), False, id="the same value"),
        pytest.param(known((PASSWORD, OLD)), True, id="another value"),
        pytest.param(known((PASSWORD, NOW), (PASSWORD, OLD)), False, id="the same value, and another one before it"),
        pytest.param(known((PASSWORD, OLD), (PASSWORD, NOW)), True, id="another value, and this one before it"),
        pytest.param(known((USER, OLD)), False, id="a reference that the run does not have"),
        pytest.param(known(), False, id="nothing"),
    ],
)
def test_a_run_differs_from_another_if_one_of_their_references_has_another_value(submitted, expected):
    run = JobRun()
    run.reverser = known((PASSWORD, NOW))

    assert run.differs_from(submitted) is expected


@pytest.mark.parametrize(("before", "expected"), [(["dec1phered"], False), (["f0rmer"], True)])
def test_a_run_differs_from_another_if_a_decrypted_secret_is_not_one_of_it(before, expected):
    run = JobRun()
    run.reverser = known(hidden=["dec1phered"])

    assert run.differs_from(known(hidden=before)) is expected


@pytest.mark.parametrize(
    ("added", "is_same"),
    [
        pytest.param({"config.reload.action": "restart"}, True, id="the reload action, which is not for Spark"),
        pytest.param({"spark.app.user": "writer"}, False, id="another key"),
    ],
)
def test_the_content_of_a_run_is_what_spark_gets(added, is_same):
    conf = {"spark.app.name": "flights"}
    contents = [
        JobRun(ConfigResolver({}).resolve([ConfigLayer(ConfigSource.DAG_CONFIG, "conf", configs)])).content
        for configs in (conf, {**conf, **added})
    ]

    assert (contents[0] == contents[1]) is is_same


AT_THE_END = """
import os
import time
from airflow_config_providers.core.resolver import ConfigResolver
from airflow_config_providers.job.run import JobRun
run = JobRun(ConfigResolver({}).resolve([]), end=lambda: (time.sleep(0.2), print("given back", flush=True)))
"""


@pytest.mark.parametrize("ending", ["", "del run; os._exit(0)"], ids=["exit", "end of a fork"])
def test_a_process_that_ends_waits_for_the_providers_of_its_runs(ending):
    script = AT_THE_END + ending
    done = quick_python.run("-c", script, env=os.environ)

    assert (done.returncode, done.stdout) == (0, "given back\n"), done.stderr


PRINTING_LATE = """
import atexit
import logging
import sys
import threading
import time
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.core.resolver import ConfigResolver
from airflow_config_providers.job.run import JobRun
from airflow_config_providers.testing import InMemoryConfigProvider
VALUE = "c4nary/n0w+value"
logging.basicConfig(stream=sys.stdout, format="%(message)s")
def keep_printing():
    while True:
        print(VALUE, flush=True)
        time.sleep(0.01)
{before}
layers = [ConfigLayer(ConfigSource.DAG_CONFIG, "conf", {{"spark.app.password": "${{vault:db:password}}"}})]
vault = InMemoryConfigProvider({{"db": {{"password": VALUE}}}})
run = JobRun(ConfigResolver({{"vault": vault}}).resolve(layers), end=lambda: time.sleep(0.1))
{after}
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("atexit.register(print, VALUE)", "", id="registered-before"),
        pytest.param("atexit.register(print, VALUE, end='')", "", id="a-line-that-is-not-complete"),
        pytest.param("atexit.register(logging.error, VALUE)", "", id="logged"),
        pytest.param(
            "atexit.register(time.sleep, 0.1)",
            "threading.Thread(target=keep_printing, daemon=True).start()",
            id="a-thread",
        ),
        pytest.param("", "print(VALUE, end='')", id="printed-before-the-end"),
    ],
)
def test_until_a_process_is_gone_it_shows_references(before, after):
    done = quick_python.run("-c", PRINTING_LATE.format(before=before, after=after), env=os.environ)

    assert NOW not in done.stdout + done.stderr
    assert str(PASSWORD) in done.stdout


def test_values_of_an_earlier_process_are_known_until_the_run_is_closed(capsys):
    vault = InMemoryConfigProvider({"db": {"password": NOW}})
    layers = [ConfigLayer(ConfigSource.DAG_CONFIG, "conf", {"spark.app.password": str(PASSWORD)})]
    run = JobRun(ConfigResolver({"vault": vault}).resolve(layers))
    run.know(known((PASSWORD, OLD)))

    print(f"{OLD} {NOW}")
    run.close()
    print("nothing is replaced now:", OLD)

    assert capsys.readouterr().out.splitlines() == [f"{PASSWORD} {PASSWORD}", f"nothing is replaced now: {OLD}"]


def run_after_reloads(values):
    """Return the last of the runs that have each of ``values`` in turn, and know one value before their own."""
    run = None
    for value in values:
        vault = InMemoryConfigProvider({"db": {"password": value}})
        layers = [ConfigLayer(ConfigSource.DAG_CONFIG, "conf", {"spark.app.password": str(PASSWORD)})]
        before = run
        run = JobRun(ConfigResolver({"vault": vault}).resolve(layers), earlier=before and before.reverser)
        if before:
            before.close()
    return run


def test_after_many_reloads_the_first_value_and_the_last_ones_are_known_and_no_others(monkeypatch):
    """Each value makes every line of the log slower."""
    monkeypatch.setattr("airflow_config_providers.job.run.KEPT", 1)
    values = [f"c4nary/{number}+restarted" for number in range(5)]
    run = run_after_reloads(values)

    assert run.reverser.pairs == tuple((PASSWORD, values[number]) for number in (4, 3, 0))
    run.close()


def test_a_supervisor_that_logs_what_it_gets_shows_references(monkeypatch, capsys):
    supervisor = SimpleNamespace(send=lambda message: print("Sending request", message.value))
    monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", supervisor, raising=False)
    vault = InMemoryConfigProvider({"db": {"password": NOW}})
    layers = [ConfigLayer(ConfigSource.DAG_CONFIG, "conf", {"spark.app.password": str(PASSWORD)})]
    run = JobRun(ConfigResolver({"vault": vault}).resolve(layers))
    run.know(known((PASSWORD, OLD)))
    run.close()

    assert capsys.readouterr().out.splitlines() == [f"Sending request {PASSWORD}"] * 2


class Pushing(InMemoryConfigProvider):
    """A provider whose ``subscribe`` reads nothing, as KIP-297 allows, so that it succeeds during an outage."""

    def __init__(self):
        super().__init__({"db": {"password": NOW}})
        self.is_down = False
        self.subscribed = []

    def get(self, path, keys=None):
        if self.is_down:
            raise ProviderUnavailableError("Vault is sealed.")
        return super().get(path, keys)

    def subscribe(self, path, keys, callback):
        self.subscribed.append(callback)

    def unsubscribe(self, path, keys, callback):
        self.subscribed.remove(callback)


class PushingForEver(Pushing):
    """The same, with no way to end a subscription."""

    def unsubscribe(self, path, keys, callback):
        raise NotImplementedError


@pytest.mark.parametrize(("kind", "left"), [(Pushing, 1), (PushingForEver, 4)], ids=["undone", "not undone"])
def test_an_outage_leaves_no_subscription_behind_if_the_provider_can_end_one(kind, left):
    vault = kind()
    layers = [ConfigLayer(ConfigSource.DAG_CONFIG, "conf", {"spark.app.password": str(PASSWORD)})]
    resolver = SimpleNamespace(withheld=frozenset, providers=SimpleNamespace(named={"vault": vault}.get))
    run = JobRun(ConfigResolver({"vault": vault}).resolve(layers), resolver)
    vault.is_down = True
    for _ in range(3):
        with pytest.raises(ProviderUnavailableError, match=r"^Vault is sealed\.$"):
            run.subscribe(("vault", "db"), pytest.fail)
    vault.is_down = False
    run.subscribe(("vault", "db"), pytest.fail)

    assert len(vault.subscribed) == left


class FailingResolver:
    def withheld(self):
        raise OSError("a file of a provider cannot be read")


def test_a_run_that_cannot_begin_is_ended():
    ended = []

    with pytest.raises(OSError, match="cannot be read"):
        JobRun(ConfigResolver({}).resolve([]), FailingResolver(), end=lambda: ended.append(True))

    assert ended == [True]


def test_a_run_that_is_interrupted_while_it_prepares_the_search_for_values_is_ended(monkeypatch):
    def interrupt(resolved):
        raise AirflowTaskTimeout

    monkeypatch.setattr(ResolvedConfig, "reverser", property(interrupt))
    ended = []

    with pytest.raises(AirflowTaskTimeout):
        JobRun(ConfigResolver({}).resolve([]), end=lambda: ended.append(True))

    assert ended == [True]


def test_a_thread_that_collects_a_run_can_hold_a_lock_that_its_providers_need():
    lock, closed = threading.Lock(), threading.Event()

    def end():
        with lock:
            closed.set()

    with lock:
        JobRun(ConfigResolver({}).resolve([]), end=end)
        gc.collect()
    assert closed.wait(LONGEST)


class Collecting(io.StringIO):
    """Collects garbage in the middle of a write, while another thread that uninstalls its guard waits for the write."""

    def __init__(self, other: installation.Installation) -> None:
        super().__init__()
        self._uninstalling = threading.Thread(target=other.uninstall, daemon=True)

    def write(self, text: str) -> int:
        if not self._uninstalling.ident:
            self._uninstalling.start()
            assert eventually(lambda: is_releasing(self._uninstalling))
            gc.collect()
        return super().write(text)


def is_releasing(thread: threading.Thread) -> bool:
    """Return whether a thread writes what a stream holds back; while another one writes to it, it waits for that."""
    frame = sys._current_frames().get(thread.ident or 0)
    return frame is not None and frame.f_code is GuardedStream.release.__code__


def test_a_thread_that_collects_an_ended_run_can_be_writing_to_a_stream_that_another_releases(monkeypatch):
    vault = InMemoryConfigProvider({"db": {"password": NOW}})
    layers = [ConfigLayer(ConfigSource.DAG_CONFIG, "conf", {"spark.app.password": str(PASSWORD)})]
    other = installation.install(known((USER, OLD)))
    out = Collecting(other)
    monkeypatch.setattr(sys, "stdout", out)
    run = JobRun(ConfigResolver({"vault": vault}).resolve(layers))
    run.me = run  # only the collector frees it
    run.clear()
    ended = run._installation
    del run

    writing = threading.Thread(target=print, args=("a line",), daemon=True)
    writing.start()
    writing.join(LONGEST)

    assert out.getvalue() == "a line\n"
    assert eventually(lambda: not ended.is_active)
    other.uninstall()
