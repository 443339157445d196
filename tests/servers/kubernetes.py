"""The part of Kubernetes' API that takes a SparkApplication and runs its driver, in no time."""

from __future__ import annotations

import datetime
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qs

from tests.servers.web import Request, Response

_PODS = "/api/v1/namespaces/default/pods"
_STARTED = "2026-01-01T00:00:00Z"


class SparkApplications:
    """
    An application for a ``WebServer``: what is created has run when it is asked for; thread-safe.

    It is the operator of Kubeflow.

    :param log: what a driver prints, given the application
    :param error: why the application failed, given it; None for one that succeeds
    """

    path = "/apis/sparkoperator.k8s.io/v1beta2/namespaces/default/sparkapplications"

    def __init__(self, log: Callable[[Any], str] = lambda _: "", *, error: Callable[[Any], str] | None = None) -> None:
        self._log = log
        self._error = error
        self._running: dict[str, Any] = {}
        self._lock = threading.Lock()
        self.created: list[Any] = []
        self.deleted: list[str] = []

    def __call__(self, request: Request) -> Response:
        with self._lock:
            if request.path.startswith(self.path):
                return self._application(request)
            if request.path.startswith(_PODS):
                return self._pod(request)
        return _json({"kind": "List", "apiVersion": "v1", "items": []})

    def _application(self, request: Request) -> Response:
        name = request.path.removeprefix(self.path).strip("/").removesuffix("/status")
        if request.method == "POST":
            return self._create(json.loads(request.body), request)
        if request.method == "DELETE":
            self.deleted.append(name)
            return self._delete(name)
        return self._read(name, request)

    def _create(self, created: Any, request: Request) -> Response:
        self.created.append(created)
        self._running[created["metadata"]["name"]] = created
        return _json(created, status=201)

    def _delete(self, name: str) -> Response:
        return _json({"kind": "Status", "apiVersion": "v1", "status": "Success"})

    def _read(self, name: str, request: Request) -> Response:
        state = {"state": "RUNNING"}
        if self._error is not None:
            state = {"state": "FAILED", "errorMessage": self._error(self._running[name])}
        return _json({**self._running[name], "status": {"applicationState": state}})

    def _pod(self, request: Request) -> Response:
        name, _, part = request.path.removeprefix(_PODS).strip("/").partition("/")
        if not name:
            items = self._listed_drivers(request)
            return _json({"kind": "PodList", "apiVersion": "v1", "items": items})
        application = self._running[self._application_of(name)]
        if part == "log":
            return Response(200, f"{_STARTED} {self._log(application)}\n".encode(), {"Content-Type": "text/plain"})
        return _json(self._driver(application))

    def _application_of(self, pod: str) -> str:
        return pod.removesuffix("-driver")

    def _listed_drivers(self, request: Request) -> list[dict[str, Any]]:
        return [self._driver(application) for application in self._running.values()]

    def _driver_metadata(self, application: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "name": f"{application['metadata']['name']}-driver",
            "labels": application["spec"]["driver"].get("labels", {}),
        }

    def _driver(self, application: Mapping[str, Any]) -> dict[str, Any]:
        now = f"{datetime.datetime.now(datetime.UTC):%FT%TZ}"  # the client reads no log of one that ended long ago
        ended = {"exitCode": 0, "reason": "Completed", "startedAt": _STARTED, "finishedAt": now}
        container = {"name": "spark-kubernetes-driver", "image": "i", "imageID": "i", "ready": False, "restartCount": 0}
        metadata = {"namespace": "default", "creationTimestamp": _STARTED, **self._driver_metadata(application)}
        return {
            "kind": "Pod",
            "apiVersion": "v1",
            "metadata": metadata,
            "spec": {"containers": [{"name": container["name"], "args": application["spec"].get("driverArgs", [])}]},
            "status": {"phase": "Succeeded", "containerStatuses": [{**container, "state": {"terminated": ended}}]},
        }


class ApacheSparkApplications(SparkApplications):
    """
    The same as Apache's operator has it.

    What is deleted goes at once, unless ``vanish`` is overridden.

    :param states: the states of an application, as its operator reports them at the end; a failed one has a message
    :param has_driver: whether a driver is ever started
    """

    path = "/apis/spark.apache.org/v1/namespaces/default/sparkapplications"
    fields = frozenset(
        {
            *("applicationTolerations", "configMapSpecs", "deploymentMode", "driverArgs", "driverGrpcRouteList"),
            *("driverHttpRouteList", "driverServiceIngressList", "driverSpec", "executorSpec", "files", "jars"),
            *("mainClass", "proxyUser", "pyFiles", "runtimeVersions", "sparkConf", "sparkRFiles", "suspend"),
        }
    )
    """The fields of ``spec`` that the schema has; the API server drops others, or refuses them if it is asked to."""

    def __init__(
        self,
        log: Callable[[Any], str] = lambda _: "",
        *,
        error: Callable[[Any], str] = lambda _: "",
        states: tuple[str, ...] = ("DriverRequested", "Succeeded", "TerminatedWithoutReleaseResources"),
        has_driver: bool = True,
    ) -> None:
        super().__init__(log, error=error)
        self.states = states
        self._drivers = has_driver
        self.dropped: list[str] = []

    def put(self, application: Any) -> None:
        """Have an application that was created before."""
        self._running[application["metadata"]["name"]] = application

    def _create(self, created: Any, request: Request) -> Response:
        unknown = sorted(created["spec"].keys() - self.fields)
        name = created["metadata"]["name"]
        if "runtimeVersions" not in created["spec"]:
            return _refusal(422, "spec.runtimeVersions: Required value")
        if unknown and parse_qs(request.query).get("fieldValidation") == ["Strict"]:
            return _refusal(400, f'strict decoding error: unknown field "spec.{unknown[0]}"')
        if name in self._running:
            return _refusal(409, f'sparkapplications.spark.apache.org "{name}" already exists')
        self.dropped += unknown
        for key in unknown:
            del created["spec"][key]
        created["spec"].setdefault("deploymentMode", "ClusterMode")
        return super()._create(created, request)

    def _delete(self, name: str) -> Response:
        if name not in self._running:
            return _refusal(404, "not found")
        one = self._running[name]
        self._running[name] = {**one, "metadata": {**one["metadata"], "deletionTimestamp": _STARTED}}
        self.vanish(name)
        return super()._delete(name)

    def vanish(self, name: str) -> None:
        """End what was deleted."""
        self._running.pop(name, None)

    def _read(self, name: str, request: Request) -> Response:
        if not name:
            found = [self._shown(one) for one in self._running.values() if _is_asked_for(one, request)]
            return _json({"kind": "SparkApplicationList", "items": found})
        if name not in self._running:
            return _refusal(404, "not found")
        return _json(self._shown(self._running[name]))

    def _shown(self, application: Mapping[str, Any]) -> dict[str, Any]:
        if "status" in application:
            return dict(application)
        history = {str(number): state for number, state in enumerate(self._history(application))}
        current = history[str(len(history) - 1)]
        return {**application, "status": {"currentState": current, "stateTransitionHistory": history}}

    def _history(self, application: Mapping[str, Any]) -> Iterator[dict[str, str]]:
        for state in self.states:
            message = self._error(application) if self._error and state == "Failed" else f"message of {state}"
            yield {"currentStateSummary": state, "message": message}

    def _application_of(self, pod: str) -> str:
        return pod.removesuffix("-0-driver")

    def _listed_drivers(self, request: Request) -> list[dict[str, Any]]:
        return [pod for pod in super()._listed_drivers(request) if self._drivers and _is_asked_for(pod, request)]

    def _driver_metadata(self, application: Mapping[str, Any]) -> dict[str, Any]:
        name = application["metadata"]["name"]
        labels = {"spark.operator/spark-app-name": name, "spark-role": "driver"}
        return {"name": f"{name}-0-driver", "labels": labels}


def _is_asked_for(one: Mapping[str, Any], request: Request) -> bool:
    selector = parse_qs(request.query)["labelSelector"][0]
    return {tuple(pair.split("=")) for pair in selector.split(",")} <= one["metadata"].get("labels", {}).items()


def _refusal(status: int, message: str) -> Response:
    return _json({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message}, status=status)


def _json(body: Mapping[str, Any], *, status: int = 200) -> Response:
    return Response(status, json.dumps(body).encode(), {"Content-Type": "application/json"})
