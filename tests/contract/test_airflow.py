"""The private names of Airflow that we lean on. A version that changes one must break here, and loudly."""

from __future__ import annotations

import inspect
import re
import typing
from contextlib import suppress

import pytest
import structlog
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, BaseOperator
from airflow.sdk._shared.logging.structlog import redact_jwt, structlog_processors
from airflow.sdk.bases.operator import ExecutorSafeguard
from airflow.sdk.definitions.mappedoperator import MappedOperator
from airflow.sdk.execution_time import comms, context, task_runner
from airflow.sdk.execution_time.context import OutletEventAccessor
from airflow.sdk.execution_time.supervisor import InProcessSupervisorComms
from airflow.sdk.execution_time.xcom import XCom

from airflow_config_providers.operators.reversal.task_output import STORED, STORED_IF_THERE


def test_rendering_goes_through_the_method_that_mapped_tasks_call():
    parameters = list(inspect.signature(BaseOperator._do_render_template_fields).parameters)

    assert parameters == ["self", "parent", "template_fields", "context", "jinja_env", "seen_oids"]
    assert "_do_render_template_fields" in inspect.getsource(MappedOperator.render_template_fields)
    assert "self._do_render_template_fields(self, " in inspect.getsource(BaseOperator.render_template_fields)


def test_each_string_in_a_field_is_filled_in_by_a_call_of_its_own():
    parameters = list(inspect.signature(BaseOperator.render_template).parameters)
    source = inspect.getsource(BaseOperator.render_template)

    assert parameters == ["self", "content", "context", "jinja_env", "seen_oids"]
    assert source.count("self.render_template(") == source.count(", context, jinja_env, oids)") - 1


@pytest.mark.parametrize("value", [{"pool": ["a"]}, [{"pool": "a"}]], ids=["expand", "expand_kwargs"])
def test_a_mapped_task_knows_what_it_is_mapped_over(value):
    with DAG("mapped", schedule=None) as dag:
        partial = EmptyOperator.partial(task_id="t", doc="x")
        _ = partial.expand_kwargs(value) if isinstance(value, list) else partial.expand(**value)
    mapped = dag.task_dict["t"]

    assert mapped.is_mapped
    assert mapped._get_specified_expand_input().value == value
    assert mapped.partial_kwargs["doc"] == "x"


def test_a_run_renders_a_locked_copy_and_a_preview_does_not():
    task = BaseOperator(task_id="t")

    assert task._lock_for_execution is False
    assert task.prepare_for_execution()._lock_for_execution is True


def test_a_copy_for_execution_is_shallow():
    task = BaseOperator(task_id="t")
    task.marker = object()

    assert task.prepare_for_execution().marker is task.marker


def test_a_task_log_begins_with_a_group_that_ends_after_rendering():
    assert "::group::Pre Execute" in inspect.getsource(task_runner.main)
    assert "::endgroup::" in inspect.getsource(task_runner._execute_task)


def test_the_task_process_has_its_supervisor_in_the_task_runner():
    assert "SUPERVISOR_COMMS" in task_runner.__annotations__ or hasattr(task_runner, "SUPERVISOR_COMMS")


def test_only_a_supervisor_in_the_process_of_its_task_can_be_reached_from_there():
    assert hasattr(InProcessSupervisorComms, "supervisor")
    assert not hasattr(comms.CommsDecoder, "supervisor")


def test_execute_may_call_that_of_the_parent():
    assert "maybe the subclass execute did have it passed" in inspect.getsource(ExecutorSafeguard.decorator)


def test_both_logging_chains_are_mutable_lists_with_the_jwt_rule_in_them():
    shared, _, _ = structlog_processors(json_output=False)

    assert isinstance(shared, list)
    assert redact_jwt in shared
    assert isinstance(structlog.get_config()["processors"], list)


_NOT_STORED = {
    *("ClearAssetStateStoreByName", "ClearAssetStateStoreByUri", "ClearTaskStateStore", "DeleteVariable"),
    *("MaskSecret", "ResendLoggingFD", "SetExecutionTimeout", "SkipDownstreamTasks"),
    "ValidateInletsAndOutlets",
}
"""Identifiers, what a task means for others to read, and what teaches the masker."""

_WHEN_A_TASK_HAS_ENDED = {"AwaitInputTask", "DeferTask", "RescheduleTask", "RetryTask", "SucceedTask", "TaskState"}
"""
Made of the context, of what was raised, and of the task, which are reversed by then, except for the label and the
reason that a policy of retries gives.
"""


_SINCE_AIRFLOW_3_3 = {"AwaitInputTask", *(f"{verb}TaskStateStore" for verb in ("Clear", "Delete", "Get", "Set"))} | {
    f"{verb}AssetStateStoreBy{what}" for verb in ("Clear", "Delete", "Get", "Set") for what in ("Name", "Uri")
}

_SINCE_AIRFLOW_3_4 = {"SetExecutionTimeout", "UpdateDagRunNote"}


def messages():
    from airflow.sdk.execution_time.comms import ToSupervisor

    return {kind.__name__ for kind in typing.get_args(typing.get_args(ToSupervisor)[0])}


def test_every_message_of_a_task_is_thought_of():
    asking = {name for name in messages() if name.startswith("Get")}
    thought_of = set(STORED) | _NOT_STORED | _WHEN_A_TASK_HAS_ENDED

    assert messages() - asking <= thought_of
    assert thought_of - messages() in (set(), _SINCE_AIRFLOW_3_4, _SINCE_AIRFLOW_3_3 | _SINCE_AIRFLOW_3_4)


def test_a_run_is_named_by_its_id_in_two_fields():
    from airflow.sdk.execution_time.comms import ToSupervisor

    fields = {field for kind in typing.get_args(typing.get_args(ToSupervisor)[0]) for field in kind.model_fields}

    assert {field for field in fields if "run_id" in field} == {"run_id", "run_ids"}


def test_the_id_of_a_run_may_have_what_is_left_of_a_reference():
    from airflow.configuration import conf

    assert conf.get_default_value("scheduler", "allowed_run_id_pattern") == r"^[A-Za-z0-9_.~:+-]+$"


@pytest.mark.parametrize("name", sorted(STORED.keys() & messages()))
def test_a_message_has_the_fields_that_airflow_stores(name):
    assert set(STORED[name]) <= set(getattr(comms, name).model_fields)


_CAME_WITH = {"RetryTask": "AwaitInputTask", "TaskState": "UpdateDagRunNote"}
"""Message with fields that not every Airflow has -> one that the same version brought."""


@pytest.mark.parametrize("name", sorted(STORED_IF_THERE))
def test_so_has_one_with_fields_that_not_every_airflow_has(name):
    if _CAME_WITH[name] not in messages():
        pytest.skip("a later Airflow brought them")

    assert set(STORED_IF_THERE[name]) <= set(getattr(comms, name).model_fields)


def test_outlet_events_are_sent_as_their_mapping_has_them():
    assert "events._dict.items()" in inspect.getsource(task_runner._serialize_outlet_events)
    assert set(OutletEventAccessor.__annotations__) >= {"key", "extra", "asset_alias_events"}


def test_the_tables_in_which_airflow_keeps_records_have_these_columns():
    """``describe --run`` reads them; the state of tasks came with Airflow 3.3."""
    from airflow.models.xcom import XComModel

    from airflow_config_providers.airflow_compat import map_index_of

    models = [(XComModel, "timestamp")]
    with suppress(ModuleNotFoundError):
        from airflow.models.task_state_store import TaskStateStoreModel

        models.append((TaskStateStoreModel, "updated_at"))

    for model, when in models:
        columns = {"dag_id", "task_id", "run_id", map_index_of(model).key, "key", "value", when}
        assert columns <= set(model.__mapper__.attrs.keys())


def test_the_runner_of_tasks_knows_the_version_and_the_bundle_of_a_dag():
    """Records have them."""
    from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance

    assert {"dag_version_id", "bundle_instance", "try_number", "map_index"} <= set(RuntimeTaskInstance.model_fields)


def test_an_xcom_is_stored_by_a_class_method_with_these_parameters():
    assert list(inspect.signature(XCom.set).parameters)[:2] == ["key", "value"]
    if hasattr(XCom, "_push"):  # since Airflow 3.4
        assert list(inspect.signature(XCom._push).parameters)[:3] == ["ti", "key", "value"]
        assert "XCom._push(ti, key, value, " in inspect.getsource(task_runner._xcom_push)
        assert "XCom._apush(ti, key, value, " in inspect.getsource(task_runner._axcom_push)
    else:
        assert re.search(r"XCom\.set\(\s*key=key,\s*value=value,", inspect.getsource(task_runner._xcom_push))


@pytest.mark.skipif(not hasattr(context, "_get_worker_state_store_backend"), reason="since Airflow 3.3")
@pytest.mark.parametrize("kind", ["TaskStateStoreAccessor", "AssetStateStoreAccessor"])
def test_a_store_of_state_asks_for_its_backend_by_name_and_gives_it_key_and_value(kind):
    source = inspect.getsource(getattr(context, kind))
    used = set(re.findall(r"\bbackend\.(\w+)\(", source))
    store = "serialize_task_state_store_to_ref" if kind.startswith("Task") else "serialize_asset_state_store_to_ref"

    assert "backend = _get_worker_state_store_backend()" in source
    assert f"backend.{store}(value=value, key=key, scope=" in source
    assert used - {"clear", "aclear", store.replace("serialize", "deserialize").replace("to_ref", "from_ref")} <= {
        store,
        "delete",
        "adelete",
    }
