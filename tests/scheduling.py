"""Which tests run in the same worker: those of a file, and those of folders that start the same things."""

from __future__ import annotations

from typing import Final

from xdist.scheduler import LoadFileScheduling

SHARED: Final = {
    "tests/cli": "a deployment with an API server",
    "tests/plugins": "a deployment with an API server",
    "tests/trust": "a deployment with an API server",
    "tests/differential": "a JVM with Kafka",
    "tests/examples": "a session of Spark, and a metadata database",
}
"""Folder -> what its tests start once in a worker, for all folders that say the same."""


class FileScheduling(LoadFileScheduling):
    """``--dist loadfile``, with one worker for what takes long to start."""

    def _split_scope(self, nodeid: str) -> str:
        folder = "/".join(nodeid.split("/")[:2])
        return SHARED.get(folder) or super()._split_scope(nodeid)
