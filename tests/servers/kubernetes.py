"""The part of Kubernetes' API that takes a SparkApplication and runs its driver, in no time."""

from __future__ import annotations

import datetime
import json
import threading
from collections.abc import Callable, Mapping
from typing import Any

from tests.servers.web import Request, Response

_APPLICATIONS = "/apis/sparkoperator.k8s.io/v1beta2/namespaces/default/sparkapplications"
_PODS = "/api/v1/namespaces/default/pods"
_STARTED = "2026-01-01T00:00:00Z"


class SparkApplications:
    """
    An application for a ``WebServer``: what is created has run when it is asked for; thread-safe.

    :param log: what a driver prints, given the application
    :param error: why the application failed, given it; None for one that succeeds
    """

    def __init__(self, log: Callable[[Any], str] = lambda _: "", *, error: Callable[[Any], str] | None = None) -> None:
        self._log = log
        self._error = error
        self._running: dict[str, Any] = {}
        self._lock = threading.Lock()
        self.created: list[Any] = []
        self.deleted: list[str] = []

    def __call__(self, request: Request) -> Response:
        with self._lock:
            if request.path.startswith(_APPLICATIONS):
                return self._application(request)
            if request.path.startswith(_PODS):
                return self._pod(request)
        return _json({"kind": "List", "apiVersion": "v1", "items": []})

    def _application(self, request: Request) -> Response:
        name = request.path.removeprefix(_APPLICATIONS).strip("/").removesuffix("/status")
        if request.method == "POST":
            created = json.loads(request.body)
            self.created.append(created)
            self._running[created["metadata"]["name"]] = created
            return _json(created, status=201)
        if request.method == "DELETE":
            self.deleted.append(name)
            return _json({"kind": "Status", "apiVersion": "v1", "status": "Success"})
        state = {"state": "RUNNING"}
        if self._error is not None:
            state = {"state": "FAILED", "errorMessage": self._error(self._running[name])}
        return _json({**self._running[name], "status": {"applicationState": state}})

    def _pod(self, request: Request) -> Response:
        name, _, part = request.path.removeprefix(_PODS).strip("/").partition("/")
        if not name:
            items = [_driver(application) for application in self._running.values()]
            return _json({"kind": "PodList", "apiVersion": "v1", "items": items})
        application = self._running[name.removesuffix("-driver")]
        if part == "log":
            return Response(200, f"{_STARTED} {self._log(application)}\n".encode(), {"Content-Type": "text/plain"})
        return _json(_driver(application))


def _driver(application: Mapping[str, Any]) -> dict[str, Any]:
    now = f"{datetime.datetime.now(datetime.UTC):%FT%TZ}"  # the client reads no log of one that ended long ago
    ended = {"exitCode": 0, "reason": "Completed", "startedAt": _STARTED, "finishedAt": now}
    container = {"name": "spark-kubernetes-driver", "image": "i", "imageID": "i", "ready": False, "restartCount": 0}
    metadata = {
        "name": f"{application['metadata']['name']}-driver",
        "namespace": "default",
        "labels": application["spec"]["driver"].get("labels", {}),
        "creationTimestamp": _STARTED,
    }
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": metadata,
        "spec": {"containers": [{"name": container["name"]}]},
        "status": {"phase": "Succeeded", "containerStatuses": [{**container, "state": {"terminated": ended}}]},
    }


def _json(body: Mapping[str, Any], *, status: int = 200) -> Response:
    return Response(status, json.dumps(body).encode(), {"Content-Type": "application/json"})
