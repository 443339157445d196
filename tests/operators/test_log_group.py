"""What people see of a task log in Airflow's UI, where groups of lines are folded."""

from __future__ import annotations

import io

import pytest

from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
from tests.operators.conftest import structlog_to

pytestmark = pytest.mark.usefixtures("spark_submit", "connections")


def unfolded(lines):
    """Return the lines outside of all groups, as the UI distinguishes them."""
    depth, found = 0, []
    for line in lines:
        if "::group::" in line:
            depth += 1
        elif "::endgroup::" in line:
            depth = max(0, depth - 1)
        elif not depth:
            found.append(line)
    return found


@pytest.fixture
def unfolded_of(run_task):
    """Run a task, its log beginning as Airflow has it begin, and give what people see without a click."""

    def run(operator, state, **kwargs):
        with structlog_to(io.StringIO()) as log:
            log.write("::group::Pre Execute\n")
            assert run_task(operator, **kwargs).state == state
        return "\n".join(unfolded(log.getvalue().splitlines()))

    return run


def test_the_error_of_a_failed_render_is_unfolded(dag, unfolded_of):
    task = ConfiguredSparkSubmitOperator(
        task_id="job", application="job.py", dag=dag, conf={"spark.app.password": "${nobody:apps/db:password}"}
    )

    assert "names the unknown provider 'nobody'" in unfolded_of(task, "failed")


def test_the_error_of_a_failed_template_is_unfolded(dag, unfolded_of):
    task = ConfiguredSparkSubmitOperator(
        task_id="job", application="job.py", dag=dag, conf={"spark.app.x": "{{ 1 / 0 }}"}
    )

    assert "ZeroDivisionError" in unfolded_of(task, "failed")


def test_the_error_of_a_failed_render_of_a_mapped_task_is_unfolded(dag, unfolded_of):
    task = ConfiguredSparkSubmitOperator.partial(task_id="job", application="job.py", dag=dag).expand(
        conf=[{"spark.app.password": "${nobody:apps/db:password}"}]
    )

    assert "names the unknown provider 'nobody'" in unfolded_of(task, "failed", map_index=0)


def test_what_is_rendered_without_trouble_stays_folded(dag, unfolded_of):
    task = ConfiguredSparkSubmitOperator(task_id="job", application="job.py", dag=dag, conf={"spark.app.x": "1"})

    assert "Effective configuration" not in unfolded_of(task, "success")
