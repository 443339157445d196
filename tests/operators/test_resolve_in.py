"""Who resolves a job's references: what leaves the worker, and what is refused before anything does."""

from __future__ import annotations

import io
import json

import pytest

from airflow_config_providers import settings
from airflow_config_providers.core.alter import AlterConfigOp, ConfigResource, ResourceType
from airflow_config_providers.dynamic import ConfigAdmin
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
from airflow_config_providers.spark.catalogue import OF_AUTHOR, READ_ONLY, spark_definition
from tests.operators.conftest import structlog_to, wrapping
from tests.operators.stock import NOT_DURABLE
from tests.servers.recorder import Recorder
from tests.servers.web import WebServer

pytestmark = pytest.mark.usefixtures("spark_submit")

CANARY = "canary-place-7f3a"
REFERENCE = "${vault:apps/db:password}"
CONF = {"spark.app.db.password": REFERENCE, "spark.hadoop.fs.s3a.secret.key": "${mounted:/run/s:key}"}
DRIVER = {
    "driver.config.providers": "vault,mounted",
    "driver.config.providers.vault.class": "vault",
    "driver.config.providers.vault.param.url": "https://vault.example.com:8200",
    "driver.config.providers.vault.param.auth_type": "kubernetes",
    "driver.config.providers.vault.param.kubernetes_role": "spark-driver",
    "driver.config.providers.mounted.class": "directory",
    "driver.config.providers.mounted.param.allowed.paths": "/run/s",
}
CLUSTER = {"conn_type": "spark", "host": "yarn", "extra": {"deploy-mode": "cluster"}}
CLIENT = {"conn_type": "spark", "host": "local[1]"}


@pytest.fixture
def define(monkeypatch, connections):
    """Define the deployment's connections; the worker's own providers stay."""

    def define(extra, spark=CLUSTER):
        connection = {"conn_type": "config_providers", "extra": {**connections, **extra}}
        monkeypatch.setenv("AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT", json.dumps(connection))
        monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(spark))

    define(DRIVER)
    return define


def job(dag, conf=CONF, **kwargs):
    given = {"application": "job.py", **kwargs}
    return ConfiguredSparkSubmitOperator(task_id="job", conf=conf, dag=dag, **NOT_DURABLE, **given)


def test_attack_32_in_cluster_mode_references_leave_and_how_to_resolve_them(dag, run_task, define, spark_submit):
    run = run_task(job(dag))

    assert run.state == "success", run.error
    sent = spark_submit.spark_conf
    assert {key: sent[key] for key in CONF} == CONF
    told = {key: text for key, text in sent.items() if key.startswith("spark.config.providers")}
    assert told == {f"spark.{key.removeprefix('driver.')}": text for key, text in DRIVER.items()}
    assert run.rendered["conf"]["spark.app.db.password"] == "***"
    assert any(line.startswith(f"spark.app.db.password = {REFERENCE} ") for line in run.rendered["effective_config"])


def test_a_job_that_carries_no_secret_is_not_warned_of_one(dag, run_task, define, spark_submit, capfd):
    define({**DRIVER, "driver.config.providers.mounted.param.token_path": "/run/token"})
    run = run_task(job(dag, {"spark.app.url": REFERENCE}))

    assert run.state == "success", run.error
    assert "spark.config.providers.mounted.param.token_path" in spark_submit.only.properties
    assert "In cluster mode, Spark copies" not in capfd.readouterr().out


DEFAULTS = [
    pytest.param("spark.app.x 1", False, id="no secret"),
    pytest.param("spark.app.password hunter2", True, id="a secret"),
]


@pytest.mark.parametrize(("line", "is_warned"), DEFAULTS)
def test_only_secrets_of_the_defaults_file_are_said_to_be_copied_to_the_cluster(
    dag, run_task, define, spark_submit, tmp_path, capfd, line, is_warned
):
    (tmp_path / "spark-conf").mkdir()
    (tmp_path / "spark-conf" / "spark-defaults.conf").write_text(line)

    run = run_task(job(dag, {"spark.app.url": REFERENCE}))

    assert run.state == "success", run.error
    assert line.partition(" ")[0] in spark_submit.only.properties
    assert ("In cluster mode, Spark copies" in capfd.readouterr().out) is is_warned


def test_no_provider_of_the_worker_is_asked(dag, run_task, define, secrets_dir, spark_submit):
    (secrets_dir / "key").write_text(CANARY)
    define({**DRIVER, "driver.config.providers": "dir", "driver.config.providers.dir.class": "directory"})
    reference = f"${{dir:{secrets_dir}:key}}"

    run = run_task(job(dag, {"spark.app.key": reference}))

    assert run.state == "success", run.error
    assert spark_submit.spark_conf["spark.app.key"] == reference
    assert CANARY not in json.dumps(vars(spark_submit.only))


@pytest.mark.parametrize(
    ("resolve_in", "spark"),
    [
        pytest.param(None, CLIENT, id="client mode"),
        pytest.param("worker", CLUSTER, id="cluster mode, and the author says so"),
    ],
)
def test_the_worker_resolves(dag, run_task, define, secrets_dir, spark_submit, resolve_in, spark):
    (secrets_dir / "key").write_text(CANARY)
    define(DRIVER, spark)

    run = run_task(job(dag, {"spark.app.key": f"${{dir:{secrets_dir}:key}}"}, resolve_in=resolve_in))

    assert run.state == "success", run.error
    assert spark_submit.spark_conf["spark.app.key"] == CANARY
    assert not [key for key in spark_submit.spark_conf if key.startswith("spark.config.providers")]


YARN = {"conn_type": "spark", "host": "yarn"}
KEY = "spark.submit.deployMode"


def in_cluster_by_defaults(tmp_path, monkeypatch):
    (tmp_path / "spark-conf").mkdir()
    (tmp_path / "spark-conf" / "spark-defaults.conf").write_text(f"{KEY} cluster\n")


def in_cluster_by_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("DEPLOY_MODE", "cluster")


@pytest.mark.parametrize(
    ("prepare", "conf", "fields"),
    [
        pytest.param(None, {KEY: "cluster"}, {}, id="conf"),
        pytest.param(None, {KEY: "client"}, {"deploy_mode": "cluster"}, id="the argument, which is stronger"),
        pytest.param(in_cluster_by_defaults, {}, {}, id="Spark's defaults"),
        pytest.param(in_cluster_by_environment, {}, {}, id="the worker's environment"),
        pytest.param(None, {}, {"env_vars": {"DEPLOY_MODE": "cluster"}}, id="the author's environment"),
    ],
)
def test_the_driver_resolves_whatever_sends_it_into_the_cluster(
    dag, run_task, define, spark_submit, tmp_path, monkeypatch, prepare, conf, fields
):
    define(DRIVER, YARN)
    if prepare:
        prepare(tmp_path, monkeypatch)

    run = run_task(job(dag, {**CONF, **conf}, **fields))

    assert run.state == "success", run.error
    assert {key: spark_submit.spark_conf[key] for key in CONF} == CONF


@pytest.mark.parametrize("key", OF_AUTHOR)
def test_attack_a_run_cannot_send_the_job_into_the_cluster(dag, run_task, define, spark_submit, monkeypatch, key):
    define(DRIVER, YARN)
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RUN_CONFIG_ENABLED", "True")

    run = run_task(job(dag, {key: "of the author"}, resolve_in="worker"), conf={"spark_conf": {key: "cluster"}})

    assert isinstance(run.error, ConfigException)
    assert run.error.problems == (f"'{key}' in dag_run.conf['spark_conf'] is read-only: {READ_ONLY[key]}",)
    assert not spark_submit()


@pytest.mark.parametrize(
    ("spark", "conf", "fields"),
    [
        pytest.param(YARN, {KEY: "cluster"}, {"deploy_mode": "client"}, id="a key and a stronger argument"),
        pytest.param(YARN, {KEY: "client"}, {"env_vars": {"DEPLOY_MODE": "cluster"}}, id="variable, stronger key"),
    ],
)
def test_the_worker_resolves_what_stays_here(dag, run_task, define, secrets_dir, spark_submit, spark, conf, fields):
    (secrets_dir / "key").write_text(CANARY)
    define(DRIVER, spark)

    run = run_task(job(dag, {"spark.app.key": f"${{dir:{secrets_dir}:key}}", **conf}, **fields))

    assert run.state == "success", run.error
    assert spark_submit.spark_conf["spark.app.key"] == CANARY


@pytest.mark.parametrize("mode", ["cluster", "${dir:%s:mode}"], ids=["written", "a reference"])
def test_values_that_a_key_sends_into_the_cluster_are_warned_of(
    dag, run_task, define, secrets_dir, spark_submit, capfd, mode
):
    (secrets_dir / "key").write_text(CANARY)
    (secrets_dir / "mode").write_text("cluster")
    define(DRIVER, YARN)
    conf = {"spark.app.key": f"${{dir:{secrets_dir}:key}}", KEY: mode.replace("%s", str(secrets_dir))}

    run = run_task(job(dag, conf, resolve_in="worker"))

    assert run.state == "success", run.error
    assert "mode, Spark copies its configuration to the" in capfd.readouterr().out  # "cluster" can be a value here


@pytest.mark.parametrize(("spark", "is_warned"), [(YARN, True), (CLIENT, False)], ids=["YARN", "local"])
def test_values_that_yarn_writes_down_in_client_mode_are_warned_of(
    dag, run_task, define, secrets_dir, spark_submit, capfd, spark, is_warned
):
    (secrets_dir / "key").write_text(CANARY)
    define(DRIVER, spark)

    run = run_task(job(dag, {"spark.app.key": f"${{dir:{secrets_dir}:key}}"}))

    assert run.state == "success", run.error
    assert ("into the staging directory and onto nodes in client mode" in capfd.readouterr().out) is is_warned


@pytest.mark.parametrize(
    ("fields", "conf", "is_warned"),
    [
        pytest.param({}, {}, True, id="no mode"),
        pytest.param({"deploy_mode": "client"}, {}, False, id="the argument, which is stronger"),
        pytest.param({}, {KEY: "client"}, False, id="a key, which is stronger"),
    ],
)
def test_a_job_with_secrets_whose_mode_spark_env_sh_decides_is_warned_of(
    dag, run_task, define, secrets_dir, spark_submit, tmp_path, capfd, fields, conf, is_warned
):
    (secrets_dir / "key").write_text(CANARY)
    define(DRIVER, {"conn_type": "spark", "host": "spark://master:7077"})
    (tmp_path / "spark-conf").mkdir()
    (tmp_path / "spark-conf" / "spark-env.sh").write_text("DEPLOY_MODE=cluster\n")

    run = run_task(job(dag, {"spark.app.key": f"${{dir:{secrets_dir}:key}}", **conf}, **fields))

    assert run.state == "success", run.error
    assert ("sets DEPLOY_MODE, so it is not known here" in capfd.readouterr().out) is is_warned


JVM = [
    pytest.param({"application": "job.jar"}, "application", id="jar"),
    pytest.param({"application": "job.jar", "java_class": "org.example.Job"}, "java_class", id="class"),
    pytest.param({"application": "job.R"}, "application", id="R"),
]


@pytest.mark.parametrize(("fields", "place"), JVM)
def test_attack_32_a_job_that_is_no_python_program_is_never_handed_a_reference(
    dag, run_task, define, secrets_dir, spark_submit, fields, place
):
    (secrets_dir / "key").write_text(CANARY)
    run = run_task(job(dag, {"spark.app.key": f"${{dir:{secrets_dir}:key}}"}, **fields))

    assert run.state == "success", run.error
    assert spark_submit.spark_conf["spark.app.key"] == CANARY
    assert not [key for key in spark_submit.spark_conf if key.startswith("spark.config.providers")]


@pytest.mark.parametrize(("fields", "place"), JVM)
def test_the_driver_of_a_job_that_is_no_python_program_is_refused(dag, run_task, define, spark_submit, fields, place):
    run = run_task(job(dag, resolve_in="driver", **fields))

    assert run.state == "failed"
    assert f"spark.app.db.password: {REFERENCE}: only a Python driver can resolve references, and {place} shows" in str(
        run.error
    )
    assert spark_submit() == []


def test_a_job_that_is_no_python_program_and_has_no_reference_may_say_driver(dag, run_task, define, spark_submit):
    run = run_task(job(dag, {"spark.a": "b"}, application="job.jar", resolve_in="driver"))

    assert run.state == "success", run.error
    assert spark_submit.spark_conf["spark.a"] == "b"
    assert not [key for key in spark_submit.spark_conf if key.startswith("spark.config.providers")]


def test_a_python_program_that_sparks_own_class_runs_gets_references(dag, run_task, define, spark_submit):
    run = run_task(job(dag, application="spark-core.jar", java_class="org.apache.spark.deploy.PythonRunner"))

    assert run.state == "success", run.error
    assert spark_submit.spark_conf["spark.app.db.password"] == REFERENCE


def test_the_log_says_that_the_driver_resolves(dag, run_task, define):
    define(DRIVER)

    with structlog_to(io.StringIO()) as log:
        run_task(job(dag, {"spark.app.key": "${vault:apps/db:key}"}))

    assert ": none. The driver resolves those of the configuration when the job calls session()" in log.getvalue()


def test_without_a_word_on_the_driver_the_worker_resolves_and_warns(
    dag, run_task, define, secrets_dir, spark_submit, caplog
):
    (secrets_dir / "key").write_text(CANARY)
    define({})

    run = run_task(job(dag, {"spark.app.key": f"${{dir:{secrets_dir}:key}}"}))

    assert run.state == "success", run.error
    assert spark_submit.spark_conf["spark.app.key"] == CANARY


def test_the_deployment_may_say_who_resolves(dag, run_task, define, spark_submit, monkeypatch):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RESOLVE_IN", "driver")
    define(DRIVER, CLIENT)

    assert run_task(job(dag)).state == "success"
    assert spark_submit.spark_conf["spark.app.db.password"] == REFERENCE


@pytest.mark.parametrize(
    ("conf", "more", "problem"),
    [
        pytest.param(
            {"spark.x": "${env2:a}"}, {}, "spark.x: ${env2:a}: the driver has no provider 'env2'", id="unknown provider"
        ),
        pytest.param({"spark.x": "${dir:/x:a}"}, {}, "the driver has no provider 'dir'", id="provider of the worker"),
        pytest.param({"spark.driver.extraJavaOptions": f"-Dp={REFERENCE}"}, {}, "reads it before", id="needed early"),
        pytest.param({"spark.jars": f"s3://{REFERENCE}@x/y.jar"}, {}, "reads it before", id="needed by spark-submit"),
        pytest.param(
            {"spark.app.x": REFERENCE, "spark.ui.custom.executor.log.url": "http://x/${spark.app.x}"},
            {},
            "Spark replaces spark.app.x in it",
            id="shown by a substitution",
        ),
        pytest.param({"app.password": REFERENCE}, {}, "Spark ignores keys", id="no key of Spark"),
        pytest.param({}, {"application_args": ["${dir:/x:y}"]}, "would be readable by every user", id="argument"),
        pytest.param(
            {}, {"env_vars": {"A": REFERENCE}}, "env_vars['A']: the environment of the driver", id="environment"
        ),
        pytest.param(
            {"spark.config.providers.vault.param.url": "http://evil"}, {}, "belong to the deployment", id="re-pointed"
        ),
        pytest.param({"spark.config.providers_file": "/tmp/mine"}, {}, "belong to the deployment", id="another file"),
    ],
)
def test_what_the_driver_could_not_do_is_refused_before_anything_leaves(
    dag, run_task, define, spark_submit, conf, more, problem
):
    run = run_task(job(dag, conf, **more))

    assert run.state == "failed"
    assert problem in str(run.error)
    assert spark_submit() == []


@pytest.mark.parametrize(
    ("spark", "way_out"),
    [
        pytest.param(CLUSTER, "Pass it as a key of conf that the job reads.", id="YARN"),
        pytest.param(CLIENT, "conf that the job reads, or set resolve_in='worker'.", id="the worker's machine"),
    ],
)
def test_the_worker_is_proposed_for_a_variable_unless_it_would_refuse_it_too(dag, run_task, define, spark, way_out):
    define(DRIVER, spark)

    run = run_task(job(dag, {}, env_vars={"A": REFERENCE}, resolve_in="driver"))

    assert way_out in str(run.error)


@pytest.fixture
def of_deployment(tmp_path, monkeypatch):
    """A file of the deployment that names another file with the driver's definitions."""
    file = tmp_path / "all.properties"
    file.write_text("spark.config.providers_file=/etc/spark/providers.properties\n")
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__CONFIG_FILES", str(file))
    return file


def test_a_job_without_references_may_have_the_definitions_of_the_deployments_files(
    dag, run_task, define, spark_submit, of_deployment
):
    run = run_task(job(dag, {}))

    assert run.state == "success", run.error
    assert spark_submit.spark_conf == {"spark.config.providers_file": "/etc/spark/providers.properties"}


def test_two_definitions_of_the_deployment_for_one_driver_are_refused_with_the_places_of_both(
    dag, run_task, define, spark_submit, of_deployment
):
    run = run_task(job(dag))

    assert f"spark.config.providers_file ({of_deployment}:1) would change the definitions" in str(run.error)
    assert "from connection 'config_providers_default'. Remove it there, or set resolve_in='worker'." in str(run.error)
    assert spark_submit() == []


def test_dynamic_configuration_does_not_have_the_driver_show_a_secret_that_the_author_wrote_out(
    dag, run_task, define, spark_submit, store
):
    of_dag = ConfigResource(ResourceType.DAG, "flights")
    change = AlterConfigOp("spark.ui.custom.executor.log.url", "http://x/${spark.app.password}")
    ConfigAdmin(store, spark_definition()).incremental_alter_configs({of_dag: [change]})
    run = run_task(job(dag, {"spark.app.x": REFERENCE, "spark.app.password": "s3cret"}))

    assert "Spark replaces spark.app.password in it" in str(run.error)
    assert spark_submit() == []


def test_attack_32_a_sealed_secret_does_not_leave_in_a_job_without_references(
    dag, run_task, define, spark_submit, store, monkeypatch
):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__PASSWORD_ENCODER_SECRET", "an-encoder-secret-of-the-tests")
    admin = ConfigAdmin(store, spark_definition(), seal=settings.password_encoder().encode)
    of_dag = ConfigResource(ResourceType.DAG, "flights")
    admin.incremental_alter_configs({of_dag: [AlterConfigOp("spark.app.db.password", CANARY)]})

    run = run_task(job(dag, {}))

    assert "its secret is encrypted for the worker" in str(run.error)
    assert not spark_submit()


def test_all_that_is_wrong_is_said_at_once(dag, run_task, define):
    run = run_task(job(dag, {"spark.a": "${x:y:z}", "spark.jars": REFERENCE}, env_vars={"A": REFERENCE}))

    assert len(run.error.problems) == 3


def test_attack_32_a_secret_in_what_the_driver_is_told_is_refused(dag, run_task, define, spark_submit):
    define({**DRIVER, "driver.config.providers.vault.param.token": CANARY})

    run = run_task(job(dag))

    assert run.state == "failed"
    assert "would be a secret" in str(run.error)
    assert CANARY not in str(run.error)
    assert spark_submit() == []


def test_a_driver_that_is_told_nothing_cannot_resolve(dag, run_task, define, spark_submit):
    define({})

    run = run_task(job(dag, resolve_in="driver"))

    assert "no driver providers are defined" in str(run.error)
    assert spark_submit() == []


def test_a_job_that_is_no_python_program_is_told_so_where_the_driver_is_told_nothing(dag, run_task, define):
    define({})

    run = run_task(job(dag, application="job.jar", java_class="org.example.Job", resolve_in="driver"))

    assert "only a Python driver can resolve references" in str(run.error)


def test_the_nearest_provider_of_the_driver_is_named(dag, run_task, define):
    run = run_task(job(dag, {"spark.x": "${valut:apps/db:a}"}))

    assert "the driver has no provider 'valut', did you mean 'vault'?" in str(run.error)


def test_a_reference_that_is_in_a_string_twice_is_one_problem(dag, run_task, define):
    run = run_task(job(dag, {"spark.x": "${valut:apps/db:a} ${valut:apps/db:a}"}))

    assert len(run.error.problems) == 1


def test_a_wrong_word_is_found_when_the_dag_is_read(dag):
    with pytest.raises(ConfigException, match="argument resolve_in: 'drive' is not one of auto, worker, driver"):
        job(dag, resolve_in="drive")


def test_what_stands_in_other_fields_is_the_workers(dag, run_task, define, secrets_dir, spark_submit):
    (secrets_dir / "date").write_text("2026-01-01")
    arguments = ["--date", f"${{dir:{secrets_dir}:date}}"]

    run = run_task(job(dag, application_args=arguments, allow_exposed_arguments=True))

    assert run.state == "success", run.error
    assert spark_submit.only.arguments[-2:] == ["--date", "2026-01-01"]
    assert spark_submit.spark_conf["spark.app.db.password"] == REFERENCE


def test_attack_32_livy_gets_references_and_how_to_resolve_them(
    dag, run_task, define, secrets_dir, monkeypatch, livy_server
):
    from airflow.providers.apache.livy.operators.livy import LivyOperator

    from airflow_config_providers.operators.configure import configured

    (secrets_dir / "name").write_text("from the worker")
    recorder, port = livy_server
    livy = {"conn_type": "livy", "host": "127.0.0.1", "port": port, "schema": "http"}
    monkeypatch.setenv("AIRFLOW_CONN_LIVY_DEFAULT", json.dumps(livy))
    name = f"${{dir:{secrets_dir}:name}}"

    run = run_task(configured(LivyOperator)(task_id="job", dag=dag, file="job.py", conf=CONF, args=[name]))

    assert run.state == "success", run.error
    (body,) = [request.body for request in recorder.requests() if request.body]
    told = {f"spark.{key.removeprefix('driver.')}": text for key, text in DRIVER.items()}
    assert body["conf"] == {**CONF, **told}
    assert body["args"] == ["from the worker"]


def test_attack_32_a_jar_that_livy_runs_is_never_handed_a_reference(
    dag, run_task, define, secrets_dir, monkeypatch, livy_server
):
    from airflow.providers.apache.livy.operators.livy import LivyOperator

    from airflow_config_providers.operators.configure import configured

    (secrets_dir / "key").write_text(CANARY)
    recorder, port = livy_server
    livy = {"conn_type": "livy", "host": "127.0.0.1", "port": port, "schema": "http"}
    monkeypatch.setenv("AIRFLOW_CONN_LIVY_DEFAULT", json.dumps(livy))
    conf = {"spark.app.key": f"${{dir:{secrets_dir}:key}}"}

    run = run_task(configured(LivyOperator)(task_id="job", dag=dag, file="job.jar", class_name="a.B", conf=conf))

    assert run.state == "success", run.error
    (body,) = [request.body for request in recorder.requests() if request.body]
    assert body["conf"] == {"spark.app.key": CANARY}


@pytest.fixture
def livy_server():
    """A Livy whose every batch ends well."""
    pytest.importorskip("airflow.providers.apache.livy")
    recorder = Recorder({"id": 7, "state": "success", "appId": "app-7", "log": []})
    server = WebServer(recorder)
    yield recorder, int(server.address.rpartition(":")[2])
    server.close()


@pytest.fixture
def wrapped(vault, define):
    """A Vault and the driver's role, with that connection."""
    role = vault.approle(f"{vault.kv2}/data/apps/*")
    define(wrapping(vault, role, ttl="60"))
    return vault, role


def test_attack_32_the_driver_gets_a_secret_id_that_works_once(dag, run_task, wrapped, spark_submit):
    from airflow_config_providers.exceptions import AccessDeniedError
    from airflow_config_providers.providers.vault.provider import VaultConfigProvider
    from airflow_config_providers.spark import driver_providers

    vault, _ = wrapped
    vault.put("apps/db", {"password": CANARY})

    run = run_task(job(dag, {"spark.app.password": f"${{vault:{vault.kv2}/apps/db:password}}"}))

    assert run.state == "success", run.error
    told = driver_providers.from_spark_keys(spark_submit.spark_conf)
    driver_providers.require_without_secrets(told)
    params = {key.rpartition("param.")[2]: text for key, text in told.items() if ".param." in key}
    assert params.keys() == {"url", "auth_type", "role_id", "wrapped_secret_id"}
    assert params["wrapped_secret_id"] not in json.dumps(spark_submit.only.arguments)
    driver = VaultConfigProvider(lambda conn_id: None, {})
    driver.configure(params)
    assert driver.get(f"{vault.kv2}/apps/db", {"password"}).data == {"password": CANARY}
    driver.close()
    driver.configure(params)
    with pytest.raises(AccessDeniedError, match="was already used"):
        driver.get(f"{vault.kv2}/apps/db", {"password"})
    driver.close()


def test_the_connection_says_how_long_the_driver_can_sign_in(dag, run_task, vault, define, spark_submit):
    role = vault.approle(f"{vault.kv2}/data/apps/*")
    define(wrapping(vault, role, login_ttl="90"))

    run = run_task(job(dag, {"spark.app.password": f"${{vault:{vault.kv2}/apps/db:password}}"}))

    assert run.state == "success", run.error
    wrapped_secret_id = spark_submit.spark_conf["spark.config.providers.vault.param.wrapped_secret_id"]
    assert "spark.config.providers.vault.param.wrapping.login_ttl" not in spark_submit.spark_conf
    assert vault.unwrapped(wrapped_secret_id)["secret_id_ttl"] == 90


@pytest.mark.parametrize("name", ["ttl", "login_ttl"])
def test_a_lifetime_is_a_number_of_seconds(dag, run_task, vault, define, name):
    define(wrapping(vault, vault.approle("*"), **{name: "1h"}))

    run = run_task(job(dag, {"spark.app.password": "${vault:apps/db:password}"}))

    assert f"param.wrapping.{name} is not a whole number of seconds from 1 to" in str(run.error)


def test_each_try_gets_a_secret_id_of_its_own(dag, run_task, wrapped, spark_submit):
    vault, _ = wrapped
    conf = {"spark.app.password": f"${{vault:{vault.kv2}/apps/db:password}}"}
    for n in range(2):
        with dag:
            run_task(ConfiguredSparkSubmitOperator(task_id=f"try{n}", application="job.py", conf=conf, **NOT_DURABLE))

    first, second = (submission.properties for submission in spark_submit())
    assert first != second
