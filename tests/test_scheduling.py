"""Which tests a worker gets, and when."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

pytest.importorskip("xdist")
from tests.scheduling import AUDITS, FileScheduling, shared_by

TESTS = ["tests/a.py::one", "tests/a.py::two", "tests/a.py::three", "tests/b.py::one", "tests/c.py::one"]


class Worker:
    """Keeps what it was sent: the places of tests."""

    def __init__(self):
        self.gateway = SimpleNamespace(id="gw0")
        self.shutting_down = False
        self.sent = []

    def send_runtest_some(self, indices):
        self.sent.append(list(indices))

    def shutdown(self):
        self.shutting_down = True


@pytest.fixture
def worker():
    return Worker()


@pytest.fixture
def started(worker):
    """Start with these tests: ``started(TESTS)``."""

    def start(tests):
        config = SimpleNamespace(
            getvalue=lambda _: ["popen"], option=SimpleNamespace(loadscopereorder=False, maxprocesses=None)
        )
        scheduling = FileScheduling(config)
        scheduling.add_node(worker)
        scheduling.add_node_collection(worker, tests)
        scheduling.schedule()
        return scheduling

    return start


def test_the_tests_of_a_file_are_sent_together(started, worker):
    started(TESTS)

    assert worker.sent == [[0, 1, 2]]


def test_the_next_file_is_sent_when_two_tests_are_left(started, worker):
    started(TESTS).mark_test_complete(worker, 0)

    assert worker.sent == [[0, 1, 2], [3]]


def test_the_tests_have_ended_when_each_has_but_the_last(started, worker):
    """For which the worker waits until it knows that no other follows."""
    scheduling = started(TESTS)
    left = []
    for index in range(len(TESTS)):
        scheduling.mark_test_complete(worker, index)
        left.append(not scheduling.tests_finished)

    assert left == [True, True, True, False, False]
    assert not scheduling.has_pending


def test_what_a_worker_had_not_begun_when_it_was_lost_is_sent_to_another(started, worker):
    """The test with which it was lost would cost the other, too."""
    scheduling = started(TESTS)
    scheduling.mark_test_complete(worker, 0)
    lost, other = scheduling.remove_node(worker), Worker()
    scheduling.add_node(other)
    scheduling.add_node_collection(other, TESTS)
    scheduling.schedule()

    left = [*scheduling.workqueue.values(), *scheduling.assigned_work[other].values()]
    assert lost == "tests/a.py::two"
    assert {test for tests in left for test in tests} == {*TESTS[2:]}


def test_audits_come_first(started, worker):
    started([*TESTS, "tests/operators/test_record_audits.py::one"])

    assert worker.sent[0] == [5]


@pytest.mark.parametrize(
    ("file", "group"),
    [
        ("tests/core/test_keys.py", "tests/core/test_keys.py"),
        ("tests/cli/test_plan.py", "a deployment with an API server"),
        ("tests/operators/test_record_audits.py", AUDITS),
        ("tests/cli/test_audit_jdbc.py", "tests/cli/test_audit_jdbc.py"),
    ],
    ids=["no folder", "a folder", "a file", "alone"],
)
def test_files_that_start_the_same_share_a_worker(file, group):
    assert shared_by(file) == group
