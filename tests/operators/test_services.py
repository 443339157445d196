"""The operators of services, from their real packages, against servers that keep what they are sent."""

from __future__ import annotations

import json
from functools import partial

import pytest

from airflow_config_providers.operators.configure import configured
from tests.operators.conftest import recording
from tests.servers.recorder import Recorder
from tests.servers.web import Request, Response, WebServer

CANARY = "c4nary/s3cret+value"

pytestmark = pytest.mark.usefixtures("connections")


@pytest.fixture
def password(secrets_dir):
    """A reference to the canary."""
    (secrets_dir / "db-password").write_text(CANARY)
    return f"${{dir:{secrets_dir}:db-password}}"


class Echo(Recorder):
    """Refuses every POST, and quotes it in its answer."""

    def __call__(self, request: Request) -> Response:
        answer = super().__call__(request)
        if request.method != "POST":
            return answer
        return Response(422, json.dumps({"message": f"cannot {request.body.decode()}"}).encode(), answer.headers)


@pytest.fixture
def service():
    """Start a service: ``service(answer)`` gives its recorder and its port."""
    servers = []

    def start(answer, kind=Recorder):
        recorder = kind(answer)
        server = WebServer(recorder)
        servers.append(server)
        return recorder, int(server.address.rpartition(":")[2])

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def no_leak(dag, run_task, capfd):
    """Run a task; the canary is nowhere to be seen."""
    from airflow.serialization.serialized_objects import DagSerialization

    def run(operator, **kwargs):
        stored = json.dumps(DagSerialization.to_dict(dag))
        run = run_task(operator, **kwargs)
        told = "".join(repr(m) for m in run.supervisor.messages if type(m).__name__ != "MaskSecret")
        shown = told + "".join(capfd.readouterr()) + repr(vars(run.task)) + repr(run.error) + str(run.error) + stored
        assert CANARY not in shown
        assert CANARY.encode().hex() not in shown
        return run

    return run


def connection(monkeypatch, name, **fields):
    monkeypatch.setenv(f"AIRFLOW_CONN_{name.upper()}_DEFAULT", json.dumps({"conn_type": name, **fields}))


def bodies(recorder, part=""):
    return [request.body for request in recorder.requests() if request.body and part in request.path]


LIVY = {"id": 7, "state": "success", "appId": "app-7", "log": [], "from": 0, "size": 0, "total": 0}


@pytest.fixture
def livy(dag, monkeypatch):
    """A ``LivyOperator`` of ours, and where its server is."""
    pytest.importorskip("airflow.providers.apache.livy")
    from airflow.providers.apache.livy.operators.livy import LivyOperator

    def make(port, **kwargs):
        connection(monkeypatch, "livy", host="127.0.0.1", port=port, schema="http")
        return configured(LivyOperator)(task_id="job", dag=dag, file="job.py", **kwargs)

    return make


def test_attack_30_livy_gets_the_value_and_nobody_else(livy, service, no_leak, password, tmp_path):
    (tmp_path / "all.properties").write_text("spark.app.all=yes\n")
    recorder, port = service(LIVY)
    run = no_leak(
        livy(
            port,
            conf={"spark.app.password": password},
            args=["--url", f"jdbc:x?password={password}"],
            config_files=[str(tmp_path / "all.properties")],
        )
    )

    (body,) = bodies(recorder)
    assert run.state == "success"
    assert body["conf"] == {"spark.app.password": CANARY, "spark.app.all": "yes"}
    assert body["args"] == ["--url", f"jdbc:x?password={CANARY}"]
    assert run.rendered["spark_params"]["args"] == ["--url", f"jdbc:x?password={password}"]
    assert f"spark.app.password = {password}   # DAG_CONFIG, spark_params['conf']" in run.rendered["effective_config"]


def test_attack_19_an_answer_of_livy_that_quotes_the_value_shows_the_reference(livy, service, no_leak, password):
    _, port = service(LIVY, Echo)
    run = no_leak(livy(port, conf={"spark.app.password": password}))

    assert run.state in ("failed", "up_for_retry")


def test_attack_30_livys_trigger_carries_references(livy, service, no_leak, password):
    _, port = service({**LIVY, "state": "running"})
    run = no_leak(livy(port, conf={"spark.app.password": password}, deferrable=True), finalize=False)

    assert run.message.trigger_kwargs["spark_params"]["conf"] == {"spark.app.password": password}


def test_livy_waits_for_its_batch(livy, service, no_leak, password):
    recorder, port = service(LIVY)
    run = no_leak(livy(port, conf={"spark.app.password": password}, polling_interval=1, durable=False))

    assert run.state == "success"
    assert bodies(recorder)[0]["conf"] == {"spark.app.password": CANARY}


@pytest.fixture
def aws(monkeypatch):
    """Point the connection to AWS at a server."""
    pytest.importorskip("airflow.providers.amazon")

    def point(port):
        extra = {"endpoint_url": f"http://127.0.0.1:{port}", "region_name": "eu-west-1"}
        connection(monkeypatch, "aws", login="key", password="the-secret-key", extra=extra)

    return point


def test_attack_30_a_step_of_emr_gets_the_value_and_nobody_else(aws, dag, service, no_leak, password):
    from airflow.providers.amazon.aws.operators.emr import EmrAddStepsOperator

    recorder, port = service({"StepIds": ["s-1"], "Cluster": {"Id": "j-1", "LogUri": "s3://logs/"}})
    aws(port)
    words = ["spark-submit", "--conf", f"spark.app.password={password}", "s3://bucket/job.py"]
    steps = [{"Name": "job", "HadoopJarStep": {"Jar": "command-runner.jar", "Args": words}}]
    run = no_leak(configured(EmrAddStepsOperator)(task_id="job", dag=dag, job_flow_id="j-1", steps=steps))

    assert run.state == "success"
    assert run.rendered["steps"] == steps
    assert f"spark.app.password={CANARY}" in str(bodies(recorder))


def test_attack_12_steps_of_emr_in_one_text_hold_no_reference(aws, dag, service, no_leak, password):
    from airflow.providers.amazon.aws.operators.emr import EmrAddStepsOperator

    recorder, port = service({"StepIds": ["s-1"], "Cluster": {"Id": "j-1"}})
    aws(port)
    steps = f"[{{'Name': 'job', 'HadoopJarStep': {{'Args': ['{password}']}}}}]"
    run = no_leak(configured(EmrAddStepsOperator)(task_id="job", dag=dag, job_flow_id="j-1", steps=steps))

    assert run.state == "failed"
    assert bodies(recorder) == []


def test_attack_30_a_run_of_emr_serverless_gets_the_value_and_nobody_else(aws, dag, service, no_leak, password):
    from airflow.providers.amazon.aws.operators.emr import EmrServerlessStartJobOperator

    answer = {"application": {"state": "STARTED"}, "jobRunId": "r-1", "applicationId": "a-1", "arn": "arn:x"}
    recorder, port = service(answer)
    aws(port)
    overrides = {
        "applicationConfiguration": [
            {"classification": "spark-log4j2", "properties": {"rootLogger.level": "warn"}},
            {"classification": "spark-defaults", "properties": {"spark.app.password": password}},
        ]
    }
    run = no_leak(
        configured(EmrServerlessStartJobOperator)(
            task_id="job",
            dag=dag,
            application_id="a-1",
            execution_role_arn="arn:aws:iam::123456789012:role/job",
            job_driver={"sparkSubmit": {"entryPoint": "s3://bucket/job.py", "entryPointArguments": [password]}},
            configuration_overrides=overrides,
            wait_for_completion=False,
        )
    )

    (body,) = (body for body in bodies(recorder) if "jobDriver" in str(body))
    assert run.state == "success"
    assert body["configurationOverrides"]["applicationConfiguration"][1]["properties"] == {"spark.app.password": CANARY}
    assert body["jobDriver"]["sparkSubmit"]["entryPointArguments"] == [CANARY]


DATABRICKS = {
    "run_id": 9,
    "run_page_url": "http://databricks/run/9",
    "state": {"life_cycle_state": "TERMINATED", "result_state": "SUCCESS", "state_message": ""},
}


@pytest.mark.parametrize("named", [False, True], ids=["json", "arguments"])
def test_attack_30_databricks_gets_the_value_and_nobody_else(dag, service, no_leak, password, monkeypatch, named):
    pytest.importorskip("airflow.providers.databricks")
    from airflow.providers.databricks.operators.databricks import DatabricksSubmitRunOperator

    recorder, port = service(DATABRICKS)
    connection(monkeypatch, "databricks", host="127.0.0.1", port=port, schema="http", password="the-token")
    content = {
        "new_cluster": {"spark_version": "16.4", "spark_conf": {"spark.app.password": password}},
        "spark_python_task": {"python_file": "dbfs:/job.py", "parameters": [password]},
    }
    run = no_leak(
        configured(DatabricksSubmitRunOperator)(
            task_id="job", dag=dag, polling_period_seconds=0, durable=False, **(content if named else {"json": content})
        )
    )

    (body,) = bodies(recorder, "submit")
    assert run.state == "success"
    assert body["new_cluster"]["spark_conf"] == {"spark.app.password": CANARY}
    assert body["spark_python_task"]["parameters"] == [CANARY]


APPLICATION = """
apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata: {{name: job}}
spec:
  type: Python
  mainApplicationFile: local:///job.py
  arguments: ["{password}"]
  sparkConf:
    spark.app.password: "{password}"
"""


@pytest.mark.parametrize("as_file", [False, True], ids=["template_spec", "application_file"])
@pytest.mark.parametrize("value", [CANARY, f"{CANARY}\n  evil: true\n# 'x'"], ids=["plain", "yaml"])
def test_attack_19_30_kubernetes_gets_the_value_and_its_refusal_shows_the_reference(
    dag, service, no_leak, secrets_dir, monkeypatch, password, as_file, value
):
    pytest.importorskip("airflow.providers.cncf.kubernetes")
    import yaml
    from airflow.providers.cncf.kubernetes.operators.spark_kubernetes import SparkKubernetesOperator

    (secrets_dir / "db-password").write_text(value)
    recorder, port = service({"kind": "PodList", "apiVersion": "v1", "items": []}, Echo)
    cluster = {"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}
    context = {"name": "x", "context": {"cluster": "c", "user": "u"}}
    config = {
        "clusters": [cluster],
        "contexts": [context],
        "current-context": "x",
        "users": [{"name": "u", "user": {}}],
    }
    connection(monkeypatch, "kubernetes", extra={"kube_config": json.dumps(config)})
    text = APPLICATION.format(password=password)
    given = {"application_file": text} if as_file else {"template_spec": yaml.safe_load(text)}
    run = no_leak(
        configured(SparkKubernetesOperator)(task_id="job", dag=dag, kubernetes_conn_id="kubernetes_default", **given)
    )

    (body,) = bodies(recorder)
    assert run.state == "failed"
    assert body["spec"]["sparkConf"] == {"spark.app.password": value}
    assert body["spec"]["arguments"] == [value]
    assert password in str(run.error)


DATAPROC = [
    pytest.param(
        "DataprocSubmitJobOperator",
        {"job": {"pyspark_job": {"properties": {"spark.app.password": "${a:b:c}"}}}, "region": "r"},
        id="job",
    ),
    pytest.param(
        "DataprocCreateBatchOperator",
        {"batch": {"runtime_config": {"properties": {"spark.app.password": "${a:b:c}"}}}, "region": "r"},
        id="batch",
    ),
]


@pytest.mark.parametrize(("name", "given"), DATAPROC)
def test_the_configuration_of_dataproc_is_where_we_look(dag, name, given):
    dataproc = pytest.importorskip("airflow.providers.google.cloud.operators.dataproc")
    task = configured(getattr(dataproc, name))(task_id="job", dag=dag, project_id="p", **given)

    (layer,) = task._own_layers()
    assert layer.configs == {"spark.app.password": "${a:b:c}"}


@pytest.fixture
def spark_sql(tmp_path, monkeypatch):
    """A program on PATH that records how it was called, and prints what it read."""
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_SQL_DEFAULT", json.dumps({"conn_type": "spark_sql", "host": "local[1]"}))
    return recording("spark-sql", tmp_path, monkeypatch)


@pytest.fixture
def sql(dag):
    """A ``SparkSqlOperator`` of ours."""
    from airflow.providers.apache.spark.operators.spark_sql import SparkSqlOperator

    return partial(configured(SparkSqlOperator), task_id="job", dag=dag)


@pytest.mark.parametrize("as_text", [False, True], ids=["mapping", "text"])
def test_attack_27_spark_sql_gets_the_value_in_no_argument(sql, spark_sql, no_leak, password, monkeypatch, as_text):
    monkeypatch.setenv("FAKE_SPARK_PRINTS", f"the job says {CANARY}")
    conf = {"spark.app.password": password, "spark.app.x": "1"}
    given = ",".join(f"{key}={value}" for key, value in conf.items()) if as_text else conf
    run = no_leak(sql(sql="select 1", conf=given, executor_memory="2g"))

    assert run.state == "success"
    assert spark_sql.spark_conf["spark.app.password"] == CANARY
    assert spark_sql.only.conf["spark.app.x"] == "1"
    environ = {name: value for name, value in spark_sql.only.environ.items() if name != "FAKE_SPARK_PRINTS"}
    assert CANARY not in str(spark_sql.only.arguments) + str(environ)
    assert "--executor-memory" in spark_sql.only.arguments


def test_attack_19_a_query_that_fails_shows_references(sql, spark_sql, no_leak, password, monkeypatch):
    monkeypatch.setenv("FAKE_SPARK_EXIT", "1")
    run = no_leak(sql(sql=f"select '{password}'", allow_exposed_arguments=True, conf={"spark.app.x": password}))

    assert f"Cannot execute 'select '{password}''" in str(run.error)


def test_attack_33_a_reference_in_a_query_is_refused(sql, spark_sql, no_leak, password):
    run = no_leak(sql(sql=f"select '{password}'"))

    assert "sql: its references would stand where others can read them" in str(run.error)
    assert spark_sql() == []


@pytest.mark.parametrize(
    ("query", "conf", "warned"),
    [
        pytest.param("select '${env:AWS_SECRET}'", None, True, id="environment"),
        pytest.param("select '${system:user.home}'", None, True, id="property"),
        pytest.param("select '${hivevar:day}'", None, False, id="variable"),
        pytest.param("select '${env:X}'", {"spark.sql.variable.substitute": "false"}, False, id="switched-off"),
    ],
)
def test_attack_33_a_query_that_reads_the_worker_is_told(sql, spark_sql, no_leak, query, conf, warned):
    run = no_leak(sql(sql=query, conf=conf))

    assert run.state == "success"
    assert ("spark.sql.variable.substitute=false" in str(run.rendered["effective_config"])) is warned


def test_attack_27_a_jdbc_job_gets_the_value_in_no_argument(dag, spark_submit, no_leak, password, monkeypatch):
    from airflow.providers.apache.spark.operators.spark_jdbc import SparkJDBCOperator

    for name in ("spark", "jdbc"):
        monkeypatch.setenv(f"AIRFLOW_CONN_{name.upper()}_DEFAULT", json.dumps({"conn_type": name, "host": "local"}))
    operator = configured(SparkJDBCOperator)(
        task_id="job",
        dag=dag,
        spark_conn_id="spark_default",
        jdbc_conn_id="jdbc_default",
        jdbc_table="t",
        spark_jars="driver.jar",
        spark_conf={"spark.app.password": password},
    )
    run = no_leak(operator)

    assert run.state == "success"
    assert spark_submit.spark_conf["spark.app.password"] == CANARY
    assert spark_submit.spark_conf["spark.jars"] == "driver.jar"
    assert "-jdbcTable" in spark_submit.only.arguments
    assert CANARY not in str(spark_submit.only.arguments)
    assert run.rendered["effective_config"][0].startswith("spark.app.password = ${dir:")


@pytest.mark.slow
def test_attack_33_the_real_spark_sql_has_the_key_and_lets_no_query_print_it(
    sql, password, monkeypatch, tmp_path, run_task, capfd
):
    """Spark replaces ``${spark...}`` in a query by what it hides under the keys that the file tells it to hide."""
    monkeypatch.chdir(tmp_path)  # for the metastore
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_SQL_DEFAULT", json.dumps({"conn_type": "spark_sql", "host": "local[1]"}))
    query = "select concat('the value is ', '${spark.app.dsn}')"
    run = run_task(sql(sql=query, conf={"spark.app.dsn": password}, verbose=False))

    shown = "".join(capfd.readouterr())
    assert run.state == "success", shown[-2000:]
    assert "the value is *********(redacted)" in shown
    assert CANARY not in shown
