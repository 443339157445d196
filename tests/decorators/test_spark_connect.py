"""References for a real server of Spark Connect: in the connection to it, and in the session's configuration."""

from __future__ import annotations

import json
import os

import pytest

from airflow_config_providers.decorators.pyspark import configured_pyspark_task
from airflow_config_providers.hooks.spark_connect import ConfiguredSparkConnectHook
from tests.operators.conftest import CANARY
from tests.servers.spark_connect import spark_connect_server

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("connections", "remote")]

TOKEN = "t0ken/of+the=server;%2F ?#&"
AWKWARD = f"{CANARY}\n\t'a' \"b\" $x ${{env:HOME}} %s \\ é\U0001f511"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One for all tests."""
    with spark_connect_server(tmp_path_factory.mktemp("connect"), token=TOKEN) as server:
        yield server


@pytest.fixture
def remote(server, secrets_dir, own_jvm, monkeypatch):
    """
    A connection to the server, whose token is a reference.

    From a JVM that another test has left, PySpark would take a master, which it refuses beside a server.
    """
    (secrets_dir / "token").write_text(TOKEN)
    fields = {"host": "localhost", "port": server.port, "password": f"${{dir:{secrets_dir}:token}}"}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_CONNECT_DEFAULT", json.dumps({"conn_type": "spark_connect", **fields}))
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")  # which PySpark sets, and leaves


def secrets_of_this_process():
    return repr(dict(os.environ))


def test_the_server_takes_the_token(capfd):
    from pyspark.sql import SparkSession

    with ConfiguredSparkConnectHook() as hook:
        session = SparkSession.builder.remote(hook.get_connection_url()).create()
        rows = session.range(3).count()
        session.stop()

    assert rows == 3
    assert TOKEN not in "".join(capfd.readouterr()) + repr(vars(hook)) + secrets_of_this_process()


def test_the_server_takes_no_other_token(secrets_dir):
    from pyspark.errors.exceptions.connect import SparkConnectGrpcException
    from pyspark.sql import SparkSession

    (secrets_dir / "token").write_text("another")
    with ConfiguredSparkConnectHook() as hook:
        session = SparkSession.builder.remote(hook.get_connection_url()).create()
        with pytest.raises(SparkConnectGrpcException, match="UNAUTHENTICATED"):
            session.range(3).count()
        session.stop()


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        pytest.param({}, "(?i)special", id="of the server"),
        pytest.param({"spark.sql.redaction.options.regex": "mine"}, "|mine", id="of the author"),
    ],
)
def test_a_session_hides_the_options_that_its_server_hides_unless_the_author_says_otherwise(
    dag, run_task, password, own, expected
):
    seen = []

    def job(spark):
        seen.append(spark.conf.get("spark.sql.redaction.options.regex"))

    with dag:
        conf = {"spark.app.dsn": password, **own}
        made = configured_pyspark_task(job, conn_id="spark_connect_default", config_kwargs=conf)()
    run = run_task(made.operator)

    assert run.state == "success", run.error
    assert seen[0].endswith(expected)
    assert seen[0] == expected or own


HIDDEN = "spark.app.db.password"
"""A key that the server hides from its clients, from Spark 4.2.1 on."""


@pytest.mark.parametrize("key", ["spark.app.dsn", HIDDEN])
@pytest.mark.parametrize("value", [CANARY, AWKWARD, f"jdbc:x?password={CANARY}"], ids=["plain", "awkward", "url"])
def test_attack_27_30_the_function_and_the_session_get_values_and_nobody_else(
    dag,
    no_leak,
    secrets_dir,
    password,
    server,
    key,
    value,
):
    (secrets_dir / "db-password").write_text(value)
    seen = {}

    def job(argument, spark):
        seen["argument"], seen["conf"] = argument, spark.conf.get(key)
        print("the job says", argument)
        return {"conf": spark.conf.get(key, "another"), "rows": spark.range(3).count()}

    with dag:
        conf = {key: password}
        made = configured_pyspark_task(job, conn_id="spark_connect_default", config_kwargs=conf)(password)
    run = no_leak(made.operator)

    assert run.state == "success", run.error
    assert seen == {"argument": value, "conf": value}
    (pushed,) = run.supervisor.sent("SetXCom")
    assert pushed.value == {"conf": password, "rows": 3}
    assert run.task.conn_id == "spark_connect_default"
    assert "writes what a session sets into its event log" in run.shown
    assert CANARY not in secrets_of_this_process()
    assert CANARY not in server.log.read_text()


def test_a_session_gives_back_what_the_function_set_and_nothing_of_another_session(dag, run_task, password):
    seen = []

    def job(spark):
        spark.conf.set(HIDDEN, "mine")
        seen.append(spark.conf.get(HIDDEN))
        spark.conf.unset(HIDDEN)
        seen.append(spark.conf.get(HIDDEN, "nothing"))
        with ConfiguredSparkConnectHook() as hook:
            another = type(spark).builder.remote(hook.get_connection_url()).create()
            seen.append(another.conf.get(HIDDEN, "nothing"))
            another.stop()

    with dag:
        conf = {HIDDEN: password}
        made = configured_pyspark_task(job, conn_id="spark_connect_default", config_kwargs=conf)()
    run = run_task(made.operator)

    assert run.state == "success", run.error
    assert seen == ["mine", "nothing", "nothing"]


def test_attack_30_what_a_server_itself_shows_stays_hidden(dag, no_leak, password):
    """Spark before 4.2.1 shows it to everyone who has the session."""
    pyspark = pytest.importorskip("pyspark")
    if tuple(map(int, pyspark.__version__.split(".")[:3])) < (4, 2, 1):
        pytest.skip("Spark hides it from 4.2.1 on")
    seen = []

    def job(spark):
        seen.append(str(spark.sql(f"SET {HIDDEN}").collect()) + str(spark.conf.getAll))

    with dag:
        conf = {HIDDEN: password}
        made = configured_pyspark_task(job, conn_id="spark_connect_default", config_kwargs=conf)()
    run = no_leak(made.operator)

    assert run.state == "success", run.error
    assert CANARY not in seen[0]


def test_attack_19_an_error_of_the_server_shows_the_reference(dag, no_leak, password):
    def job(argument, spark):
        spark.sql(f"select raise_error('cannot read {argument}')").collect()

    with dag:
        made = configured_pyspark_task(job, conn_id="spark_connect_default")(password)
    run = no_leak(made.operator)

    assert run.state == "failed"
    assert f"cannot read {password}" in str(run.error)
