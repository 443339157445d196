"""A sensor in a real triggerer hears that a secret was rotated, and nobody sees a value."""

from __future__ import annotations

import itertools
import textwrap
from secrets import token_hex

import pytest

from tests.limits import eventually

pytestmark = [pytest.mark.integration, pytest.mark.slow]

CANARY = f"rotated-{token_hex(8)}/val+1"
"""A value of its own: other tests of this deployment look for theirs, and a variable has this one."""

# Airflow fails a try whose trigger fires before the scheduler has seen that its worker has ended, hence the retries.
DAG = """
    from airflow.sdk import DAG
    from airflow_config_providers.sensors.config_change import ConfigChangeSensor

    again = {{"retries": 10, "retry_delay": 0}}
    with DAG("waits", schedule=None, default_args=again):
        ConfigChangeSensor(task_id="rotated", references=[{own!r}])
    with DAG("wrong", schedule=None):
        ConfigChangeSensor(task_id="rotated", references=["${{vaul:apps/db:password}}"])
    with DAG("polls", schedule=None, default_args=again):
        ConfigChangeSensor(task_id="rotated", references=["${{variables:spark_token}}"], config_conn_id="of_variables")
"""


@pytest.fixture(scope="module")
def airflow(shared_airflow):
    polled = {
        "config.providers": "variables",
        "config.providers.variables.class": "airflow_variable",
        "config.providers.variables.param.allowlist.pattern": "spark_.*",
        "config.providers.variables.param.poll.interval": "1000",
    }
    shared_airflow.add_connection("of_variables", {"conn_type": "config_providers", "extra": polled})
    variable = {"key": "spark_token", "value": f"{CANARY}-0"}
    shared_airflow.wait("a variable", lambda: shared_airflow.post("/api/v2/variables", variable))
    reference = shared_airflow.seal("password", f"{CANARY}-0")
    shared_airflow.add_dags("waits", textwrap.dedent(DAG.format(own=reference)))
    return shared_airflow


def ends(airflow, dag_id, change):
    """Trigger a run, and change the secret again and again: nobody says when the triggerer has begun to watch."""
    airflow.unpause(dag_id)
    run = airflow.trigger(dag_id)
    numbers = itertools.count(1)

    def has_ended():
        change(f"{CANARY}-{next(numbers)}")
        ((state,),) = airflow.query("SELECT state FROM dag_run WHERE dag_id = ? AND run_id = ?", dag_id, run)
        return state if state in ("success", "failed") else None

    assert eventually(has_ended, every=2.0)
    assert has_ended() == "success", airflow.outputs()


def test_a_rotated_file_ends_the_sensor_and_no_value_is_anywhere(airflow):
    ends(airflow, "waits", lambda value: airflow.seal("password", value))
    (results,) = airflow.query("SELECT value FROM xcom WHERE dag_id = 'waits' AND key = 'return_value'")
    assert "password" in str(results)
    triggers = airflow.query('SELECT * FROM "trigger"')
    logs = "".join(path.read_text(errors="replace") for path in airflow.logs.rglob("*.log"))
    shown = repr(results) + repr(triggers) + logs + airflow.output("triggerer")
    assert CANARY not in shown
    assert "for a change: provider 'dir' looks at least every 60 seconds." in logs


def test_a_changed_variable_ends_the_sensor(airflow):
    def change(value):
        body = {"key": "spark_token", "value": value}
        airflow.wait("a change", lambda: airflow.post("/api/v2/variables/spark_token", body, "PATCH"))

    ends(airflow, "polls", change)


def test_a_reference_that_cannot_be_watched_fails_the_sensor(airflow):
    assert airflow.run("wrong") == "failed"
    logs = "".join(path.read_text(errors="replace") for path in airflow.logs.glob("dag_id=wrong/**/*.log"))
    assert "names the unknown provider 'vaul'" in logs
