"""Configuration that changes while its DAG stays as deployed: real scheduler, real database, real spark-submit."""

from __future__ import annotations

import hashlib
import json
import re
import textwrap

import pytest

from dags_examples.demo.search import Search, Secret
from tests.integration.conftest import CANARY, WithoutTriggerer
from tests.servers import quick_python

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.usefixtures("java")]

ENCODER_SECRET = "only-for-this-test-" * 2

JOB = """
    import hashlib, sys
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.getOrCreate()
    print("COLOUR", spark.conf.get("spark.app.colour"))
    password = spark.conf.get("spark.app.db.password", "")
    print("DIGEST", hashlib.sha256(password.encode()).hexdigest())
    print("PROBE", password)
    print("PROBE on stderr", password, file=sys.stderr)
    for key in ("spark.master", "spark.app.id", "spark.app.startTime", "spark.executor.id"):
        print("READ ONLY", key, spark.conf.get(key))
    spark.sql("SET").collect()
    spark.range(10).count()
    spark.stop()
"""

DAG = """
    from airflow.sdk import DAG
    from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator

    with DAG("flights", schedule=None):
        ConfiguredSparkSubmitOperator(
            task_id="job",
            application={job!r},
            conf={{
                "spark.app.colour": "deployed",
                "spark.master": "local[3]",
                "spark.app.id": "read-only",
                "spark.app.startTime": "1",
                "spark.executor.id": "read-only",
                "spark.eventLog.enabled": True,
                "spark.eventLog.compress": False,
                "spark.eventLog.dir": {events!r},
                "spark.log.level": "WARN",
            }},
            verbose=True,
        )
"""

POLICIES = """
    policies:
    - name: memory
      class: bounds
      params: {spark.executor.memory: {max: 8g}}
    - name: colours
      expression: "!('spark.app.colour' in after) || after['spark.app.colour'] != 'black'"
      message: black is no colour
"""

ALTER = """
    import json, sys

    from airflow_config_providers import settings
    from airflow_config_providers.core.alter import AlterConfigOp, ConfigResource, ResourceType
    from airflow_config_providers.dynamic import ConfigAdmin
    from airflow_config_providers.dynamic.airflow_store import VariableStore
    from airflow_config_providers.spark.catalogue import spark_definition

    admin = ConfigAdmin(VariableStore("operations"), spark_definition(), seal=settings.seal())
    resources = {
        "default": ConfigResource(ResourceType.DEFAULT),
        "dag": ConfigResource(ResourceType.DAG, "flights"),
        "task": ConfigResource.of_task("flights", "job"),
    }
    for name, configs in json.load(sys.stdin):
        admin.incremental_alter_configs({resources[name]: [AlterConfigOp(k, v) for k, v in configs.items()]})
"""


def alter(airflow, *changes):
    """Change the configuration in the deployment's database, by way of no policy."""
    script, given = textwrap.dedent(ALTER), json.dumps(changes)
    done = quick_python.run("-c", script, env=airflow.environ, given=given)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def airflow(tmp_path_factory):
    """A deployment after three runs of an unchanged DAG: as deployed, with a change, and with a change too many."""
    home = tmp_path_factory.mktemp("airflow") / "home"
    policies = home.with_name("policies.yaml")
    policies.write_text(textwrap.dedent(POLICIES))
    deployment = WithoutTriggerer(
        home,
        AIRFLOW__CONFIG_PROVIDERS__PASSWORD_ENCODER_SECRET=ENCODER_SECRET,
        AIRFLOW__CONFIG_PROVIDERS__POLICIES_FILE=str(policies),
    )
    job = home / "job.py"
    job.write_text(textwrap.dedent(JOB))
    file = deployment.dags / "flights.py"
    file.write_text(textwrap.dedent(DAG.format(job=str(job), events=str(deployment.events))))
    deployed = file.stat().st_mtime_ns
    with deployment:
        deployment.states = [deployment.run("flights")]
        alter(
            deployment,
            ("default", {"spark.app.colour": "red"}),
            ("dag", {"spark.app.colour": "green", "spark.app.db.password": CANARY}),
        )
        deployment.states.append(deployment.run("flights"))
        alter(deployment, ("task", {"spark.executor.memory": "16g", "spark.app.colour": "black"}))
        deployment.states.append(deployment.run("flights"))
        deployment.rendered = fields(deployment)
        assert file.stat().st_mtime_ns == deployed
        yield deployment


def fields(airflow):
    """The rendered fields of the task in each run, the oldest first."""
    found = airflow.get("/api/v2/dags/flights/dagRuns/~/taskInstances")["task_instances"]
    return [ti["rendered_fields"] for ti in sorted(found, key=lambda ti: ti["run_after"])]


def log(airflow, number):
    """The log of run ``number``, from 0 on."""
    runs = airflow.query("select run_id from dag_run where dag_id = 'flights' order by id")
    paths = list(airflow.logs.glob(f"dag_id=flights/run_id={runs[number][0]}/**/*.log"))
    assert paths
    return "\n".join(path.read_text() for path in paths)


def test_the_runs_end_as_they_should(airflow):
    assert airflow.states == ["success", "success", "failed"]


def test_the_first_run_has_what_is_deployed(airflow):
    assert "COLOUR deployed" in log(airflow, 0)
    assert "spark.app.colour = deployed   # DAG_CONFIG, conf" in airflow.rendered[0]["effective_config"]


def test_the_second_run_has_what_was_changed_and_says_where_it_comes_from(airflow):
    assert "COLOUR green" in log(airflow, 1)
    assert (
        "spark.app.colour = green   # DYNAMIC_DAG_CONFIG, dynamic configuration of DAG 'flights', version 1; "
        "beats DYNAMIC_DEFAULT_CONFIG dynamic configuration of the deployment default, version 1 = red; "
        "beats DAG_CONFIG conf = deployed"
    ) in airflow.rendered[1]["effective_config"]


def test_a_sealed_secret_arrives_and_is_shown_as_hidden(airflow):
    assert f"DIGEST {hashlib.sha256(CANARY.encode()).hexdigest()}" in log(airflow, 1)
    assert "PROBE [hidden]" in log(airflow, 1)
    assert "PROBE on stderr [hidden]" in log(airflow, 1)
    lines = airflow.rendered[1]["effective_config"]
    assert [line for line in lines if line.startswith("spark.app.db.password = [hidden]   # DYNAMIC_DAG_CONFIG, ")]


@pytest.mark.parametrize(
    ("key", "set_to"),
    [("master", "local[3]"), ("app.id", "read-only"), ("app.startTime", "1"), ("executor.id", "read-only")],
)
def test_what_is_called_read_only_is_not_changed_by_a_key(airflow, key, set_to):
    (found,) = re.findall(rf"READ ONLY spark\.{re.escape(key)} (\S+)", log(airflow, 0))

    assert found != set_to


def test_the_policies_deny_the_third_run_with_all_reasons_and_nothing_is_submitted(airflow):
    text = log(airflow, 2)

    assert "Policy 'memory' denies the configuration of task 'job' of DAG 'flights'" in text
    assert "black is no colour" in text
    assert "Spark-Submit cmd" not in text


def test_a_preview_shows_what_counts_and_says_that_a_policy_denies_it(airflow):
    shown = airflow.cli("tasks", "render", "flights", "job", "2026-01-01").stdout

    assert "spark.app.colour = black   # DYNAMIC_TASK_CONFIG" in shown
    assert "! Policy 'memory' denies the configuration of task 'job' of DAG 'flights'" in shown
    assert "spark.app.db.password = [hidden]   # DYNAMIC_DAG_CONFIG" in shown


def test_each_change_is_in_the_audit_log(airflow):
    rows = airflow.query("select dag_id, task_id, owner from log where event like 'config_providers%' order by id")

    assert rows == [(None, None, "operations"), ("flights", None, "operations"), ("flights", "job", "operations")]


def test_nothing_has_the_secret(airflow):
    """Logs, what the processes printed, every table, event logs, temporary files; in a dozen encodings."""
    search = Search([Secret.of("canary", CANARY)])
    search.tree(airflow.home)
    search.database(airflow.home / "airflow.db")

    assert any(path.stat().st_size for path in airflow.events.rglob("*") if path.is_file())
    assert [(finding.place, finding.form) for finding in search.found] == []
