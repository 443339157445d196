"""A SparkApplication of Apache's operator from its creation to its end, against a server like Kubernetes' API."""

from __future__ import annotations

import copy
import threading

import pytest
import yaml

from airflow_config_providers.operators.configure import configured
from tests.limits import LONGEST, eventually
from tests.operators.conftest import CANARY
from tests.servers.kubernetes import ApacheSparkApplications
from tests.servers.web import Response

pytest.importorskip("airflow.providers.cncf.kubernetes")

from airflow_config_providers.operators.spark_application import ApplicationState

pytestmark = pytest.mark.usefixtures("connections")

ENDED = "TerminatedWithoutReleaseResources"
LABELS = {"dag_id": "flights", "task_id": "job", "run_id": "run-1", "spark_kubernetes_operator": "True"}


@pytest.fixture
def application(password):
    return {
        "apiVersion": "spark.apache.org/v1",
        "kind": "SparkApplication",
        "metadata": {"labels": {"team": "flights"}},
        "spec": {
            "pyFiles": "local:///opt/jobs/report.py",
            "sparkConf": {"spark.app.password": password},
            "driverArgs": ["--password", password],
            "runtimeVersions": {"sparkVersion": "4.2.0"},
        },
    }


@pytest.fixture
def operator_class():
    from airflow.providers.cncf.kubernetes.operators.spark_kubernetes import SparkKubernetesOperator

    return configured(SparkKubernetesOperator)


@pytest.fixture
def run_on(dag, no_leak, serve_kubernetes, application, operator_class):
    """Run a ``SparkKubernetesOperator`` of ours on a server of Kubernetes."""

    def run(server, *, kind=None, **kwargs):
        serve_kubernetes(server)
        if "application_file" not in kwargs:
            kwargs.setdefault("template_spec", application)
        return no_leak((kind or operator_class)(task_id="job", dag=dag, name="job", random_name_suffix=False, **kwargs))

    return run


def said(application):
    return f"the job got {application['spec']['driverArgs'][1]}"


def test_the_application_gets_the_value_and_is_run_and_deleted(run_on, tmp_path):
    (tmp_path / "all.properties").write_text("spark.app.all=yes\n")
    server = ApacheSparkApplications(said)
    run = run_on(server, config_files=[str(tmp_path / "all.properties")])

    assert run.state == "success", run.error
    assert server.created == [
        {
            "apiVersion": "spark.apache.org/v1",
            "kind": "SparkApplication",
            "metadata": {"name": "job", "namespace": "default", "labels": {"team": "flights", **LABELS}},
            "spec": {
                "pyFiles": "local:///opt/jobs/report.py",
                "sparkConf": {"spark.app.password": CANARY, "spark.app.all": "yes"},
                "driverArgs": ["--password", CANARY],
                "runtimeVersions": {"sparkVersion": "4.2.0"},
                "applicationTolerations": {"resourceRetainPolicy": "Always"},
                "deploymentMode": "ClusterMode",
            },
        }
    ]
    assert server.dropped == []
    assert server.deleted == ["job"]


def test_it_can_be_written_in_a_file_and_below_spark(run_on, application, tmp_path):
    (tmp_path / "report").write_text(yaml.safe_dump({"spark": application}))
    server = ApacheSparkApplications(said)
    run = run_on(server, application_file=str(tmp_path / "report"))

    assert run.state == "success", run.error
    assert server.created[0]["spec"]["sparkConf"] == {"spark.app.password": CANARY}


def test_what_the_author_says_of_the_driver_s_pod_holds(run_on, application):
    application["spec"]["applicationTolerations"] = {"resourceRetainPolicy": "OnFailure", "ttlAfterStopMillis": 60000}
    server = ApacheSparkApplications()
    run_on(server)

    assert server.created[0]["spec"]["applicationTolerations"] == {
        "resourceRetainPolicy": "OnFailure",
        "ttlAfterStopMillis": 60000,
    }


def test_an_application_that_stays_is_created_as_it_is_written(run_on):
    server = ApacheSparkApplications()
    run = run_on(server, delete_on_termination=False)

    assert run.state == "success", run.error
    assert "applicationTolerations" not in server.created[0]["spec"]
    assert server.deleted == []


def test_attack_19_what_its_driver_prints_is_shown_with_references(run_on, password):
    run = run_on(ApacheSparkApplications(said))

    assert f"the job got {password}" in run.shown


def test_the_log_comes_from_the_container_that_the_author_named(run_on, application):
    application["spec"]["sparkConf"]["spark.kubernetes.driver.podTemplateContainerName"] = "spark"
    asked = []

    class Named(ApacheSparkApplications):
        def _pod(self, request):
            asked.append(request.query)
            return super()._pod(request)

        def _driver(self, application):
            driver = super()._driver(application)
            driver["spec"]["containers"][0]["name"] = "spark"
            driver["status"]["containerStatuses"][0]["name"] = "spark"
            return driver

    run = run_on(Named(lambda _: "hello"))

    assert run.state == "success", run.error
    assert "hello" in run.shown
    assert any("container=spark&" in query for query in asked)


def test_without_logs_its_end_is_awaited_too(run_on):
    run = run_on(ApacheSparkApplications(lambda _: "hello"), get_logs=False)

    assert run.state == "success", run.error
    assert "hello" not in run.shown


@pytest.mark.parametrize(
    "states",
    [
        ("DriverRequested", "Failed", "ResourceReleased"),
        ("DriverRequested", "DriverEvicted", ENDED),
        ("DriverRequested", "DriverStartTimedOut", ENDED),
        ("SchedulingFailure", "ResourceReleased"),
        ("Failed", "ScheduledToRestart", "DriverRequested", "Failed", "ResourceReleased"),
        ("Succeeded", "ScheduledToRestart", "RunningHealthy", "ResourceReleased"),
        ("ResourceReleased",),
    ],
    ids=" ".join,
)
def test_an_application_that_failed_fails_its_task_with_its_state(run_on, states):
    server = ApacheSparkApplications(states=states, error=lambda _: "no quota")
    run = run_on(server)
    state = states[-2] if len(states) > 1 else states[0]
    message = "no quota" if state == "Failed" else f"message of {state}"

    assert run.state == "failed"
    assert str(run.error) == f"SparkApplication job has failed. Its state is {state}: {message}"
    assert server.deleted == ["job"]


def test_an_attempt_that_failed_does_not_fail_the_application(run_on):
    states = ("Failed", "ScheduledToRestart", *["RunningHealthy"] * 9, "Succeeded", "ResourceReleased")

    assert run_on(ApacheSparkApplications(states=states)).state == "success"


def test_attack_19_an_application_that_failed_is_shown_with_references(run_on, password):
    run = run_on(ApacheSparkApplications(said, states=("Failed", ENDED), error=said))

    assert run.state == "failed"
    assert f"the job got {password}" in str(run.error)


def test_attack_30_what_the_operator_keeps_shows_references(run_on):
    run = run_on(ApacheSparkApplications(said))
    kept = {name: getattr(value, "__dict__", value) for name, value in vars(run.task).items()}

    assert run.task.pod.metadata.name == "job-0-driver"
    assert CANARY not in repr(kept)
    assert CANARY not in repr(run.task.pod.to_dict())


def test_an_application_of_which_no_driver_begins_fails_its_task(run_on):
    server = ApacheSparkApplications(states=("DriverRequested",), has_driver=False)
    run = run_on(server, startup_timeout_seconds=0)

    assert run.state == "failed"
    assert "No driver of SparkApplication job has begun in 0 seconds. Its state is DriverRequested: message of" in str(
        run.error
    )
    assert server.deleted == ["job"]


def test_an_api_server_that_could_not_answer_is_asked_again(run_on):
    class Busy(ApacheSparkApplications):
        answers = 0

        def _read(self, name, request):
            self.answers += 1
            if self.answers in {1, 3}:
                return Response(503, b"{}", {"Content-Type": "application/json"})
            return super()._read(name, request)

    run = run_on(Busy())

    assert run.state == "success", run.error


UNAVAILABLE = Response(503, b"{}", {"Content-Type": "application/json"})


@pytest.mark.parametrize("is_created", [True, False], ids=["after it was created", "before it was created"])
def test_an_application_is_created_once_though_the_answer_is_lost(run_on, is_created):
    class Losing(ApacheSparkApplications):
        requests = 0

        def _create(self, created, request):
            self.requests += 1
            answer = super()._create(created, request) if is_created or self.requests > 1 else UNAVAILABLE
            return answer if self.requests > 1 else UNAVAILABLE

    server = Losing()
    run = run_on(server)

    assert run.state == "success", run.error
    assert len(server.created) == 1
    assert server.deleted == ["job"]


def test_an_application_of_somebody_else_is_not_taken_for_one_whose_answer_was_lost(run_on, application):
    class Losing(ApacheSparkApplications):
        requests = 0

        def _create(self, created, request):
            self.requests += 1
            return super()._create(created, request) if self.requests > 1 else UNAVAILABLE

    server = Losing()
    server.put({**application, "metadata": {"name": "job", "labels": {}}})
    run = run_on(server)

    assert run.state == "failed"
    assert "already exists" in str(run.error)
    assert server.deleted == []


def test_an_application_goes_on_when_its_pod_cannot_be_read_for_its_log(run_on, monkeypatch):
    from airflow.providers.cncf.kubernetes.kubernetes_helper_functions import KubernetesApiException
    from airflow.providers.cncf.kubernetes.utils.pod_manager import PodManager

    def read_pod(self, pod):
        raise KubernetesApiException("There was an error reading the kubernetes API")

    monkeypatch.setattr(PodManager, "read_pod", read_pod)
    run = run_on(ApacheSparkApplications(said))

    assert run.state == "success", run.error
    assert "The log of driver job-0-driver has ended early: KubernetesApiException" in run.shown


def test_what_only_kubeflow_s_application_has_is_refused(run_on, application):
    application["kind"] = "SparkCluster"
    server = ApacheSparkApplications()
    run = run_on(
        server,
        template_spec={"spark": application, "kubernetes": {"env_vars": []}},
        deferrable=True,
        image="spark:4",
        code_path="local:///job.py",
    )

    assert run.state == "failed"
    assert [problem.partition(":")[0] for problem in run.error.problems] == [
        *("deferrable", "image", "code_path"),
        *("template_spec['kind']", "template_spec['kubernetes']"),
    ]
    assert server.created == []


def test_a_field_that_its_schema_lacks_is_refused_and_not_dropped(run_on, application):
    application["spec"]["driver"] = {"cores": 1}
    run = run_on(server := ApacheSparkApplications())

    assert run.state == "failed"
    assert 'unknown field \\"spec.driver\\"' in str(run.error)
    assert server.dropped == server.created == []


def test_attack_19_a_refusal_of_the_api_server_is_shown_with_references(run_on, password):
    class Refusing(ApacheSparkApplications):
        def _create(self, created, request):
            return Response(422, said(created).encode(), {"Content-Type": "application/json"})

    run = run_on(Refusing())

    assert run.state == "failed"
    assert f"the job got {password}" in str(run.error)


def test_an_application_of_somebody_else_is_not_deleted(run_on, application):
    server = ApacheSparkApplications()
    server.put({**application, "metadata": {"name": "job", "labels": {}}})
    run = run_on(server)

    assert run.state == "failed"
    assert "already exists" in str(run.error)
    assert server.deleted == []


@pytest.fixture
def earlier(application):
    """Return an application of an earlier try, as the server has it."""

    def make(*, name="job-1", value=CANARY, states=("RunningHealthy",)):
        spec = copy.deepcopy(application["spec"])
        spec["sparkConf"]["spark.app.password"] = spec["driverArgs"][1] = value
        spec["applicationTolerations"] = {"resourceRetainPolicy": "Always", "restartConfig": {"maxRestartAttempts": 3}}
        history = {str(number): {"currentStateSummary": state} for number, state in enumerate(states)}
        status = {"currentState": history[str(len(states) - 1)], "stateTransitionHistory": history}
        metadata = {"name": name, "namespace": "default", "labels": {"team": "flights", **LABELS}}
        return {**application, "metadata": metadata, "spec": spec, "status": status}

    return make


def test_a_later_try_follows_the_application_of_an_earlier_one(run_on, earlier):
    class Ending(ApacheSparkApplications):
        def _pod(self, request):
            self.put(earlier(states=("Succeeded", ENDED)))
            return super()._pod(request)

    server = Ending(said)
    server.put(earlier())
    run = run_on(server)

    assert run.state == "success", run.error
    assert server.created == []
    assert server.deleted == ["job-1"]


def test_a_later_try_takes_the_success_that_an_earlier_one_did_not_see(run_on, earlier):
    server = ApacheSparkApplications(said)
    server.put(earlier(states=("Succeeded", ENDED)))
    run = run_on(server)

    assert run.state == "success", run.error
    assert server.created == []
    assert server.deleted == ["job-1"]


@pytest.mark.parametrize(
    "made",
    [{"value": "the secret before"}, {"states": ("Failed", ENDED)}],
    ids=["with another secret", "that failed"],
)
def test_a_later_try_replaces_an_application(run_on, earlier, made):
    server = ApacheSparkApplications(said)
    server.put(earlier(**made))
    run = run_on(server)

    assert run.state == "success", run.error
    assert [application["metadata"]["name"] for application in server.created] == ["job"]
    assert server.deleted == ["job-1", "job"]


@pytest.mark.parametrize("state", ["Succeeded", "Failed"])
def test_an_application_that_stays_is_none_of_a_later_run(run_on, earlier, state):
    server = ApacheSparkApplications(said)
    server.put(earlier(states=(state, ENDED)))
    run = run_on(server, delete_on_termination=False)

    assert run.state == "success", run.error
    assert len(server.created) == 1
    assert server.deleted == []


def test_without_reattach_on_restart_the_application_of_an_earlier_try_is_left_alone(run_on, earlier):
    server = ApacheSparkApplications(said)
    server.put(earlier())
    run = run_on(server, reattach_on_restart=False)

    assert run.state == "success", run.error
    assert server.deleted == ["job"]


def test_an_application_that_somebody_deletes_fails_its_task_before_it_is_gone(run_on):
    class Doomed(ApacheSparkApplications):
        def _pod(self, request):
            self._delete("job")
            return super()._pod(request)

        def vanish(self, name):
            """Leave it, as a finalizer does whose controller is away."""

    run = run_on(Doomed(states=("RunningHealthy",)))

    assert run.state == "failed"
    assert "SparkApplication job was deleted before its end was seen" in str(run.error)


class LongRunning(ApacheSparkApplications):
    """Applications that run until a test ends them; one that was deleted goes after two looks, and then its driver."""

    def __init__(self):
        super().__init__(states=("RunningHealthy",))
        self.looks = {}
        self.present = []

    def end(self):
        self.states = ("Succeeded", ENDED)

    def _create(self, created, request):
        self.present.append(list(self._running))
        return super()._create(created, request)

    def vanish(self, name):
        self.looks.setdefault(name, 0)

    def _read(self, name, request):
        if name not in self.looks:
            return super()._read(name, request)
        self.looks[name] += 1
        return super()._read(name if self.looks[name] <= 2 else "no longer", request)

    def _listed_drivers(self, request):
        for name in [name for name, looks in self.looks.items() if looks > 3]:
            del self.looks[name], self._running[name]
        return super()._listed_drivers(request)


@pytest.mark.parametrize("reattaches", [True, False])
def test_an_application_is_replaced_when_its_secret_changes(run_on, secrets_dir, monkeypatch, reattaches):
    """The next one is created when the first and its driver are gone."""
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RELOAD_SETTLING", "0")
    server, is_over = LongRunning(), threading.Event()

    def rotate():
        assert eventually(lambda: server.created or is_over.is_set())
        (secrets_dir / "db-password").write_text(f"{CANARY}-2")
        assert eventually(lambda: len(server.created) == 2 or is_over.is_set())
        server.end()

    steps = threading.Thread(target=rotate)
    steps.start()
    run = run_on(server, streaming=True, reattach_on_restart=reattaches)
    is_over.set()
    steps.join(LONGEST)

    assert run.state == "success", run.error
    assert [made["spec"]["sparkConf"]["spark.app.password"] for made in server.created] == [CANARY, f"{CANARY}-2"]
    assert server.present == [[], []]
    assert CANARY not in run.shown


def test_a_kill_deletes_the_application_and_creates_no_other(run_on, known):
    running = known.running
    server, is_over = LongRunning(), threading.Event()

    def kill():
        assert eventually(lambda: (running and running[0].pod is not None) or is_over.is_set())
        running[0].on_kill()

    steps = threading.Thread(target=kill)
    steps.start()
    run = run_on(server, kind=known, streaming=True)
    is_over.set()
    steps.join(LONGEST)

    assert run.state == "failed"
    assert "was deleted before its end was seen" in str(run.error)
    assert set(server.deleted) == {"job"}
    assert len(server.created) == 1


@pytest.fixture
def known(operator_class):
    """A class of operators, which has a list of those that run."""
    running = []

    class Known(operator_class):
        def create_job_name(self):
            running.append(self)
            return super().create_job_name()

    Known.running = running
    return Known


def test_a_kill_while_an_earlier_application_ends_creates_none(run_on, earlier, known):
    class Staying(ApacheSparkApplications):
        def vanish(self, name):
            """Leave it until it is forgotten."""

    server, is_over = Staying(), threading.Event()
    server.put(earlier(value="the secret before"))

    def kill():
        assert eventually(lambda: server.deleted or is_over.is_set())
        known.running[0].on_kill()
        server._running.pop("job-1")

    steps = threading.Thread(target=kill)
    steps.start()
    run = run_on(server, kind=known)
    is_over.set()
    steps.join(LONGEST)

    assert run.state == "failed"
    assert "was killed" in str(run.error)
    assert server.created == []


def test_a_kill_while_an_application_is_created_deletes_it(run_on, known):
    class Slow(ApacheSparkApplications):
        def _create(self, created, request):
            known.running[
                0
            ]._try_state.is_killed = True  # its request to delete comes before this one, and finds nothing
            return super()._create(created, request)

    run = run_on(server := Slow(), kind=known, delete_on_termination=False)

    assert run.state == "failed"
    assert "was killed" in str(run.error)
    assert server.deleted == ["job"]


def test_the_last_state_is_the_one_with_the_highest_number():
    summaries = ["Failed"] * 9 + ["ScheduledToRestart", "Succeeded", "ResourceReleased"]
    history = {str(number): {"currentStateSummary": summary} for number, summary in enumerate(summaries)}
    status = {"currentState": history["11"], "stateTransitionHistory": history}

    assert ApplicationState.of({"status": status}).has_succeeded


def test_a_new_application_has_no_state_yet():
    assert ApplicationState.of({}) == ApplicationState("Submitted", "", has_ended=False)
