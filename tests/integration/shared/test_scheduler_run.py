"""Tasks run by a real scheduler and submitted with the real spark-submit: nobody sees the value but Spark."""

from __future__ import annotations

import hashlib
import textwrap
import threading
import time
from pathlib import Path

import psutil
import pytest

from dags_examples.demo.search import Search, Secret
from tests.integration.conftest import CANARY, Airflow
from tests.operators.test_log_group import unfolded

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.usefixtures("java")]

JOB = """
    import hashlib, logging, sys
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.getOrCreate()
    values = {key: spark.conf.get(key) for key in ("spark.app.password", "spark.app.uri", "spark.hadoop.x.secret.key")}
    for key, value in values.items():
        print("PROBE", key, value)
        print("PROBE on stderr", value, file=sys.stderr)
    print("DIGEST", hashlib.sha256(values["spark.app.password"].encode()).hexdigest())
    print("RUN", spark.conf.get("spark.app.run", "none"))
    spark.sql("SET").collect()
    spark.range(10).count()
    if spark.conf.get("spark.app.fail", "no") == "yes":
        raise ValueError("cannot log in with " + values["spark.app.password"])
    spark.stop()
"""

DAG = """
    import sys
    from datetime import timedelta
    from pathlib import Path
    from airflow.sdk import DAG
    from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator

    PASSWORD = {password!r}
    CONF = {{
        "spark.app.password": PASSWORD,
        "spark.app.uri": f"postgresql://u:{{PASSWORD}}@host/db",
        "spark.hadoop.x.secret.key": PASSWORD,
        "spark.eventLog.enabled": True,
        "spark.eventLog.compress": False,
        "spark.eventLog.dir": {events!r},
        "spark.log.level": "WARN",
    }}

    KEPT = [sys.stdout, sys.__stderr__]

    def print_to_kept(context, result):
        for stream in KEPT:
            print("KEPT", Path({sealed!r}).read_text(), file=stream, flush=True)

    with DAG("prints", schedule=None):
        ConfiguredSparkSubmitOperator(
            task_id="job",
            application={job!r},
            conf=CONF,
            env_vars={{"APP_TOKEN": PASSWORD}},
            verbose=True,
            post_execute=print_to_kept,
        )
    with DAG("fails", schedule=None):
        ConfiguredSparkSubmitOperator(
            task_id="job",
            application={job!r},
            conf={{**CONF, "spark.app.fail": "yes"}},
            retries=1,
            retry_delay=timedelta(seconds=1),
        )
    with DAG("unrendered", schedule=None):
        ConfiguredSparkSubmitOperator(task_id="job", application={job!r}, conf={{"spark.app.x": "${{nobody:x}}"}})
    with DAG("maps", schedule=None):
        ConfiguredSparkSubmitOperator.partial(task_id="job", application={job!r}).expand(
            conf=[{{**CONF, "spark.app.run": "{{{{ ti.map_index }}}}"}}] * 2
        )
"""


@pytest.fixture(scope="module")
def airflow(shared_airflow):
    """A deployment after four runs, with what was seen of its processes meanwhile."""
    deployment = shared_airflow
    job = deployment.home / "probes_job.py"
    job.write_text(textwrap.dedent(JOB))
    password, sealed = deployment.seal("db-password", CANARY), str(deployment.secrets / "db-password")
    dag = DAG.format(password=password, sealed=sealed, events=str(deployment.events), job=str(job))
    deployment.add_dags("probes", textwrap.dedent(dag))
    with Watch() as deployment.watch:
        deployment.states = {
            "prints": deployment.run("prints", {"spark_conf": {"spark.app.run": "by hand"}}),
            "fails": deployment.run("fails"),
            "unrendered": deployment.run("unrendered"),
            "maps": deployment.run("maps"),
        }
        deployment.shown = {
            ti["task_id"]: ti["rendered_fields"]
            for ti in deployment.get("/api/v2/dags/prints/dagRuns/~/taskInstances")["task_instances"]
        }
        yield deployment


class Watch:
    """Samples the arguments of every process, and the names and properties files that they could read."""

    def __init__(self) -> None:
        self.arguments: set[str] = set()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        while not self._ended.wait(0.2):
            for process in psutil.process_iter():
                try:
                    self.arguments.add("\0".join(process.cmdline()))
                except psutil.Error:
                    continue

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()


def logs(airflow: Airflow, dag_id: str) -> str:
    paths = sorted(airflow.logs.glob(f"dag_id={dag_id}/**/*.log"))
    assert paths
    return "\n".join(path.read_text() for path in paths)


def reference(airflow: Airflow) -> str:
    return f"${{dir:{airflow.secrets}:db-password}}"


def test_the_runs_end_as_they_should(airflow):
    assert airflow.states == {"prints": "success", "fails": "failed", "unrendered": "failed", "maps": "success"}


def test_the_job_got_the_value(airflow):
    assert f"DIGEST {hashlib.sha256(CANARY.encode()).hexdigest()}" in logs(airflow, "prints")


def test_what_the_job_prints_is_logged_with_references(airflow):
    log = logs(airflow, "prints")

    assert f"PROBE spark.app.password {reference(airflow)}" in log
    assert f"PROBE spark.app.uri postgresql://u:{reference(airflow)}@host/db" in log
    assert f"PROBE on stderr {reference(airflow)}" in log


def test_what_code_prints_to_streams_that_it_kept_is_logged_with_references(airflow):
    assert logs(airflow, "prints").count(f"KEPT {reference(airflow)}") == 2


def test_the_error_of_a_failed_render_is_not_folded_in_the_ui(airflow):
    assert "names the unknown provider 'nobody'" in "\n".join(unfolded(logs(airflow, "unrendered").splitlines()))


def test_the_layer_of_the_run_counts(airflow):
    assert "RUN by hand" in logs(airflow, "prints")


def test_the_exception_of_a_failed_job_shows_references_at_each_try(airflow):
    paths = sorted(airflow.logs.glob("dag_id=fails/**/*.log"))

    assert len(paths) == 2
    assert all(f"cannot log in with {reference(airflow)}" in path.read_text() for path in paths)


def test_mapped_tasks_each_have_their_own(airflow):
    log = logs(airflow, "maps")

    assert "RUN 0" in log
    assert "RUN 1" in log


def test_the_ui_shows_references_and_layers_also_under_keys_that_airflow_stars(airflow):
    fields = airflow.shown["job"]

    assert fields["conf"]["spark.hadoop.x.secret.key"] == "***"
    assert f"spark.hadoop.x.secret.key = {reference(airflow)}   # DAG_CONFIG, conf" in fields["effective_config"]
    assert "spark.app.run = by hand   # RUN_CONFIG, dag_run.conf['spark_conf']" in fields["effective_config"]


def test_the_page_of_rendered_templates_shows_references_and_layers(airflow, chromium):
    run = airflow.get("/api/v2/dags/prints/dagRuns")["dag_runs"][0]["dag_run_id"]
    page = chromium(f"http://127.0.0.1:{airflow.port}/dags/prints/runs/{run}/tasks/job/rendered_templates")

    assert "effective_config" in page
    assert f"spark.hadoop.x.secret.key = {reference(airflow)}   # DAG_CONFIG, conf" in page
    assert CANARY not in page


def test_the_ui_has_a_form_for_the_connection(airflow):
    forms = {form["connection_type"]: form for form in airflow.get("/ui/connections/hook_meta")}

    assert set(forms["config_providers"]["extra_fields"]) == {"properties", "properties_file"}


def test_the_log_over_the_rest_interface_shows_references(airflow):
    run = airflow.get("/api/v2/dags/prints/dagRuns")["dag_runs"][0]["dag_run_id"]
    shown = str(airflow.get(f"/api/v2/dags/prints/dagRuns/{run}/taskInstances/job/logs/1?full_content=true"))

    assert reference(airflow) in shown
    assert CANARY not in shown


def test_no_process_had_the_value_in_its_arguments(airflow):
    seen = airflow.watch.arguments

    assert any("org.apache.spark.deploy.SparkSubmit" in arguments for arguments in seen)
    assert not [arguments for arguments in seen if CANARY in arguments]


def test_a_preview_shows_references_and_fetches_nothing(airflow):
    secret = airflow.secrets / "db-password"
    hidden = secret.rename(secret.with_name("away"))
    try:
        shown = airflow.cli("tasks", "render", "prints", "job", "2026-01-01").stdout
    finally:
        hidden.rename(secret)

    assert f"spark.app.password = {reference(airflow)}   # DAG_CONFIG, conf" in shown


def test_nothing_that_the_runs_left_behind_has_the_value(airflow):
    """Logs, what the processes printed, every table, event logs, temporary files; in a dozen encodings."""
    time.sleep(1)
    search = Search([Secret.of("canary", CANARY)])
    search.tree(airflow.home, leave_out=[airflow.secrets])
    search.database(airflow.home / "airflow.db")

    assert any(path.stat().st_size for path in airflow.events.rglob("*") if path.is_file())
    assert len([row for row in airflow.rendered() if airflow.states.keys() & set(row)]) == 4
    assert [(finding.place, finding.form) for finding in search.found] == []


def test_the_search_would_have_found_it(airflow, tmp_path):
    Path(tmp_path, "x").write_text(CANARY)
    search = Search([Secret.of("canary", CANARY)])
    search.tree(tmp_path)

    assert len(search.found) == 1
