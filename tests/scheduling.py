"""Which tests run in the same worker: those of a file, and those of folders that start the same things."""

from __future__ import annotations

from functools import cache, cached_property
from typing import TYPE_CHECKING, Final

from xdist.scheduler import LoadFileScheduling

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController

AUDITS: Final = "a JVM of audits"
"""What would begin last, and keep one worker busy after the others have ended."""

SHARED: Final = {
    "tests/cli": "a deployment with an API server",
    "tests/deployment/test_database_records.py": "a deployment with an API server",
    "tests/deployment/test_following.py": "a deployment with an API server",
    "tests/plugins": "a deployment with an API server",
    "tests/trust": "a deployment with an API server",
    "tests/differential": "a JVM with Kafka",
    "tests/integration/shared": "an Airflow with a scheduler",
    "tests/examples": "a session of Spark, and a metadata database",
    "tests/spark/audit/records": AUDITS,
    "tests/spark/audit/leaks/test_leak_audit.py": AUDITS,
    "tests/operators/test_audit.py": AUDITS,
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


@cache
def shared_by(file: str) -> str:
    """Return what the tests of a file are run with, by its name: the file itself, or what they share with others."""
    shared = (what for place, what in SHARED.items() if f"{file}/".startswith(f"{place}/"))
    return file if file in ALONE else next(shared, file)


class FileScheduling(LoadFileScheduling):
    """
    ``--dist loadfile``, with one worker for what takes long to start, and what is long first.

    It knows where each test is, and which are left. The base would search for them among all, after each test.
    """

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:
        test = self.collection[item_index]
        del self.assigned_work[node][self._split_scope(test)][test]
        self._reschedule(node)

    def schedule(self) -> None:
        """Begin, or give work to a worker that replaces a lost one: to wait for no other, it needs more, or the end."""
        has_begun = self.collection is not None
        super().schedule()
        for node in self.nodes if has_begun else ():
            self._reschedule(node)

    def remove_node(self, node: WorkerController) -> str | None:
        """Remove a worker, and the test with which it was lost, which would cost the next one, too."""
        work = self.assigned_work[node]
        lost = next((test for tests in work.values() for test in tests), None)
        left = {scope: {test: done for test, done in tests.items() if test != lost} for scope, tests in work.items()}
        self.assigned_work[node] = {scope: tests for scope, tests in left.items() if tests}
        super().remove_node(node)
        return lost

    @cached_property
    def _indexes(self) -> dict[str, int]:
        return {test: index for index, test in enumerate(self.collection)}

    def _split_scope(self, nodeid: str) -> str:
        return shared_by(super()._split_scope(nodeid))

    def _assign_work_unit(self, node: WorkerController) -> None:
        if AUDITS in self.workqueue:
            self.workqueue.move_to_end(AUDITS, last=False)
        scope, tests = self.workqueue.popitem(last=False)
        self.assigned_work[node][scope] = tests
        node.send_runtest_some([self._indexes[test] for test in tests])

    def _pending_of(self, workload: dict[str, dict[str, bool]]) -> int:
        return sum(map(len, workload.values()))
