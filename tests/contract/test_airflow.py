"""The private names of Airflow that we lean on. A version that changes one must break here, and loudly."""

from __future__ import annotations

import inspect

import structlog
from airflow.sdk import BaseOperator
from airflow.sdk._shared.logging.structlog import redact_jwt, structlog_processors
from airflow.sdk.bases.operator import ExecutorSafeguard
from airflow.sdk.definitions.mappedoperator import MappedOperator
from airflow.sdk.execution_time import task_runner


def test_rendering_goes_through_the_method_that_mapped_tasks_call():
    parameters = list(inspect.signature(BaseOperator._do_render_template_fields).parameters)

    assert parameters == ["self", "parent", "template_fields", "context", "jinja_env", "seen_oids"]
    assert "_do_render_template_fields" in inspect.getsource(MappedOperator.render_template_fields)
    assert "self._do_render_template_fields(self, " in inspect.getsource(BaseOperator.render_template_fields)


def test_a_run_renders_a_locked_copy_and_a_preview_does_not():
    task = BaseOperator(task_id="t")

    assert task._lock_for_execution is False
    assert task.prepare_for_execution()._lock_for_execution is True


def test_a_copy_for_execution_is_shallow():
    task = BaseOperator(task_id="t")
    task.marker = object()

    assert task.prepare_for_execution().marker is task.marker


def test_the_task_process_has_its_supervisor_in_the_task_runner():
    assert "SUPERVISOR_COMMS" in task_runner.__annotations__ or hasattr(task_runner, "SUPERVISOR_COMMS")


def test_execute_may_call_that_of_the_parent():
    assert "maybe the subclass execute did have it passed" in inspect.getsource(ExecutorSafeguard.decorator)


def test_both_logging_chains_are_mutable_lists_with_the_jwt_rule_in_them():
    shared, _, _ = structlog_processors(json_output=False)

    assert isinstance(shared, list)
    assert redact_jwt in shared
    assert isinstance(structlog.get_config()["processors"], list)
