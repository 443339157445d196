"""The whole deployment by one setting: stock operators in DAGs that nobody edited."""

from __future__ import annotations

import copy
import importlib.metadata
import os
import subprocess
import sys
import textwrap

import pytest

from airflow_config_providers import cluster_policy
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.operators.configured import ConfiguredOperator
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
from tests.servers import quick_python

DAGS = textwrap.dedent(
    """
    from airflow.sdk import DAG
    from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
    from airflow.providers.standard.operators.empty import EmptyOperator

    class TeamOperator(SparkSubmitOperator):
        def __init__(self, team, **kwargs):
            super().__init__(**kwargs)
            self.team = team

    with DAG("untouched", schedule=None, tags={tags}):
        plain = SparkSubmitOperator(task_id="plain", application="job.py", conf={{"spark.app.x": "${{file:/x:y}}"}})
        TeamOperator(task_id="team", team="blue", application="job.py")
        SparkSubmitOperator.partial(task_id="mapped", application="job.py").expand(conf=[{{"spark.app.x": "1"}}])
        EmptyOperator(task_id="other")
    """
)


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Read a DAG file as Airflow does: ``read(apply_to=..., tags=...)`` gives the DAG, or the import error."""
    from airflow.dag_processing.dagbag import DagBag

    def read(*, apply_to="spark", tags=(), **options):
        options["apply_to"] = apply_to
        for name, value in options.items():
            monkeypatch.setenv(f"AIRFLOW__CONFIG_PROVIDERS__{name.upper()}", value)
        path = tmp_path / "dags.py"
        path.write_text(DAGS.format(tags=list(tags)))
        bag = DagBag(str(path))
        return bag.dags.get("untouched") or "".join(bag.import_errors.values())

    return read


def is_ours(task):
    return issubclass(task.operator_class if task.is_mapped else type(task), ConfiguredOperator)


def test_airflow_finds_the_policy():
    (entry,) = (entry for entry in importlib.metadata.entry_points(group="airflow.policy") if "config" in entry.value)

    assert entry.load() is cluster_policy


def test_every_process_of_airflow_imports_it_for_little():
    script = "import sys, airflow_config_providers.cluster_policy; print([m for m in sys.modules if m == 'airflow'])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


def test_a_dag_without_spark_loads_none_of_it(tmp_path):
    script = """
import sys
from airflow.sdk import DAG, BaseOperator
from airflow import settings
with DAG("d", schedule=None):
    settings.task_policy(BaseOperator(task_id="t"))
print([m for m in sys.modules if m.startswith("airflow_config_providers.operators.") and "supported" not in m])
"""
    environ = {**os.environ, "AIRFLOW_HOME": str(tmp_path), "AIRFLOW__CONFIG_PROVIDERS__APPLY_TO": "spark"}
    done = quick_python.run("-c", script, env=environ)

    assert done.stdout.splitlines()[-1] == "[]"


def test_nothing_changes_by_default(read):
    assert [task.task_id for task in read(apply_to="").tasks if is_ours(task)] == []


@pytest.mark.parametrize("apply_to", ["spark", "spark_submit", "livy, spark_submit"])
def test_every_stock_operator_becomes_ours(read, apply_to):
    assert {task.task_id for task in read(apply_to=apply_to).tasks if is_ours(task)} == {"plain", "team", "mapped"}


def test_other_families_do_not(read):
    assert [task.task_id for task in read(apply_to="livy").tasks if is_ours(task)] == []


def test_a_subclass_keeps_what_it_has(read):
    task = read().get_task("team")

    assert (type(task).__name__, task.team) == ("TeamOperator", "blue")
    assert isinstance(task, ConfiguredSparkSubmitOperator)


def test_a_task_says_that_it_is_the_stock_operator(read):
    ours, stock = read().get_task("plain"), read(apply_to="").get_task("plain")

    for name in ("task_type", "operator_name", "__module__", "ui_color", "__doc__"):
        assert getattr(ours, name) == getattr(stock, name)


def test_what_airflow_stores_says_so_too_and_is_read_without_this_package(read):
    from airflow.serialization.serialized_objects import DagSerialization

    stored = {apply_to: DagSerialization.to_dict(read(apply_to=apply_to)) for apply_to in ("spark", "")}
    tasks = {
        apply_to: {task["__var"]["task_id"]: task["__var"] for task in found["dag"]["tasks"]}
        for apply_to, found in stored.items()
    }

    assert "airflow_config_providers" not in str(stored["spark"])
    for name, task in tasks["spark"].items():
        assert (task["task_type"], task["_task_module"]) == (
            tasks[""][name]["task_type"],
            tasks[""][name]["_task_module"],
        )
    assert DagSerialization.from_dict(stored["spark"]).get_task("plain").task_type == "SparkSubmitOperator"


def test_what_airflow_stores_is_the_same_each_time(read):
    from airflow.serialization.serialized_objects import DagSerialization

    assert DagSerialization.to_dict(read()) == DagSerialization.to_dict(read())


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy], ids=["copy", "deepcopy"])
def test_a_task_can_be_copied(read, copied):
    task = copied(read().get_task("plain"))

    assert is_ours(task)
    assert task.conf == {"spark.app.x": "${file:/x:y}"}


def test_a_dag_may_opt_out(read):
    assert [task.task_id for task in read(tags=[cluster_policy.OPT_OUT]).tasks if is_ours(task)] == []


def test_the_deployment_may_forbid_that(read):
    dag = read(tags=[cluster_policy.OPT_OUT], opt_out_enabled="False")

    assert {task.task_id for task in dag.tasks if is_ours(task)} == {"plain", "team", "mapped"}


def test_a_setting_that_names_no_family_stops_spark_dags(read):
    error = read(apply_to="sparc")

    assert "apply_to: 'sparc' is not one of spark" in error
    assert "did you mean 'spark'" in error


def test_a_task_of_ours_stays_as_it_is(monkeypatch):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__APPLY_TO", "spark")
    from airflow.sdk import DAG

    with DAG("d", schedule=None):
        task = ConfiguredSparkSubmitOperator(task_id="t", config_files=["a.properties"])
    cluster_policy.task_policy(task)

    assert type(task) is ConfiguredSparkSubmitOperator
    assert task.config_files == ["a.properties"]


def test_a_wrong_setting_is_an_error_of_ours(monkeypatch):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__APPLY_TO", "nothing")
    from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

    with pytest.raises(ConfigException):
        cluster_policy.task_policy(SparkSubmitOperator(task_id="t"))
