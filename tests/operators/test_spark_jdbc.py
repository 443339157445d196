"""``SparkJDBCOperator``: what its command shows, and what its job gets. Run by Airflow's real task runner."""

from __future__ import annotations

import base64
import inspect
import json
from pathlib import Path

import pytest
from airflow.providers.apache.spark.hooks import spark_jdbc_script
from airflow.providers.apache.spark.hooks.spark_jdbc import SparkJDBCHook
from airflow.providers.apache.spark.operators.spark_jdbc import SparkJDBCOperator

from airflow_config_providers.exceptions import ExposedValueError, UndeliverableValueError
from airflow_config_providers.hooks.spark_jdbc import UNNAMED
from airflow_config_providers.operators.configure import configure_task, configured
from airflow_config_providers.spark.applications import jdbc
from tests.canary import CANARY

URL_CANARY = "c4nary-in-the-url"
USER_CANARY = "c4nary-user"
URL = f"jdbc:postgresql://db:5432/flights;sslpassword={URL_CANARY}"

KEYS = jdbc.KEYS

WHOLE = {
    "cmd_type": "jdbc_to_spark",
    "jdbc_table": "flights",
    "jdbc_driver": "org.postgresql.Driver",
    "metastore_table": "lake.flights",
    "jdbc_truncate": True,
    "save_mode": "append",
    "save_format": "parquet",
    "batch_size": 10,
    "fetch_size": 20,
    "num_partitions": 4,
    "partition_column": "id",
    "lower_bound": "0",
    "upper_bound": "100",
    "create_table_column_types": "name CHAR(64), comments VARCHAR(1024)",
}

pytestmark = pytest.mark.usefixtures("connections")


@pytest.fixture
def database(monkeypatch):
    """Define the connection to the database; ``database(password=...)`` changes it."""

    def define(**fields):
        default = {
            "conn_type": "postgres",
            "host": "db",
            "port": 5432,
            "schema": f"flights;sslpassword={URL_CANARY}",
            "login": USER_CANARY,
            "password": CANARY,
            "extra": {"conn_prefix": "jdbc:postgresql://"},
        }
        monkeypatch.setenv("AIRFLOW_CONN_DB", json.dumps({**default, **fields}))

    define()
    return define


@pytest.fixture
def given():
    """The arguments of an operator."""
    return {"task_id": "job", "spark_conn_id": "spark_default", "jdbc_conn_id": "db", "jdbc_table": "flights"}


@pytest.fixture
def job(dag, database, given):
    """Make an operator of ours: ``job(jdbc_table=...)``."""
    return lambda **kwargs: configured(SparkJDBCOperator)(dag=dag, **{**given, **kwargs})


@pytest.fixture
def password(secrets_dir):
    """A reference to another password than that of the connection."""
    (secrets_dir / "db-password").write_text("an0ther-canary")
    return f"${{dir:{secrets_dir}:db-password}}"


def shown(submission):
    """Return what every user of the machine can read of a run of spark-submit, except what this test added."""
    environ = {name: value for name, value in submission.environ.items() if not name.startswith(("AIRFLOW_", "FAKE_"))}
    return str(submission.arguments) + str(environ)


def told(run, capfd):
    """Return what the task sent to its supervisor or printed, and what others can read from it."""
    messages = "".join(repr(m) for m in run.supervisor.messages if type(m).__name__ != "MaskSecret")
    reachable = repr(vars(run.task)) + repr(vars(run.task._hook)) if run.task._hook else repr(vars(run.task))
    return messages + "".join(capfd.readouterr()) + reachable + repr(run.error) + repr(vars(run.error or run))


def application_arguments(submission):
    """Return the words after the application."""
    return submission.arguments[submission.arguments.index(jdbc.__file__) + 1 :]


def test_attack_27_user_password_and_url_are_in_no_argument(job, run_task, spark_submit, capfd):
    run = run_task(job(spark_conf={"spark.x": "1"}))

    assert run.state == "success"
    assert {name: spark_submit.spark_conf[key] for name, key in KEYS.items()} == {
        "url": URL,
        "user": USER_CANARY,
        "password": CANARY,
    }
    assert "c4nary" not in shown(spark_submit.only)
    assert "c4nary" not in told(run, capfd)


def test_conf_which_the_stock_operator_does_not_use_is_warned_of(job, run_task, spark_submit, capfd):
    run = run_task(job(conf={"spark.x": "1"}))

    assert run.state == "success"
    assert "spark.x" not in spark_submit.spark_conf
    assert (
        "SparkJDBCOperator does not use conf, so the job does not get it. Write spark_conf." in capfd.readouterr().out
    )


def test_the_search_finds_them_in_the_stock_operator(dag, database, given, run_task, spark_submit):
    run = run_task(SparkJDBCOperator(dag=dag, **given))
    run.task._hook._submit_sp.stdout.close()

    assert all(canary in shown(spark_submit.only) for canary in (CANARY, URL_CANARY, USER_CANARY))


def test_attack_27_a_task_that_was_made_before_it_got_our_class_hides_them_too(
    dag, database, given, run_task, spark_submit, capfd
):
    task = SparkJDBCOperator(dag=dag, **given)
    configure_task(task)
    run = run_task(task)

    assert spark_submit.spark_conf[KEYS["password"]] == CANARY
    assert "c4nary" not in shown(spark_submit.only) + told(run, capfd)


def test_a_mapped_task_hides_them_too(dag, database, given, run_task, spark_submit, password):
    confs = [{"spark.x": "a"}, {"spark.x": password}]
    mapped = SparkJDBCOperator.partial(**given, dag=dag).expand(spark_conf=confs)
    configure_task(mapped)
    run = run_task(mapped, map_index=1)

    assert run.state == "success"
    assert spark_submit.spark_conf["spark.x"] == "an0ther-canary"
    assert spark_submit.spark_conf[KEYS["password"]] == CANARY
    assert CANARY not in shown(spark_submit.only)


@pytest.mark.parametrize("name", ["spark_conf", "spark_jars"])
def test_attack_11_a_reference_that_data_brought_is_refused(dag, given, run_task, spark_submit, password, name):
    value = {"spark.x": "{{ dag_run.conf['x'] }}"} if name == "spark_conf" else "{{ dag_run.conf['x'] }}"

    class TemplatedOperator(SparkJDBCOperator):
        template_fields = (*SparkJDBCOperator.template_fields, f"_{name}")

    run = run_task(configured(TemplatedOperator)(dag=dag, **given, **{name: value}), conf={"x": password})

    assert f"_{name}" in str(run.error)
    assert "a reference came from the result of a template" in str(run.error)
    assert spark_submit() == []


@pytest.mark.parametrize("cmd_type", ["jdbc_to_spark", "spark_to_jdbc"])
@pytest.mark.parametrize("options", [{}, WHOLE], ids=["bare", "whole"])
def test_the_job_gets_the_other_arguments_as_from_the_stock_operator(job, run_task, spark_submit, cmd_type, options):
    options = {**options, "cmd_type": cmd_type}
    stock = SparkJDBCHook(**{"jdbc_conn_id": "db", "jdbc_table": "flights", **options})
    expected = spark_jdbc_script._parse_arguments(stock._build_jdbc_application_arguments(stock._jdbc_connection))
    run_task(job(**options))

    found = spark_jdbc_script._parse_arguments(application_arguments(spark_submit.only))
    credentials = {name: spark_submit.spark_conf[key] for name, key in KEYS.items()}
    assert {**vars(found), **credentials} == vars(expected)


def test_a_connection_without_a_login_gives_the_job_none(job, database, run_task, spark_submit):
    database(login=None, password=None)
    run_task(job())

    assert KEYS.values() & spark_submit.spark_conf.keys() == {KEYS["url"]}


def test_a_connection_that_does_not_exist_gives_the_job_nothing(job):
    hook = job(jdbc_conn_id="none_of_these")._get_hook()

    assert hook._build_jdbc_application_arguments(hook._jdbc_connection)[0] == "-cmdType"
    assert hook._credentials == {}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param(None, "{stock}", id="none"),
        pytest.param("a.py,b.zip", "a.py,b.zip,{stock}", id="written"),
        pytest.param("{reference}", "an0ther-canary,{stock}", id="reference"),
    ],
)
def test_the_stock_script_comes_after_the_files_of_the_author(job, run_task, spark_submit, password, files, expected):
    run_task(job(spark_py_files=files and files.replace("{reference}", password), allow_exposed_arguments=True))

    stock = str(Path(spark_jdbc_script.__file__))
    assert spark_submit.spark_conf["spark.submit.pyFiles"] == expected.replace("{stock}", stock)


def test_what_the_configuration_says_goes_before_the_connection(job, run_task, spark_submit, password):
    run = run_task(job(spark_conf={KEYS["password"]: password}))

    assert spark_submit.spark_conf[KEYS["password"]] == "an0ther-canary"
    assert spark_submit.spark_conf[KEYS["user"]] == USER_CANARY
    assert any(line.startswith(f"{KEYS['password']} = {password}") for line in run.rendered["effective_config"])


def test_a_password_of_the_connection_does_not_go_to_another_database(job, run_task, spark_submit):
    run = run_task(job(spark_conf={KEYS["url"]: "jdbc:postgresql://elsewhere/x", KEYS["user"]: "eve"}))

    assert run.state == "success"
    assert spark_submit.spark_conf[KEYS["url"]] == "jdbc:postgresql://elsewhere/x"
    assert KEYS["password"] not in spark_submit.spark_conf
    assert "c4nary" not in str(spark_submit.spark_conf)


def test_a_value_of_the_connection_is_no_reference(job, database, run_task, spark_submit, password):
    database(password=password)
    run_task(job())

    assert spark_submit.spark_conf[KEYS["password"]] == password


@pytest.mark.parametrize(
    "text", [CANARY, base64.b64encode(CANARY.encode()).decode(), URL], ids=["raw", "base64", "url"]
)
def test_attack_19_what_the_job_prints_and_dies_of_shows_neither_password_nor_url(
    job, run_task, spark_submit, capfd, monkeypatch, text
):
    monkeypatch.setenv("FAKE_SPARK_PRINTS", f"cannot sign in with {text}")
    monkeypatch.setenv("FAKE_SPARK_EXIT", "1")
    run = run_task(job())

    everything = told(run, capfd)
    assert run.state in {"failed", "up_for_retry"}
    assert text not in everything
    assert "of connection db]" in everything


def test_a_task_that_runs_again_on_the_same_object_has_its_connection_again(job, spark_submit):
    hook = job()._get_hook()
    hook._submission = lambda conf, _, values: (
        pytest.fail("nothing was rendered") if CANARY not in values.values() else 1 / 0
    )
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            hook.submit_jdbc_job()
        assert "c4nary" not in repr(vars(hook))


def test_a_hook_of_the_authors_own_keeps_what_it_adds(dag, database, given, run_task, spark_submit):
    class OwnHook(SparkJDBCHook):
        def _build_jdbc_application_arguments(self, jdbc_conn):
            return [*super()._build_jdbc_application_arguments(jdbc_conn), "-name", "own"]

    class OwnOperator(SparkJDBCOperator):
        def _get_hook(self):
            return OwnHook(jdbc_conn_id=self._jdbc_conn_id, spark_conf=self._spark_conf)

    run_task(configured(OwnOperator)(dag=dag, **given))

    assert application_arguments(spark_submit.only)[-2:] == ["-name", "own"]
    assert spark_submit.spark_conf[KEYS["password"]] == CANARY
    assert CANARY not in shown(spark_submit.only)


def test_a_password_that_spark_would_change_is_refused(job, database, run_task, spark_submit):
    database(password=f"{CANARY} ")
    run = run_task(job())

    assert isinstance(run.error, UndeliverableValueError)
    assert f"{KEYS['password']}: its value begins or ends with a space" in str(run.error)
    assert spark_submit() == []


@pytest.fixture
def driver(connections, monkeypatch):
    """The deployment says how drivers resolve."""
    extra = {
        **connections,
        "driver.config.providers": "mounted",
        "driver.config.providers.mounted.class": "directory",
        "driver.config.providers.mounted.param.allowed.paths": "/mnt",
    }
    text = json.dumps({"conn_type": "config_providers", "extra": extra})
    monkeypatch.setenv("AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT", text)


IN_DRIVER = {
    KEYS["url"]: "jdbc:postgresql://db/flights",
    KEYS["user"]: "${mounted:/mnt:user}",
    KEYS["password"]: "${mounted:/mnt:password}",
}


@pytest.mark.usefixtures("driver")
def test_attack_32_a_driver_that_resolves_gets_references(job, run_task, spark_submit):
    run = run_task(job(spark_conf=IN_DRIVER, resolve_in="driver"))

    assert run.state == "success"
    assert IN_DRIVER.items() <= spark_submit.spark_conf.items()
    assert spark_submit.spark_conf["spark.config.providers"] == "mounted"
    assert "c4nary" not in str(spark_submit.spark_conf) + shown(spark_submit.only)


@pytest.mark.usefixtures("driver")
@pytest.mark.parametrize("by", ["argument", "setting"])
def test_attack_32_a_secret_of_the_connection_does_not_leave_where_the_driver_resolves(
    job, run_task, spark_submit, monkeypatch, by
):
    if by == "setting":
        monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RESOLVE_IN", "driver")
    run = run_task(job(**({"resolve_in": "driver"} if by == "argument" else {})))

    assert isinstance(run.error, ExposedValueError)
    assert [problem.partition(":")[0] for problem in run.error.problems] == [KEYS["url"], KEYS["password"]]
    assert "c4nary" not in str(run.error)
    assert spark_submit() == []


@pytest.mark.usefixtures("driver")
def test_a_stock_task_in_a_cluster_mode_goes_on_working_and_tells(
    dag, database, given, run_task, spark_submit, monkeypatch, capfd
):
    cluster = {"conn_type": "spark", "host": "yarn", "extra": {"deploy-mode": "cluster"}}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(cluster))
    monkeypatch.setenv("HADOOP_CONF_DIR", "/nowhere")
    task = SparkJDBCOperator(dag=dag, **given)
    configure_task(task)
    run = run_task(task)

    assert run.state == "success"
    assert "spark.config.providers" not in spark_submit.spark_conf  # there is no reference to resolve
    assert spark_submit.spark_conf[KEYS["password"]] == CANARY
    assert "In cluster mode, Spark copies its configuration to the cluster" in told(run, capfd)


def test_the_names_of_the_keys_have_every_spark_hide_them():
    from airflow_config_providers.spark.redaction import is_hidden_by_spark

    assert all(map(is_hidden_by_spark, KEYS.values()))


@pytest.fixture
def _elsewhere(monkeypatch):
    extra = {"deploy-mode": "client", "queue": "night", "spark-binary": "spark3-submit"}
    fields = {"conn_type": "spark", "host": "spark://elsewhere:7077", "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_ELSEWHERE", json.dumps(fields))


def master_of(task):
    connection = task._get_hook()._connection
    return [connection[name] for name in ("master", "deploy_mode", "queue", "spark_binary")]


@pytest.mark.usefixtures("_elsewhere")
def test_a_job_runs_where_its_spark_conn_id_says(job):
    assert master_of(job(spark_conn_id="elsewhere")) == ["spark://elsewhere:7077", "client", "night", "spark3-submit"]


@pytest.mark.parametrize(
    "conn_id", [pytest.param({}, id="none"), pytest.param({"spark_conn_id": "gone"}, id="missing")]
)
def test_a_job_that_names_no_connection_that_exists_runs_where_the_stock_one_does(dag, database, given, conn_id):
    named = {name: value for name, value in given.items() if name != "spark_conn_id"}

    assert master_of(configured(SparkJDBCOperator)(dag=dag, **named, **conn_id))[0] == "local[1]"


@pytest.fixture
def _cluster(monkeypatch):
    fields = {"conn_type": "spark", "host": "spark://elsewhere:7077", "extra": {"deploy-mode": "cluster"}}
    monkeypatch.setenv("AIRFLOW_CONN_ELSEWHERE", json.dumps(fields))


@pytest.mark.usefixtures("_cluster")
def test_whether_values_leave_the_machine_is_judged_by_the_connection_that_is_named(job):
    assert job(spark_conn_id="elsewhere")._destination().is_remote({})


@pytest.mark.usefixtures("_cluster")
def test_the_driver_in_the_cluster_that_is_named_is_followed_to_its_end(job):
    assert job(spark_conn_id="elsewhere")._get_hook()._should_track_driver_status


def test_who_names_no_connection_has_the_id_of_the_stock_operator():
    default = inspect.signature(SparkJDBCOperator.__init__).parameters["spark_conn_id"].default

    assert default in UNNAMED


@pytest.mark.usefixtures("_elsewhere")
def test_the_stock_operator_takes_the_master_from_spark_default(dag, database, given):
    stock = SparkJDBCOperator(dag=dag, **{**given, "spark_conn_id": "elsewhere"})

    assert master_of(stock) == [
        master_of(SparkJDBCOperator(dag=dag, **{**given, "task_id": "b"}))[0],
        None,
        None,
        "spark-submit",
    ]


@pytest.mark.usefixtures("_elsewhere")
def test_a_hook_of_the_authors_own_keeps_its_connection(dag, database, given):
    class OwnHook(SparkJDBCHook):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self._connection["master"] = "local[7]"

    class OwnOperator(SparkJDBCOperator):
        def _get_hook(self):
            return OwnHook(spark_conn_id="elsewhere", jdbc_conn_id=self._jdbc_conn_id)

    assert master_of(configured(OwnOperator)(dag=dag, **given))[0] == "local[7]"


@pytest.mark.usefixtures("_elsewhere")
@pytest.mark.parametrize(
    ("given_to_hook", "expected"),
    [
        pytest.param({"yarn_queue": "own"}, ["client", "own", "spark3-submit"], id="queue"),
        pytest.param({"deploy_mode": "cluster"}, ["cluster", "night", "spark3-submit"], id="deploy mode"),
        pytest.param({"spark_binary": "spark2-submit"}, ["client", "night", "spark2-submit"], id="binary"),
    ],
)
def test_what_an_author_gives_a_stock_hook_beats_the_connection_that_is_named(
    dag, database, given, given_to_hook, expected
):
    class OwnOperator(SparkJDBCOperator):
        def _get_hook(self):
            return SparkJDBCHook(spark_conn_id="elsewhere", jdbc_conn_id=self._jdbc_conn_id, **given_to_hook)

    assert master_of(configured(OwnOperator)(dag=dag, **given)) == ["spark://elsewhere:7077", *expected]


@pytest.mark.usefixtures("_elsewhere")
def test_the_program_of_the_stock_connection_is_not_taken_for_one_of_the_author(job, monkeypatch):
    extra = {"spark-binary": "spark2-submit"}
    fields = {"conn_type": "spark", "host": "local[1]", "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(fields))

    assert master_of(job(spark_conn_id="elsewhere"))[-1] == "spark3-submit"
