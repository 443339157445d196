"""What stands for Livy: batches that run until they may end, and whose job prints one of its secrets."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.leaks.canaries import LIVY_LOG
from tests.leaks.deployed.spellings import printed
from tests.leaks.proof import digest
from tests.servers.web import Request, Response

ASKED_BEFORE_THE_END = 10
"""How often, once a second."""


@dataclass(slots=True)
class Batch:
    """A batch, and how far it is."""

    name: str
    conf: Mapping[str, str] = field(repr=False)
    times_asked: int = 0
    may_end: bool = False


class Livy:
    """An application for a ``WebServer``; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._batches: list[Batch] = []

    def __call__(self, request: Request) -> Response:
        with self._lock:
            answer = self._answer(request)
        return Response(200, json.dumps(answer).encode(), {"Content-Type": "application/json"})

    def _answer(self, request: Request) -> dict[str, Any]:
        if request.method == "POST":
            body = json.loads(request.body)
            self._batches.append(Batch(body["name"], body["conf"]))
            return {"id": len(self._batches) - 1, "state": "starting"}
        number, _, what = request.path.removeprefix("/batches/").partition("/")
        batch = self._batches[int(number)]
        if "aiohttp" in request.headers.get("user-agent", ""):
            batch.times_asked += 1
        state = "success" if batch.may_end else "running"
        lines = _printed(batch) if what == "log" else []
        return {
            "id": int(number),
            "state": state,
            "appId": f"app-{number}",
            "from": 0,
            "total": len(lines),
            "log": lines,
        }

    def end(self, name: str) -> None:
        """
        Let a batch end that a trigger has asked for often enough.

        A task that is resumed before the scheduler has noticed that it was deferred is taken for one that has failed.
        """
        with self._lock:
            for batch in self._batches:
                batch.may_end = batch.may_end or (batch.name == name and batch.times_asked >= ASKED_BEFORE_THE_END)

    def values(self) -> dict[str, frozenset[str]]:
        """Return name of a batch -> digests of the values that it got."""
        with self._lock:
            return {batch.name: frozenset(map(digest, batch.conf.values())) for batch in self._batches}


def _printed(batch: Batch) -> list[str]:
    return [f"PRINTED {spelling} {text}" for spelling, text in printed(batch.conf.get(LIVY_LOG.key, ""))]
