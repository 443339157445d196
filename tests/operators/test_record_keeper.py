"""Where records are kept, and what happens if they cannot be."""

from __future__ import annotations

import errno
import ssl
from types import SimpleNamespace

import pytest
from airflow.sdk.execution_time import task_runner

from airflow_config_providers.core.layers import ConfigLayer, ConfigSource, LayeredConfig
from airflow_config_providers.core.reversal.reverse import ReverseTransformer
from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.job.records.entries import record_key, unpacked
from airflow_config_providers.job.records.record import RecordedValue, TaskTry, TryRecord
from airflow_config_providers.operators.record_keeper import RecordKeeper, refused_try
from tests.canary import CANARY

PASSWORD = ConfigVariable("vault", "apps/db", "password")
TASK = TaskTry("flights", "job", "run-1")
KNOWING = ReverseTransformer({}, {PASSWORD: CANARY})
NOTHING = ReverseTransformer({}, {})


class Store(dict):
    """The state of a task, as Airflow has it."""

    set = dict.__setitem__


class Away:
    """A state store whose server does not answer, and says so with a value."""

    def get(self, key):
        raise ConnectionError(CANARY)

    def set(self, key, value):
        raise ConnectionError(CANARY)


class Log:
    """Remembers warnings."""

    def __init__(self):
        self.warnings = []

    def warning(self, text, *arguments):
        self.warnings.append(text % arguments)


@pytest.fixture
def store():
    return Store()


@pytest.fixture
def log():
    return Log()


@pytest.fixture
def keeper(store, log):
    return RecordKeeper(store, None, log)


def record(value="1", at="2026-11-23T17:00:00.000+00:00", **fields):
    return TryRecord(TASK, at, {"spark.app.x": [RecordedValue("DAG_CONFIG", "conf", value)]}, **fields)


def test_a_record_is_kept_without_values(keeper, store):
    keeper.keep(lambda: record(f"a {CANARY}"), KNOWING)

    assert unpacked(store, TASK).configs["spark.app.x"][0].value == f"a {PASSWORD}"


def test_a_job_that_is_restarted_has_a_record_of_what_it_had_last(keeper, store):
    keeper.keep(lambda: record("1"), NOTHING)
    keeper.keep(lambda: record("2", at="2026-11-23T18:00:00.000+00:00"), NOTHING)
    found = unpacked(store, TASK)

    assert (found.configs["spark.app.x"][0].value, found.restarts) == ("2", 1)
    assert found.at == "2026-11-23T17:00:00.000+00:00"


def test_the_id_of_a_job_is_added_without_values(keeper, store):
    keeper.keep(record, NOTHING)
    keeper.keep_job(f"driver-{CANARY}", KNOWING)

    assert unpacked(store, TASK).job == f"driver-{PASSWORD}"


def test_without_a_record_no_id_is_kept(keeper, store, monkeypatch):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RECORDS_ENABLED", "False")
    keeper.keep(record, NOTHING)
    keeper.keep_job("driver-1", NOTHING)

    assert store == {}


def test_a_refusal_does_not_replace_the_record_of_a_job(keeper, store):
    """A task that was deferred settles its configuration again when it continues, in the same try."""
    keeper.keep(lambda: record("submitted"), NOTHING)
    RecordKeeper(store, None, None).keep_refused(lambda: record("refused"))

    assert unpacked(store, TASK).configs["spark.app.x"][0].value == "submitted"


@pytest.mark.parametrize(("job", "expected"), [(None, "refused"), ("driver-1", "submitted")])
def test_a_late_refusal_replaces_a_record_without_a_job(keeper, store, job, expected):
    keeper.keep(lambda: record("submitted"), NOTHING)
    keeper.keep_job(job, NOTHING)
    RecordKeeper(store, None, None).keep_refused(lambda: record("refused"), is_late=True)

    assert unpacked(store, TASK).configs["spark.app.x"][0].value == expected


def test_a_refusal_does_not_replace_the_record_of_a_job_among_xcoms(log):
    """As above, with Airflow 3.2, which has no state of tasks."""
    xcoms = {}
    RecordKeeper(None, xcoms.__setitem__, log, pull=xcoms.get).keep(lambda: record("submitted"), NOTHING)
    RecordKeeper(None, xcoms.__setitem__, log, pull=xcoms.get).keep_refused(lambda: record("refused"))

    assert unpacked(xcoms, TASK).configs["spark.app.x"][0].value == "submitted"


def test_a_refusal_is_kept_if_there_is_no_other_xcom(log):
    xcoms = {}
    RecordKeeper(None, xcoms.__setitem__, log, pull=xcoms.get).keep_refused(lambda: record(problems=("no",)))

    assert list(xcoms) == [record_key(1)]


def test_a_record_is_looked_for_among_the_xcoms_of_the_same_mapped_task(log, monkeypatch):
    pulled = []
    ti = SimpleNamespace(map_index=3, xcom_push=None, xcom_pull=lambda **asked: pulled.append(asked) or "a record")
    monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", object(), raising=False)
    RecordKeeper.of({"ti": ti}, log).keep_refused(lambda: record("refused"))

    assert pulled == [{"key": record_key(1), "map_indexes": 3}]
    assert log.warnings == []


def test_a_refusal_is_kept_if_there_is_nothing_else(keeper, store):
    keeper.keep_refused(lambda: record(problems=("no",)))

    assert list(store) == [record_key(1)]


def test_a_store_that_is_away_is_one_warning_without_what_it_says(log):
    keeper = RecordKeeper(Away(), None, log)
    keeper.keep(record, NOTHING)
    keeper.keep_job("driver-1", NOTHING)

    assert log.warnings == ["The record of this try could not be kept: ConnectionError"]


def test_the_reason_of_the_system_is_given_in_its_own_words(log):
    class Full(Away):
        def set(self, key, value):
            raise OSError(errno.ENOSPC, CANARY, f"/records/{CANARY}")

    RecordKeeper(Full(), None, log).keep(record, NOTHING)

    assert log.warnings == ["The record of this try could not be kept: No space left on device"]


def test_a_number_of_tls_is_not_taken_for_one_of_the_system(log):
    class Untrusted(Away):
        def set(self, key, value):
            raise ssl.SSLCertVerificationError(1, CANARY)

    RecordKeeper(Untrusted(), None, log).keep(record, NOTHING)

    assert log.warnings == ["The record of this try could not be kept: SSLCertVerificationError"]


def test_a_record_that_cannot_be_made_is_a_warning_too(keeper, log):
    keeper.keep(lambda: {}[CANARY], NOTHING)

    assert log.warnings == ["The record of this try could not be kept: KeyError"]


def test_neither_state_nor_xcom_keeps_nothing(log):
    RecordKeeper(None, None, log).keep(record, NOTHING)

    assert log.warnings == []


def begun_in(bundle_version):
    """The record of a try whose DAG file is in a folder that is called ``c0ffee``."""
    dag = SimpleNamespace(fileloc="/bundles/git/versions/c0ffee/dags/flights.py")
    bundle = SimpleNamespace(name="git", version=bundle_version)
    ti = SimpleNamespace(dag_id="d", task_id="t", run_id="r", task=SimpleNamespace(dag=dag), bundle_instance=bundle)
    return refused_try(ti, None, (), spark=None)


def test_a_record_has_the_folder_of_the_version_of_the_bundle():
    assert begun_in("c0ffee").bundle_folder == "/bundles/git/versions/c0ffee"


def test_a_record_of_a_bundle_without_versions_has_no_folder():
    assert (begun_in(None).dag_file, begun_in(None).bundle_folder) == ("", "")


@pytest.mark.parametrize(
    ("now", "changed"),
    [
        ({"a": "1", "b": "${vault:apps/db:password}"}, []),
        ({"a": "2", "b": "${vault:apps/db:password}"}, ["a"]),
        ({"a": "1", "c": "3"}, ["b", "c"]),
        ({}, ["a", "b"]),
    ],
    ids=["as it was", "another value", "another key", "nothing"],
)
def test_keys_that_changed_since_the_record_of_the_try_are_known(store, log, now, changed):
    ti = SimpleNamespace(dag_id="flights", task_id="job", run_id="run-1", map_index=-1, try_number=1)
    of = {"a": "1", "b": "${vault:apps/db:password}"}
    earlier = TryRecord(TaskTry.of(ti), "", {key: [RecordedValue("DAG_CONFIG", "x", text)] for key, text in of.items()})
    RecordKeeper(store, None, log).keep(lambda: earlier, NOTHING)
    layered = LayeredConfig([ConfigLayer(ConfigSource.DAG_CONFIG, "conf", now)])

    assert RecordKeeper(store, None, log).changed_keys(ti, layered, KNOWING) == changed


@pytest.mark.parametrize("store", [Store(), Away(), None], ids=["no record", "no answer", "no store"])
def test_without_a_record_of_the_try_no_changes_are_known(store, log):
    ti = SimpleNamespace(dag_id="flights", task_id="job", run_id="run-1", map_index=-1, try_number=1)

    assert RecordKeeper(store, None, log).changed_keys(ti, LayeredConfig([]), NOTHING) is None
