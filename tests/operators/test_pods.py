"""References in what an operator has of Kubernetes' client: in the environment and the resources of a pod."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import NamedTuple

import pytest

pytest.importorskip("airflow.providers.cncf.kubernetes")

from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from airflow.sdk import BaseOperator
from kubernetes.client import V1EnvVar, V1HostPathVolumeSource, V1ResourceRequirements, V1Volume

from airflow_config_providers.job.nested_texts import with_own_objects
from airflow_config_providers.operators.configure import configure_task, configured
from tests.canary import CANARY
from tests.docs.pages import ROOT, snippets
from tests.operators.stock import everything_shown
from tests.servers.web import Response, WebServer

pytestmark = pytest.mark.usefixtures("connections", "kubernetes")


GUIDE = ROOT / "docs" / "how-to" / "other-operators.md"


class Pod(KubernetesPodOperator):
    """Makes the pod, and starts it nowhere."""

    made = ""
    renders_again = False

    def execute(self, context):
        if self.renders_again:
            self.render_template_fields(context)
        Pod.made = str(self.build_pod_request_obj(context))
        self.log.info("%s", Pod.made)
        raise RuntimeError(Pod.made)


@pytest.fixture
def kubernetes(monkeypatch):
    connect(monkeypatch, "http://127.0.0.1:9")


def connect(monkeypatch, address):
    """Make the default connection lead to a cluster."""
    config = {
        "clusters": [{"name": "c", "cluster": {"server": address}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
        "users": [{"name": "u", "user": {}}],
    }
    fields = {"conn_type": "kubernetes", "extra": {"kube_config": json.dumps(config)}}
    monkeypatch.setenv("AIRFLOW_CONN_KUBERNETES_DEFAULT", json.dumps(fields))


class RefusedPods:
    """An application for a ``WebServer``: keeps the pods that it is to create, and creates none."""

    def __init__(self):
        self.asked = []

    def __call__(self, request):
        if request.method == "POST":
            self.asked.append(json.loads(request.body))
            return Response(403, b'{"kind": "Status", "reason": "Forbidden"}', {"Content-Type": "application/json"})
        return Response(200, b'{"kind": "PodList", "items": []}', {"Content-Type": "application/json"})


@pytest.fixture
def pods(monkeypatch):
    """The pods that a cluster was asked for."""
    refused = RefusedPods()
    with WebServer(refused) as server:
        connect(monkeypatch, server.address)
        yield refused.asked


def pod(dag, **kwargs):
    made = Pod(task_id="job", dag=dag, name="report", image="report", **kwargs)
    configure_task(made)
    return made


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(lambda text: {"env_vars": {"PASSWORD": text}}, id="environment"),
        pytest.param(lambda text: {"env_vars": [V1EnvVar(name="PASSWORD", value=text)]}, id="variable"),
        pytest.param(lambda text: {"container_resources": V1ResourceRequirements(limits={"x": text})}, id="resources"),
        pytest.param(
            lambda text: {"volumes": [V1Volume(name="v", host_path=V1HostPathVolumeSource(path=text))]}, id="volume"
        ),
    ],
)
def test_a_pod_gets_the_value_and_all_else_shows_the_reference(dag, run_task, password, capfd, given):
    run = run_task(pod(dag, **given(password)))

    assert CANARY in Pod.made
    assert password in str(run.rendered)
    assert CANARY not in everything_shown(run, capfd)


def test_the_pod_of_the_guide_gets_values_and_all_else_shows_references(dag, run_task, pods, tmp_path, capfd):
    (tmp_path / "db.properties").write_text(f"host=db.example.com\nuser=ann-of-the-file\npassword={CANARY}\n")
    (text,) = (one.text for one in snippets(GUIDE) if "KubernetesPodOperator" in one.text)
    variables = text.replace("/etc/jobs", str(tmp_path)).replace("${file:", "${files:")
    with dag:
        exec(variables, names := {})
    run = run_task(names["export"], state={})
    (container,) = pods[0]["spec"]["containers"]
    environment = {one["name"]: one.get("value") for one in container["env"]}

    assert environment["DB_URL"] == "jdbc:postgresql://db.example.com/flights"
    assert (environment["DB_PASSWORD"], environment["CHAT_TOKEN"]) == (CANARY, None)
    assert container["args"] == ["--user", "ann-of-the-file", "--password", "$(DB_PASSWORD)"]
    assert CANARY not in everything_shown(run, capfd)


def test_the_variable_of_the_dag_keeps_its_reference(dag, run_task, password):
    variable = V1EnvVar(name="PASSWORD", value=password)
    run_task(pod(dag, env_vars=[variable]))

    assert variable.value == password


@pytest.mark.parametrize("given", [dict, lambda texts: [V1EnvVar(name=n, value=t) for n, t in texts.items()]])
def test_a_reference_that_a_run_puts_into_the_environment_of_a_pod_stays_one(dag, run_task, password, given):
    run_task(pod(dag, env_vars=given({"X": "{{ dag_run.conf['x'] }}"})), conf={"x": password})

    assert password in Pod.made
    assert CANARY not in Pod.made


def test_a_value_in_the_environment_of_a_pod_is_no_template_when_code_renders_again(
    dag, run_task, secrets_dir, monkeypatch
):
    (secrets_dir / "odd").write_text("{{ 7 * 191 }} of it")
    monkeypatch.setattr(Pod, "renders_again", True)
    run_task(pod(dag, env_vars={"X": f"${{dir:{secrets_dir}:odd}}"}))

    assert "{{ 7 * 191 }} of it" in Pod.made


def test_data_of_a_run_does_not_become_what_the_author_wrote(dag, run_task, password):
    """Airflow renders the objects in place, and mapped instances share them."""
    variable = V1EnvVar(name="X", value="{{ dag_run.conf['x'] }}")
    task = pod(dag, env_vars=[variable])
    run_task(task, conf={"x": password})
    run_task(task, conf={"x": "harmless"})

    assert variable.value == "{{ dag_run.conf['x'] }}"
    assert "harmless" in Pod.made
    assert CANARY not in Pod.made


class Deferring(KubernetesPodOperator):
    """Is deferred for a pod that nobody has made."""

    def get_or_create_pod(self, pod_request_obj, context):
        pod_request_obj.metadata.name, pod_request_obj.metadata.namespace = "report", "default"
        return pod_request_obj

    def get_remote_pod(self, *args, **kwargs):
        return None


@pytest.mark.parametrize(("has_value", "interval"), [(True, None), (False, 10)])
def test_the_triggerer_fetches_no_log_of_a_pod_that_has_a_value(dag, run_task, password, caplog, has_value, interval):
    """It does not know the values."""
    variables = {"PASSWORD": password if has_value else "plain"}
    pods = {"task_id": "job", "dag": dag, "name": "report", "image": "report", "env_vars": variables}
    run = run_task(configured(Deferring)(**pods, deferrable=True, logging_interval=10))

    assert run.message.trigger_kwargs["logging_interval"] == interval
    assert ("logging_interval has no effect" in caplog.text) is has_value


class Upstream(BaseOperator):
    """Returns what a test says."""

    def execute(self, context):
        return []


def test_what_another_task_returned_is_no_template(dag, run_task):
    upstream = Upstream(task_id="upstream", dag=dag)
    variables = upstream.output.map(lambda text: [V1EnvVar(name="X", value=text)])
    task = configured(Pod).partial(task_id="job", dag=dag, name="report", image="report").expand(env_vars=variables)
    run_task(task, map_index=0, results={"upstream": ["{{ 7 * 191 }}"]})

    assert "{{ 7 * 191 }}" in Pod.made


class Pair(NamedTuple):
    first: object
    second: object


def test_objects_are_copied_in_the_collection_that_they_are_in():
    variable = V1EnvVar(name="X", value="x")
    pair = Pair(variable, {"a": [variable]})
    own = with_own_objects(pair)

    assert own == pair
    assert type(own) is Pair
    assert own.first is not variable
    assert own.second["a"][0] is not variable


def test_a_collection_that_is_in_itself_twice_is_left():
    inside = [V1EnvVar(name="X", value="x")]
    inside += [inside, inside]

    assert with_own_objects(inside)[1:] == [inside, inside]


def test_collections_without_objects_of_a_pod_stay_what_they_are():
    pair = Pair("x", {"a": ["y"]})

    assert with_own_objects(pair) is pair


class OddlyNamed:
    """Has what the classes of Kubernetes' client have, and is none of them."""

    openapi_types = MappingProxyType({"part": "str"})

    @property
    def part(self):
        raise RuntimeError("not now")


def test_objects_of_other_classes_are_left_alone(dag, run_task):
    odd = OddlyNamed()
    task = pod(dag, arguments=[odd])
    run_task(task)

    assert task.arguments == [odd]
