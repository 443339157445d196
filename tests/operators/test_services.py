"""The operators of services, from their real packages, against servers that keep what they are sent."""

from __future__ import annotations

import json
import os
from functools import partial

import pytest
import yaml

from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.operators.configure import configured
from tests.operators.conftest import CANARY, recording, wrapping
from tests.servers.recorder import Recorder
from tests.servers.web import Request, Response, WebServer

pytestmark = pytest.mark.usefixtures("connections")


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


def test_layers_override_the_named_arguments_of_livy(livy, service, no_leak, password, monkeypatch):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RUN_CONFIG_ENABLED", "True")
    recorder, port = service(LIVY)
    given = {"executor_memory": "64g", "executor_cores": 4, "name": "written", "queue": password}
    operator = livy(port, **given, args=[password], allow_exposed_arguments=True)
    run = no_leak(operator, conf={"spark_conf": {"spark.executor.memory": "1g", "spark.app.name": "asked"}})

    (body,) = bodies(recorder)
    assert run.state == "success"
    settled = {"spark.executor.memory": "1g", "spark.executor.cores": "4", "spark.app.name": "asked"}
    assert body["conf"] == {**settled, "spark.yarn.queue": CANARY}
    assert body["name"] == "asked"
    assert {"executorMemory", "executorCores", "queue"}.isdisjoint(body)
    assert "spark.executor.cores = 4   # DAG_CONFIG, argument executor_cores" in run.rendered["effective_config"]


@pytest.fixture
def policies(monkeypatch, tmp_path):
    """Have the deployment use the policies in a string."""

    def use(text):
        (tmp_path / "policies.yaml").write_text(text)
        monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__POLICIES_FILE", str(tmp_path / "policies.yaml"))

    return use


def test_policies_see_the_named_arguments_of_livy(livy, service, run_task, policies):
    policies("policies:\n- name: small\n  class: bounds\n  params: {spark.executor.memory: {max: 2g}}\n")
    recorder, port = service(LIVY)
    run = run_task(livy(port, executor_memory="64g"))

    assert "'spark.executor.memory' is set in DAG_CONFIG, argument executor_memory." in str(run.error)
    assert bodies(recorder) == []


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


def clusters(**confs):
    """Return tasks of Databricks, each with its own cluster, except one that uses the cluster of another."""
    tasks = [
        {"task_key": name, "new_cluster": {"spark_version": "16.4", "spark_conf": conf}} for name, conf in confs.items()
    ]
    return [*tasks, {"task_key": "rest", "existing_cluster_id": "c-1"}]


@pytest.fixture
def databricks(dag, service, monkeypatch):
    """Return a function that makes a ``DatabricksSubmitRunOperator`` of ours and the recorder of its server."""
    pytest.importorskip("airflow.providers.databricks")
    from airflow.providers.databricks.operators.databricks import DatabricksSubmitRunOperator

    recorder, port = service(DATABRICKS)
    connection(monkeypatch, "databricks", host="127.0.0.1", port=port, schema="http", password="the-token")

    def make(**kwargs):
        given = {"task_id": "job", "dag": dag, "polling_period_seconds": 0, "durable": False, **kwargs}
        return configured(DatabricksSubmitRunOperator)(**given), recorder

    return make


@pytest.mark.parametrize("place", ["json", "tasks", "job_clusters"])
def test_every_cluster_of_databricks_gets_the_layers_around_its_own(databricks, no_leak, password, tmp_path, place):
    (tmp_path / "all.properties").write_text(f"spark.a=file\nspark.b=file\nspark.app.file={password}\n")
    confs = clusters(one={"spark.a": "one", "spark.app.password": f"x{password}"}, two={}, three=None)
    content = {"json": {"json": {"tasks": confs}}, "tasks": {"tasks": confs}, "job_clusters": {"json": {place: confs}}}
    task, recorder = databricks(config_files=[str(tmp_path / "all.properties")], **content[place])
    run = no_leak(task, conf={"spark_conf": {"spark.b": "run"}})

    (body,) = bodies(recorder, "submit")
    sent = body["job_clusters" if place == "job_clusters" else "tasks"]
    assert run.state == "success"
    assert [item.get("new_cluster", {}).get("spark_conf") for item in sent] == [
        {"spark.a": "one", "spark.b": "file", "spark.app.file": CANARY, "spark.app.password": f"x{CANARY}"},
        {"spark.a": "file", "spark.b": "file", "spark.app.file": CANARY},
        {"spark.a": "file", "spark.b": "file", "spark.app.file": CANARY},
        None,
    ]
    assert run.rendered["effective_config"][0].startswith("! Several clusters: each gets these layers")


def test_a_cluster_of_databricks_does_not_get_the_reload_action(databricks, no_leak):
    confs = clusters(one={"config.reload.action": "none", "spark.a": "one"}, two={"config.action.reload": "none"})
    task, recorder = databricks(tasks=confs)
    no_leak(task)

    (body,) = bodies(recorder, "submit")
    assert [item["new_cluster"]["spark_conf"] for item in body["tasks"][:2]] == [{"spark.a": "one"}, {}]


def test_a_run_of_databricks_that_an_earlier_try_has_submitted_is_followed_without_a_value(
    databricks, no_leak, password
):
    pytest.importorskip("airflow.sdk.bases.resumablejobmixin", reason="a durable mode came with Airflow 3.3")
    task, recorder = databricks(tasks=clusters(one={"spark.app.password": password}, two={}), durable=True)
    run = no_leak(task, state={"databricks_run_id": 9}, try_number=2)

    assert run.state == "success"
    assert bodies(recorder, "submit") == []
    assert CANARY not in repr(run.supervisor.sent("MaskSecret")), "nothing was resolved"
    assert run.rendered["effective_config"][0].startswith("! This try has submitted nothing: it follows job 9 ")


def test_what_comes_after_the_dag_goes_before_the_conf_of_every_cluster(databricks, no_leak, password, monkeypatch):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RUN_CONFIG_ENABLED", "True")
    task, recorder = databricks(tasks=clusters(one={"spark.a": password, "spark.b": "one"}, two={"spark.a": "two"}))
    run = no_leak(task, conf={"spark_conf": {"spark.a": "run"}})

    (body,) = bodies(recorder, "submit")
    assert run.state == "success"
    assert [item["new_cluster"]["spark_conf"] for item in body["tasks"][:2]] == [
        {"spark.a": "run", "spark.b": "one"},
        {"spark.a": "run"},
    ]


def test_policies_are_asked_about_the_configuration_of_every_cluster(databricks, no_leak, policies):
    policy = "policies:\n- {name: memory, class: bounds, params: {spark.executor.memory: {max: 8g}}}\n"
    policies(policy)
    task, recorder = databricks(tasks=clusters(one={}, two={"spark.executor.memory": "16g"}))
    run = no_leak(task)

    assert "'spark.executor.memory' is more than 8g" in str(run.error)
    assert bodies(recorder, "submit") == []


def test_a_policy_that_only_warns_stops_no_cluster(databricks, no_leak, policies):
    policy = "policies:\n- {name: soft, enforcement: warn, class: bounds, params: {spark.executor.memory: {max: 8g}}}\n"
    policies(policy)
    task, recorder = databricks(tasks=clusters(one={}, two={"spark.executor.memory": "16g"}))
    run = no_leak(task)

    assert len(bodies(recorder, "submit")) == 1
    assert "tasks[1]['new_cluster']['spark_conf']: Policy 'soft' only warns, and would deny" in run.shown


def test_a_policy_is_content_with_what_each_cluster_has_itself(databricks, no_leak, policies):
    policy = "policies:\n- {name: owner, class: required_keys, params: {keys: [spark.app.owner]}}\n"
    policies(policy)
    task, _ = databricks(tasks=clusters(one={"spark.app.owner": "a"}, two={"spark.app.owner": "b"}))

    assert no_leak(task).state == "success"


def test_attack_11_a_reference_that_a_template_brings_to_a_cluster_is_refused(databricks, no_leak, password):
    task, recorder = databricks(tasks=clusters(one={}, two={"spark.a": "{{ dag_run.conf['x'] }}"}))
    run = no_leak(task, conf={"x": password})

    assert "tasks[1]['new_cluster']['spark_conf']['spark.a']: a reference came from the result of a template" in str(
        run.error
    )
    assert bodies(recorder, "submit") == []


def test_clusters_without_any_layer_stay_as_they_are(databricks, no_leak, password):
    tasks = clusters(one={"spark.app.x": password}, two={})
    task, recorder = databricks(tasks=tasks)
    run = no_leak(task)

    (body,) = bodies(recorder, "submit")
    assert [item.get("new_cluster", {}).get("spark_conf") for item in body["tasks"]] == [
        {"spark.app.x": CANARY},
        {},
        None,
    ]
    assert run.rendered["tasks"] == tasks


DRIVER = {
    "driver.config.providers": "mounted",
    "driver.config.providers.mounted.class": "directory",
    "driver.config.providers.mounted.param.allowed.paths": "/run/s",
}
TOLD = {f"spark.{key.removeprefix('driver.')}": text for key, text in DRIVER.items()}
LEFT = "${mounted:/run/s:key}"


@pytest.fixture
def driver(connections, monkeypatch):
    """Define driver providers: ``driver()``, or ``driver(keys)`` for additional keys."""

    def define(more=None):
        connection = {"conn_type": "config_providers", "extra": {**connections, **DRIVER, **(more or {})}}
        monkeypatch.setenv("AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT", json.dumps(connection))

    define()
    return define


def in_every_place(**confs):
    """Return the same clusters in each place in which Databricks accepts several."""
    tasks = clusters(**confs)
    each = [
        {"task_key": t["task_key"], "for_each_task": {"inputs": "[1]", "task": t}} if "new_cluster" in t else t
        for t in tasks
    ]
    return {
        "json": {"json": {"tasks": tasks}},
        "tasks": {"tasks": tasks},
        "job_clusters": {"json": {"job_clusters": tasks}},
        "for_each_task": {"tasks": each},
    }


def confs_sent(recorder):
    """Return the ``spark_conf`` of every cluster that was sent."""
    (body,) = bodies(recorder, "submit")
    items = [item.get("for_each_task", {}).get("task", item) for item in body.get("job_clusters") or body["tasks"]]
    return [item["new_cluster"]["spark_conf"] for item in items if "new_cluster" in item]


@pytest.mark.parametrize("place", ["json", "tasks", "job_clusters", "for_each_task"])
@pytest.mark.parametrize("said_by", ["argument", "deployment", "nobody"])
def test_attack_32_every_cluster_gets_references_and_how_to_resolve_them(
    databricks, driver, no_leak, password, tmp_path, monkeypatch, place, said_by
):
    if said_by == "deployment":
        monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RESOLVE_IN", "driver")
    (tmp_path / "all.properties").write_text(f"spark.a=file\nspark.app.file={LEFT}\n")
    confs = in_every_place(one={"spark.a": "one", "spark.app.password": f"x{LEFT}"}, two={}, three=None)
    task, recorder = databricks(
        config_files=[str(tmp_path / "all.properties")],
        resolve_in="driver" if said_by == "argument" else None,
        run_name=f"run of {password}",
        **confs[place],
    )
    run = no_leak(task)

    shared = {"spark.a": "file", "spark.app.file": LEFT, **TOLD}
    assert run.state == "success", run.error
    assert confs_sent(recorder) == [{**shared, "spark.a": "one", "spark.app.password": f"x{LEFT}"}, shared, shared]
    assert bodies(recorder, "submit")[0]["run_name"] == f"run of {CANARY}"


def test_clusters_without_any_layer_are_told_how_to_resolve(databricks, driver, no_leak):
    task, recorder = databricks(tasks=clusters(one={"spark.app.x": LEFT}, two=None), resolve_in="driver")
    run = no_leak(task)

    assert run.state == "success", run.error
    assert confs_sent(recorder) == [{"spark.app.x": LEFT, **TOLD}, TOLD]


def test_the_worker_resolves_for_every_cluster_where_the_author_says_so(databricks, driver, no_leak, password):
    task, recorder = databricks(tasks=clusters(one={"spark.app.x": password}, two={}), resolve_in="worker")
    run = no_leak(task)

    assert run.state == "success", run.error
    assert confs_sent(recorder) == [{"spark.app.x": CANARY}, {}]


@pytest.mark.parametrize(
    ("conf", "problem"),
    [
        pytest.param({"spark.x": "${dir:/x:a}"}, "the driver has no provider 'dir'. It has: mounted.", id="unknown"),
        pytest.param({"spark.jars": f"s3://{LEFT}@x/y.jar"}, "Spark reads it before the driver", id="needed early"),
        pytest.param({"app.password": LEFT}, "spark-submit ignores keys", id="no key of Spark"),
        pytest.param({"spark.config.providers": "mine"}, "belong to the deployment. Remove the key", id="re-pointed"),
    ],
)
def test_attack_32_what_the_driver_of_one_of_several_clusters_could_not_do_is_refused(
    databricks, driver, no_leak, conf, problem
):
    task, recorder = databricks(tasks=clusters(one={}, two=conf), resolve_in="driver")
    run = no_leak(task)

    (key,) = conf
    assert f"tasks[1]['new_cluster']['spark_conf']['{key}']: " in str(run.error)
    assert problem in str(run.error)
    assert bodies(recorder, "submit") == []


def test_all_that_is_wrong_with_several_clusters_is_said_at_once(databricks, driver, no_leak, tmp_path):
    (tmp_path / "all.properties").write_text("spark.c=${dir:/x:a}\n")
    tasks = clusters(one={"spark.a": "${dir:/x:a}"}, two={"spark.b": "${dir:/x:a}"})
    task, _ = databricks(tasks=tasks, config_files=[str(tmp_path / "all.properties")], resolve_in="driver")
    run = no_leak(task)

    assert len(run.error.problems) == 3


def test_several_clusters_need_a_word_on_the_driver(databricks, no_leak, password):
    task, recorder = databricks(tasks=clusters(one={"spark.a": password}, two={}), resolve_in="driver")
    run = no_leak(task)

    assert "no driver providers are defined" in str(run.error)
    assert bodies(recorder, "submit") == []


def test_a_payload_that_is_one_text_cannot_be_left_to_the_driver(databricks, driver, no_leak, password):
    task, recorder = databricks(json=json.dumps({"tasks": clusters(one={"spark.a": password})}), resolve_in="driver")
    run = no_leak(task)

    assert "json: it is a single string, so the references of its Spark configuration" in str(run.error)
    assert bodies(recorder, "submit") == []


def test_what_every_cluster_has_itself_is_asked_of_no_layer(databricks, driver, no_leak, tmp_path):
    (tmp_path / "all.properties").write_text("spark.a=${dir:/x:a}\nspark.b=file\n")
    tasks = clusters(one={"spark.a": LEFT}, two={"spark.a": "two"})
    task, recorder = databricks(tasks=tasks, config_files=[str(tmp_path / "all.properties")], resolve_in="driver")
    run = no_leak(task)

    assert run.state == "success", run.error
    assert confs_sent(recorder) == [
        {"spark.a": LEFT, "spark.b": "file", **TOLD},
        {"spark.a": "two", "spark.b": "file", **TOLD},
    ]
    assert "spark.a" not in str(run.rendered["effective_config"])


def test_a_reference_of_a_cluster_that_the_run_beats_is_not_asked_for(databricks, no_leak, monkeypatch):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RUN_CONFIG_ENABLED", "True")
    task, recorder = databricks(tasks=clusters(one={"spark.a": "${dir:/nowhere:a}"}, two={}))
    run = no_leak(task, conf={"spark_conf": {"spark.a": "run"}})

    assert run.state == "success", run.error
    assert confs_sent(recorder) == [{"spark.a": "run"}, {"spark.a": "run"}]


def test_attack_33_a_value_that_one_of_several_clusters_would_show_is_refused(databricks, no_leak, password):
    task, recorder = databricks(tasks=clusters(one={}, two={"spark.app.name": password}))
    run = no_leak(task)

    assert "tasks[1]['new_cluster']['spark_conf']['spark.app.name']: the value of" in str(run.error)
    assert bodies(recorder, "submit") == []


@pytest.mark.parametrize(
    ("confs", "is_shown"),
    [
        pytest.param(({}, {"spark.app.other": "x", "spark.app.name": "a ${spark.app.other}"}), False, id="another"),
        pytest.param(({"spark.app.name": "a ${spark.app.x}"}, {"spark.app.x": "x"}), True, id="of all clusters"),
        pytest.param(({"spark.app.x": "x"}, {"spark.app.name": "a ${spark.app.x}"}), True, id="of the same cluster"),
    ],
)
def test_attack_33_a_secret_that_spark_would_show_is_refused_only_in_a_cluster_that_has_both(
    databricks, run_task, password, tmp_path, confs, is_shown
):
    (tmp_path / "all.properties").write_text(f"spark.app.x={password}\n")
    one, two = confs
    tasks = clusters(one={"spark.app.other": password, **one}, two=two)
    task, recorder = databricks(tasks=tasks, config_files=[str(tmp_path / "all.properties")])
    run = run_task(task)

    assert ("Spark replaces spark.app.x in it" in str(run.error)) is is_shown
    assert bool(bodies(recorder, "submit")) is not is_shown


def test_attack_32_each_of_several_drivers_gets_a_secret_id_of_its_own(databricks, driver, no_leak, vault):
    role = vault.approle(f"{vault.kv2}/data/apps/*")
    driver(wrapping(vault, role))
    reference = f"${{vault:{vault.kv2}/apps/db:password}}"
    task, recorder = databricks(tasks=clusters(one={"spark.a": reference}, two={"spark.a": reference}))
    run = no_leak(task)

    key = "spark.config.providers.vault.param.wrapped_secret_id"
    first, second = confs_sent(recorder)
    assert run.state == "success", run.error
    assert (first["spark.a"], second["spark.a"]) == (reference, reference)
    assert len({first[key], second[key], ""}) == 3


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


@pytest.fixture
def kubernetes(dag, service, monkeypatch):
    """A ``SparkKubernetesOperator`` of ours, and where its server is."""
    pytest.importorskip("airflow.providers.cncf.kubernetes")
    from airflow.providers.cncf.kubernetes.operators.spark_kubernetes import SparkKubernetesOperator

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
    made = configured(SparkKubernetesOperator)
    return lambda **kwargs: made(task_id="job", dag=dag, kubernetes_conn_id="kubernetes_default", **kwargs), recorder


@pytest.mark.parametrize("as_file", [False, True], ids=["template_spec", "application_file"])
@pytest.mark.parametrize("value", [CANARY, f"{CANARY}\n  evil: true\n# 'x'"], ids=["plain", "yaml"])
def test_attack_19_30_kubernetes_gets_the_value_and_its_refusal_shows_the_reference(
    kubernetes, no_leak, secrets_dir, password, as_file, value
):
    (secrets_dir / "db-password").write_text(value)
    operator, recorder = kubernetes
    text = APPLICATION.format(password=password) + f"# {'long ' * 100}\n"
    run = no_leak(operator(**({"application_file": text} if as_file else {"template_spec": yaml.safe_load(text)})))

    (body,) = bodies(recorder)
    assert run.state == "failed"
    assert body["spec"]["sparkConf"] == {"spark.app.password": value}
    assert body["spec"]["arguments"] == [value]
    assert password in str(run.error)


def attacked(password):
    """An application with a reference of its author, in a comment too, and a place for what a run gives."""
    innocent = password.replace("db-password", "innocent")
    text = APPLICATION.format(password=innocent).replace(f'["{innocent}"]', '["{{ dag_run.conf.x }}"]')
    return f"# {innocent}\n{text}"


@pytest.mark.parametrize(("plain", "escaped"), [("$", "\\u0024"), (":", "\\u003a")], ids=["dollar", "colons"])
def test_attack_56_an_escape_of_yaml_makes_no_reference_of_data(
    kubernetes, no_leak, secrets_dir, password, plain, escaped
):
    (secrets_dir / "innocent").write_text("harmless")
    operator, recorder = kubernetes
    no_leak(operator(application_file=attacked(password)), conf={"x": password.replace(plain, escaped)})

    (body,) = bodies(recorder)
    assert body["spec"]["arguments"] == [password]
    assert body["spec"]["sparkConf"] == {"spark.app.password": "harmless"}


@pytest.fixture
def applications(tmp_path, password):
    """Files of applications, next to files that an attacker would like to read."""
    (tmp_path / "apps").mkdir()
    (tmp_path / "apps" / "job").write_text(APPLICATION.format(password=password))
    (tmp_path / "other").write_text(APPLICATION.format(password=password))
    os.mkfifo(tmp_path / "apps" / "fifo")
    return tmp_path


def test_a_run_chooses_the_file_of_an_application_by_name(kubernetes, no_leak, applications):
    operator, recorder = kubernetes
    no_leak(operator(application_file=f"{applications}/apps/{{{{ dag_run.conf.x }}}}"), conf={"x": "job"})

    (body,) = bodies(recorder)
    assert body["spec"]["arguments"] == [CANARY]


@pytest.mark.parametrize(
    ("template", "given"),
    [
        pytest.param("{files}/apps/{{{{ dag_run.conf.x }}}}", "../other", id="up"),
        pytest.param("{files}/apps/{{{{ dag_run.conf.x }}}}", "fifo", id="FIFO"),
        pytest.param("{{{{ dag_run.conf.x }}}}", "{files}/other", id="whole path"),
        pytest.param("{{{{ dag_run.conf.x }}}}", "/proc/self/environ", id="environment"),
    ],
)
def test_attack_57_a_run_chooses_no_application_elsewhere(kubernetes, no_leak, applications, template, given):
    operator, recorder = kubernetes
    conf = {"x": given.format(files=applications)}
    run = no_leak(operator(application_file=template.format(files=applications)), conf=conf)

    assert isinstance(run.error, ConfigException)
    assert bodies(recorder) == []


@pytest.mark.parametrize("is_file", [True, False], ids=["file", "text that becomes a path"])
def test_attack_57_no_application_is_opened_again_by_its_name(dag, applications, is_file):
    stock = pytest.importorskip("airflow.providers.cncf.kubernetes.operators.spark_kubernetes")
    (applications / "other").write_text("kind: Swapped")
    link = applications / "apps" / "link: {kind: Mine}"
    if is_file:
        link.symlink_to("job")

    class SwappingOperator(stock.SparkKubernetesOperator):
        def manage_template_specs(self):
            link.unlink(missing_ok=True)
            link.symlink_to("../other")
            return super().manage_template_specs()

    job = configured(SwappingOperator)(task_id="job", dag=dag, application_file=str(link))
    job._complete_fields()

    assert "Swapped" not in str(job.template_spec)


@pytest.mark.parametrize("text", ["- a", "missing.yaml", "a: ["])
def test_what_is_no_application_is_told(dag, tmp_path, text):
    stock = pytest.importorskip("airflow.providers.cncf.kubernetes.operators.spark_kubernetes")
    (tmp_path / "job").write_text(text)
    for i, application in enumerate((text, str(tmp_path / "job"))):
        job = configured(stock.SparkKubernetesOperator)(task_id=f"job{i}", dag=dag, application_file=application)
        with pytest.raises(ConfigException, match="application_file is not a YAML mapping"):
            job._complete_fields()


def test_attack_56_a_run_writes_no_reference_into_an_application(kubernetes, no_leak, password):
    operator, recorder = kubernetes
    run = no_leak(operator(application_file=attacked(password)), conf={"x": password})

    assert "a reference came from the result of a template" in str(run.error)
    assert bodies(recorder) == []


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
    assert spark_sql.only.conf["spark.executor.memory"] == "2g"


@pytest.mark.parametrize(
    ("host", "conf", "environ", "expected"),
    [
        pytest.param("local[1]", {"spark.master": "yarn"}, {"MASTER": "yarn"}, "true", id="the connection"),
        pytest.param("", {"spark.master": "yarn"}, {"MASTER": "local"}, None, id="the configuration"),
        pytest.param("", {}, {"MASTER": "spark://one:7077"}, None, id="the environment"),
        pytest.param("", {}, {}, "true", id="the default of Spark"),
    ],
)
def test_attack_27_nobody_gets_secrets_at_the_ports_of_spark_sql_on_this_machine(
    sql, spark_sql, no_leak, password, monkeypatch, host, conf, environ, expected
):
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_SQL_DEFAULT", json.dumps({"conn_type": "spark_sql", "host": host}))
    monkeypatch.delenv("MASTER", raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    run = no_leak(sql(sql="select 1", conf={"spark.app.password": password, **conf}))

    assert run.state == "success"
    assert spark_sql.spark_conf.get("spark.authenticate") == expected
    assert ("a port of the driver" in run.shown) is (expected is None)


def test_layers_override_the_named_arguments_of_spark_sql(sql, spark_sql, no_leak, tmp_path, monkeypatch):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RUN_CONFIG_ENABLED", "True")
    (tmp_path / "named.properties").write_text("spark.app.name=from-file\nspark.executor.cores=2\n")
    operator = sql(
        sql="select 1", config_files=str(tmp_path / "named.properties"), executor_memory="64g", executor_cores=4
    )
    run = no_leak(operator, conf={"spark_conf": {"spark.executor.memory": "1g"}})

    assert run.state == "success"
    assert spark_sql.spark_conf["spark.executor.memory"] == "1g"
    assert spark_sql.spark_conf["spark.executor.cores"] == "4"
    assert spark_sql.spark_conf["spark.app.name"] == "from-file"
    assert {"--executor-memory", "--executor-cores", "--name"}.isdisjoint(spark_sql.only.arguments)


def test_spark_sql_keeps_its_default_name_if_no_layer_has_one(sql, spark_sql, no_leak):
    run = no_leak(sql(sql="select 1"))

    assert run.state == "success"
    assert spark_sql.only.arguments[spark_sql.only.arguments.index("--name") + 1] == "default-name"


def test_attack_19_a_query_that_fails_shows_references(sql, spark_sql, no_leak, password, monkeypatch):
    monkeypatch.setenv("FAKE_SPARK_EXIT", "1")
    run = no_leak(sql(sql=f"select '{password}'", allow_exposed_arguments=True, conf={"spark.app.x": password}))

    assert f"Cannot execute 'select '{password}''" in str(run.error)


def test_a_key_that_code_adds_reaches_a_query_and_is_told(sql, spark_sql, run_task, capfd):
    run_task(sql(sql="select 1", conf="spark.app.x=1", pre_execute=lambda context: context["task"]._conf.update(y="2")))

    assert spark_sql.only.conf == {"spark.app.x": "1", "y": "2"}
    assert "the record lacks them: y" in "".join(capfd.readouterr())


def test_no_spark_sql_is_an_error_that_says_how_to_get_it(sql, spark_sql, run_task, monkeypatch, tmp_path):
    (tmp_path / "bin" / "spark-sql").unlink()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    run = run_task(sql(sql="select 1"))

    assert "spark-sql is not on the PATH of this worker. Install Spark there" in str(run.error)


def test_other_defaults_to_which_spark_env_sh_leads_a_query_are_told(sql, spark_sql, run_task, tmp_path, capfd):
    for name in ("spark-conf", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "spark-defaults.conf").write_text("spark.app.x 1\n")
    (tmp_path / "spark-conf" / "spark-env.sh").write_text(f"SPARK_CONF_DIR={tmp_path}/other\n")
    run_task(sql(sql="select 1"))

    assert f"sets SPARK_CONF_DIR to {tmp_path}/other, where Spark alone would read" in "".join(capfd.readouterr())


@pytest.mark.parametrize(
    ("master", "is_warned"), [("yarn", True), ("spark://yarn:7077", False)], ids=["YARN", "standalone"]
)
def test_values_that_yarn_writes_down_for_a_query_are_warned_of(
    sql, spark_sql, run_task, password, capfd, master, is_warned
):
    run = run_task(sql(sql="select 1", conf={"spark.app.x": password}, master=master))

    assert run.state == "success", run.error
    assert ("into the staging directory and onto nodes in client mode" in capfd.readouterr().out) is is_warned


def test_a_query_on_yarn_without_a_secret_is_not_warned_of(sql, spark_sql, run_task, capfd):
    run_task(sql(sql="select 1", conf={"spark.app.x": "1"}, master="yarn"))

    assert "onto nodes in client mode" not in capfd.readouterr().out


def test_a_row_that_a_line_of_the_log_cuts_in_two_is_whole(sql, spark_sql, no_leak, password, tmp_path, capfd):
    program = tmp_path / "bin" / "spark-sql"
    program.write_text(
        f"#!/bin/sh\nprintf '{CANARY[:9]}'; sleep 0.1; echo logged >&2; sleep 0.1; echo '{CANARY[9:]}'\n"
    )
    run = no_leak(sql(sql="select 1", conf={"spark.app.x": password}))

    assert run.state == "success"
    assert CANARY[9:] not in "".join(capfd.readouterr())


def test_attack_33_a_reference_in_a_query_is_refused(sql, spark_sql, no_leak, password):
    run = no_leak(sql(sql=f"select '{password}'"))

    assert "sql: the values of its references would be readable by others" in str(run.error)
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
    """Spark hides what it inserts for ``${spark...}`` in a query, because the file tells it to redact the keys."""
    monkeypatch.chdir(tmp_path)  # for the metastore
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_SQL_DEFAULT", json.dumps({"conn_type": "spark_sql", "host": "local[1]"}))
    query = "select concat('the value is ', '${spark.app.dsn}')"
    run = run_task(sql(sql=query, conf={"spark.app.dsn": password}, verbose=False))

    shown = "".join(capfd.readouterr())
    assert run.state == "success", shown[-2000:]
    assert "the value is *********(redacted)" in shown
    assert CANARY not in shown


def test_a_query_whose_task_is_killed_while_its_hook_is_created_is_not_run(sql, run_task, spark_sql):
    class Killed(sql.func):
        def _get_hook(self):
            hook = super()._get_hook()
            if not self._try_state.is_killed:
                self.on_kill()
            return hook

    run = run_task(Killed(**sql.keywords, sql="select 1"))

    assert "killed before its job began" in str(run.error)
    assert spark_sql() == []
