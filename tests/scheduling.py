"""Which tests run in the same worker: those of a file, and those of folders that start the same things."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xdist.scheduler import LoadFileScheduling

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController

AUDITS: Final = "a JVM of audits"
"""What would begin last, and keep one worker busy after the others have ended."""

SHARED: Final = {
    "tests/cli": "a deployment with an API server",
    "tests/plugins": "a deployment with an API server",
    "tests/trust": "a deployment with an API server",
    "tests/differential": "a JVM with Kafka",
    "tests/examples": "a session of Spark, and a metadata database",
    "tests/spark/audit/records": AUDITS,
    "tests/operators/test_record_audits.py": AUDITS,
}
"""Folder or file -> what its tests start once in a worker, for all that say the same."""


ALONE: Final = frozenset(
    f"tests/{name}.py"
    for name in (
        "cli/test_audit_jdbc",
        "cli/test_audit_records",
        "examples/test_demo_run",
        "examples/test_examples_run",
        "examples/test_stream_counts",
        "spark/audit/records/test_spark35",
    )
)
"""Files of these folders that run for minutes, far longer than what they would share takes to start."""


class FileScheduling(LoadFileScheduling):
    """``--dist loadfile``, with one worker for what takes long to start, and what is long first."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        shared = (what for place, what in SHARED.items() if f"{file}/".startswith(f"{place}/"))
        return file if file in ALONE else next(shared, file)

    def _assign_work_unit(self, node: WorkerController) -> None:
        if AUDITS in self.workqueue:
            self.workqueue.move_to_end(AUDITS, last=False)
        super()._assign_work_unit(node)
