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


ALONE: Final = frozenset(
    f"tests/examples/{name}.py" for name in ("test_demo_run", "test_examples_run", "test_stream_counts")
)
"""Files of these folders that run for minutes, far longer than what they would share takes to start."""


class FileScheduling(LoadFileScheduling):
    """``--dist loadfile``, with one worker for what takes long to start."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        folder = "/".join(file.split("/")[:2])
        return file if file in ALONE else SHARED.get(folder, file)
