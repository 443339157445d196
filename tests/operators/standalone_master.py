"""A master of a standalone cluster, as far as a task asks it for the state of its job."""

from __future__ import annotations

from tests.servers.web import Response

JOB = "driver-20261122-0001"


class Master:
    """The REST interface of a master of a standalone cluster, which both requests and ``curl`` ask."""

    def __init__(self, monkeypatch) -> None:
        monkeypatch.setenv("FAKE_SPARK_PRINTS", f"submitted as {JOB}")
        self.asked = []
        self.job_is("FINISHED")

    def __call__(self, request) -> Response:
        self.asked.append(request.path)
        state = self._states.pop(0) if len(self._states) > 1 else self._states[0]
        lines = ["{", '"submissionId" : "x",', '"success" : true,', f'"driverState" : "{state}"', "}"]
        return Response(200, "\n".join(lines).encode())

    def job_is(self, *states: str) -> None:
        """Set the states of the job for successive requests; the last state stays."""
        self._states = [*states]
