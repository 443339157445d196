"""What a task stores through backends of the deployment, which get it before Airflow does."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import ClassVar

import pytest
from airflow.sdk.bases.xcom import BaseXCom
from airflow.sdk.execution_time import context as airflow_context
from airflow.sdk.execution_time import xcom

from airflow_config_providers.job.records.entries import PREFIX, record_key, unpacked
from airflow_config_providers.job.records.record import TaskTry
from airflow_config_providers.operators.reversal import backend_guards
from tests.canary import CANARY
from tests.operators.stock import OurOperator

pytestmark = pytest.mark.usefixtures("connections")

HAS_BACKENDS_OF_STATE = hasattr(airflow_context, "_get_worker_state_store_backend")

if HAS_BACKENDS_OF_STATE:
    from airflow.sdk._shared.state import BaseStoreBackend
    from airflow.sdk.execution_time.context import AssetStateStoreAccessor

    class Elsewhere(BaseStoreBackend):
        """Keeps states in memory, and gives Airflow only their addresses."""

        kept: ClassVar[dict[str, object]] = {}

        def serialize_task_state_store_to_ref(self, *, value, key, scope):
            return self._put(f"task/{key}", value)

        def serialize_asset_state_store_to_ref(self, *, value, key, scope):
            return self._put(f"{scope.name}/{key}", value)

        def _put(self, place, value):
            self.kept[place] = value
            return f"memory://{BUCKET}/{place}"

        def deserialize_task_state_store_from_ref(self, stored):
            return self.kept[stored.removeprefix(f"memory://{BUCKET}/")]

        deserialize_asset_state_store_from_ref = deserialize_task_state_store_from_ref

        def delete(self, scope, key, *, session=None):
            del self.kept[f"task/{key}"]

        async def adelete(self, scope, key, *, session=None):
            del self.kept[f"{scope.name}/{key}"]

        def get(self, *args, **kwargs):
            raise NotImplementedError

        set = clear = aget = aset = aclear = get


BUCKET = "of-this-deployment"


@pytest.mark.parametrize("value", ["return", "return_value", "value"])
def test_a_result_is_found_whose_key_is_a_value(dag, run_task, secrets_dir, value):
    (secrets_dir / "word").write_text(value)
    job = OurOperator(task_id="job", dag=dag, payload=f"${{dir:{secrets_dir}:word}}", do=lambda *_: {"rows": 3})

    run = run_task(job)

    assert [(sent.key, sent.value) for sent in run.supervisor.sent("SetXCom")] == [("return_value", {"rows": 3})]


@pytest.fixture
def elsewhere(monkeypatch):
    """What the worker's backend of state has got: place -> state."""
    if not HAS_BACKENDS_OF_STATE:
        pytest.skip("since Airflow 3.3")
    monkeypatch.setenv("AIRFLOW__WORKERS__STATE_STORE_BACKEND", f"{__name__}.Elsewhere")
    monkeypatch.setattr(Elsewhere, "kept", {})
    airflow_context._get_worker_state_store_backend.cache_clear()
    yield Elsewhere.kept
    airflow_context._get_worker_state_store_backend.cache_clear()


def without_records(states):
    return {place: state for place, state in states.items() if PREFIX not in place}


def test_a_backend_of_state_gets_references(dag, run_task, password, state, elsewhere):
    def do(self, context):
        context["task_state_store"].set("login", {"url": f"jdbc:x?p={self.payload}"})
        AssetStateStoreAccessor(name="flights").set("seen", [self.payload])
        asyncio.run(AssetStateStoreAccessor(name="flights").aset("later", self.payload))

    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=do), state=state)

    assert run.state == "success"
    assert without_records(elsewhere) == {
        "task/login": {"url": f"jdbc:x?p={password}"},
        "flights/seen": [password],
        "flights/later": password,
    }


def test_a_backend_of_state_gets_the_record_and_airflow_its_address(dag, run_task, password, state, elsewhere):
    run_task(OurOperator(task_id="job", dag=dag, payload=password, do=lambda self, context: None), state=state)

    kept = {place.removeprefix("task/"): entry for place, entry in elsewhere.items()}
    record = unpacked(kept, TaskTry("flights", "job", "run-1", -1, 1))
    assert list(record.references) == [password]
    assert list(state[record_key(1)].values()) == [f"memory://{BUCKET}/task/{record_key(1)}"]


def test_a_state_whose_key_has_a_value_is_found_again_and_deleted(dag, run_task, password, state, elsewhere):
    seen = []

    def do(self, context):
        states, key = context["task_state_store"], f"of {self.payload}"
        states.set(key, {"x": 1})
        seen.extend([states.get(key), list(without_records(elsewhere))])
        states.delete(key)

    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=do), state=state)

    assert run.state == "success"
    assert seen == [{"x": 1}, [f"task/of {password}"]]
    assert without_records(elsewhere) == without_records(state) == {}


def test_a_state_of_an_asset_whose_key_has_a_value_is_deleted(dag, run_task, password, elsewhere):
    def do(self, context):
        states, key = AssetStateStoreAccessor(name="flights"), f"of {self.payload}"
        states.set(key, 1)
        asyncio.run(states.adelete(key))

    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=do))

    assert run.state == "success"
    assert without_records(elsewhere) == {}


def test_the_address_that_a_backend_returns_is_stored_as_it_is(dag, run_task, secrets_dir, state, elsewhere):
    (secrets_dir / "bucket").write_text(BUCKET)

    def do(self, context):
        context["task_state_store"].set("cursor", 1)
        assert context["task_state_store"].get("cursor") == 1

    payload = f"${{dir:{secrets_dir}:bucket}}"
    run = run_task(OurOperator(task_id="job", dag=dag, payload=payload, do=do), state=state)

    assert run.state == "success"
    assert list(state["cursor"].values()) == [f"memory://{BUCKET}/task/cursor"]


def test_without_a_backend_a_state_that_looks_like_an_address_gets_references(dag, run_task, password, state):
    if not HAS_BACKENDS_OF_STATE:
        pytest.skip("since Airflow 3.3")

    def do(self, context):
        context["task_state_store"].set("cursor", {"__airflow_state_ref__": self.payload})

    run_task(OurOperator(task_id="job", dag=dag, payload=password, do=do), state=state)

    assert without_records(state) == {"cursor": {"__airflow_state_ref__": password}}


@pytest.fixture
def nothing_known():
    """Put aside the values of tasks of other tests, which are known until the tasks are collected."""
    left = backend_guards._known.reversers
    for reverser in left:
        backend_guards._known.remove(reverser)
    yield
    for reverser in left:
        backend_guards._known.know(reverser)


@pytest.mark.usefixtures("nothing_known")
def test_a_task_without_values_leaves_a_backend_of_state_alone(dag, run_task, password, elsewhere):
    run_task(
        OurOperator(task_id="job", dag=dag, payload=password, do=lambda self, context: None)
    ).task._try_state.run.close()

    assert type(airflow_context._get_worker_state_store_backend()) is Elsewhere


class Away(BaseXCom):
    """Puts XComs elsewhere."""

    got: ClassVar[list[object]] = []

    @staticmethod
    def serialize_value(value, *, key=None, **place):
        if not key.startswith(PREFIX):
            Away.got.append((key, value))
        return BaseXCom.serialize_value("s3://bucket/1", key=key, **place)


@pytest.fixture
def away(monkeypatch):
    """What the deployment's backend of XComs has got."""
    from airflow.sdk.execution_time import task_runner

    monkeypatch.setattr(Away, "got", [])
    for module in (xcom, task_runner):
        monkeypatch.setattr(module, "XCom", Away)
    return Away.got


PLACE = {"dag_id": "flights", "task_id": "job", "run_id": "run-1"}


def push(self, context):
    context["ti"].xcom_push(f"of {self.payload}", [self.payload])


def push_later(self, context):
    asyncio.run(context["ti"].axcom_push(f"of {self.payload}", [self.payload]))


def set_directly(self, context):
    xcom.XCom.set(f"of {self.payload}", [self.payload], **PLACE)


def set_by_name(self, context):
    xcom.XCom.set(key=f"of {self.payload}", value=[self.payload], **PLACE)


def set_later(self, context):
    asyncio.run(xcom.XCom.aset(f"of {self.payload}", [self.payload], **PLACE))


SINCE_33 = pytest.mark.skipif(not hasattr(BaseXCom, "aset"), reason="since Airflow 3.3")


@pytest.mark.parametrize(
    "do",
    [
        push,
        set_directly,
        set_by_name,
        pytest.param(set_later, marks=SINCE_33),
        pytest.param(push_later, marks=SINCE_33),
    ],
)
def test_a_backend_of_xcoms_gets_references(dag, run_task, password, away, do, caplog):
    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=do))
    (sent,) = run.supervisor.sent("SetXCom")

    assert away == [(f"of {password}", [password])]
    assert (sent.key, sent.value) == (f"of {password}", "s3://bucket/1")
    assert f"stored with the reference, as of {password}" in caplog.text


def pulled(context, key):
    return [context["ti"].xcom_pull("job", key=key, map_indexes=at) for at in (-1, None)]


def test_an_xcom_whose_key_has_a_value_is_found_again_and_deleted(dag, run_task, password):
    seen = []

    def do(self, context):
        key = f"of {self.payload}"
        context["ti"].xcom_push(key, {"x": 1})
        seen.append(pulled(context, key))
        xcom.XCom.delete(key, **PLACE)
        seen.append(context["ti"].xcom_pull("job", key=key, map_indexes=-1))

    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=do))

    assert (run.state, run.error) == ("success", None)
    assert seen == [[{"x": 1}, {"x": 1}], None]
    assert {message.key for message in run.supervisor.sent("DeleteXCom")} == {f"of {password}"}


def test_the_key_of_an_xcom_of_another_task_is_asked_for_with_the_reference_and_the_log_says_so(
    dag, run_task, password, caplog
):
    def pull(self, context):
        return context["ti"].xcom_pull("before", key=f"of {self.payload}", map_indexes=-1)

    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=pull))

    assert [message.key for message in run.supervisor.sent("GetXCom")] == [f"of {password}"]
    assert f"so it is asked for as of {password}" in caplog.text


def test_the_key_of_a_result_is_asked_for_as_it_is(dag, run_task, secrets_dir):
    (secrets_dir / "word").write_text("return_value")

    def pull(self, context):
        return context["ti"].xcom_pull("before", map_indexes=-1)

    job = OurOperator(task_id="job", dag=dag, payload=f"${{dir:{secrets_dir}:word}}", do=pull)
    run = run_task(job, results={"before": "done"})

    assert [message.key for message in run.supervisor.sent("GetXCom")] == ["return_value"]


@dataclass
class Login:
    """Hides a field from its string, but not from what Airflow stores."""

    password: str = field(repr=False)


def test_an_object_in_an_xcom_that_is_set_directly_does_not_keep_a_value(dag, run_task, password):
    def do(self, context):
        xcom.XCom.set("login", Login(self.payload), **PLACE)

    (sent,) = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=do)).supervisor.sent("SetXCom")

    assert CANARY not in repr(sent)
    assert sent.value == "Login()"
