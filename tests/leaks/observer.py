"""Looks at a run while it lasts."""

from __future__ import annotations

import json
import os
import signal
import tempfile
import threading
import time
import urllib.error
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Self

import psutil

from tests.leaks.matrix import Matrix
from tests.leaks.sinks import Sink
from tests.limits import LONGEST
from tests.servers.spark_cluster import SparkCluster, read_url

INTERVAL_SECONDS = 0.2
UI_PAGES = ("jobs/", "stages/", "storage/", "environment/", "executors/", "SQL/", "metrics/json/")
UI_ANSWERS = ("environment", "jobs", "stages", "allexecutors", "sql?details=true", "executors/driver/threads")
TEMPORARY_FOLDERS = tuple({Path("/tmp"), Path(tempfile.gettempdir())})
"""The JVM keeps its performance data in the first, whatever the environment says."""

TEMPORARY = ("spark-*", "pyspark-*", "blockmgr-*", "artifacts-*", "hs_err*")


@dataclass(frozen=True, slots=True)
class Meeting:
    """A job that waits until it has been looked at; ``values`` are the digests of what it got."""

    file: Path
    task: str
    ui: str
    application: str
    how: str
    values: frozenset[str]
    driver: psutil.Process
    job: psutil.Process

    @classmethod
    def at(cls, file: Path) -> Meeting:
        """Return what the job has reported."""
        told = json.loads(file.read_text())
        processes = psutil.Process(told["driver"]), psutil.Process(told["job"])
        return cls(
            file, told["task"], told["ui"], told["application"], told["how"], frozenset(told["values"]), *processes
        )


class Observer:
    """
    Samples the processes below this one, and visits each job that waits. Use it as a context manager.

    :param files: searches the files of the deployment for a sink
    :param deferred: looks at the tasks that are deferred
    """

    def __init__(
        self,
        matrix: Matrix,
        meeting: Path,
        cluster: SparkCluster,
        *,
        files: Callable[[Sink], None],
        deferred: Callable[[], None],
    ) -> None:
        self._matrix = matrix
        self._meeting = meeting
        self._cluster = cluster
        self._files = files
        self._deferred = deferred
        self._started = time.time()
        self._stop = threading.Event()
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._work: Future[None] | None = None
        self.values: dict[str, frozenset[str]] = {}
        """Task -> the digests of the values that its job got."""

    def __enter__(self) -> Self:
        self._work = self._thread.submit(self._run)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.shutdown()
        if self._work is not None:
            self._work.result()  # An observer that failed on the way has proved nothing.

    def _run(self) -> None:
        try:
            while not self._stop.wait(INTERVAL_SECONDS):
                self._sample(psutil.Process().children(recursive=True))
                self._deferred()
                for file in self._waiting():
                    meeting = Meeting.at(file)
                    self.values[meeting.task] = meeting.values
                    self._visit(meeting)
                    file.unlink()
        finally:
            self._let_go()

    def _waiting(self) -> list[Path]:
        return sorted(self._meeting.glob("*.ready"))

    def _let_go(self) -> None:
        """Let the jobs end when they are no longer observed."""
        while not self._stop.wait(INTERVAL_SECONDS):
            with suppress(Exception):  # what failed before may do so again
                self._deferred()
            for file in self._waiting():
                file.unlink()

    def _sample(self, processes: Iterable[psutil.Process]) -> None:
        for process in processes:
            with suppress(psutil.Error, OSError):
                name = process.name()
                for sink, part in ((Sink.ARGUMENTS, "cmdline"), (Sink.ENVIRONMENTS, "environ")):
                    content = Path(f"/proc/{process.pid}/{part}").read_bytes().replace(b"\0", b"\n")
                    self._matrix.look(sink, f"{part} of {name}", content)
                if name == "java":
                    for file in Path("/tmp").glob(f"hsperfdata_*/{process.pid}"):
                        self._matrix.look(Sink.PERFORMANCE_DATA, file.parent.name, file.read_bytes())

    def _visit(self, meeting: Meeting) -> None:
        self._look_at_ui(meeting)
        processes = psutil.Process().children(recursive=True)
        self._sample(processes)
        self._look_at_open_files(processes)
        self._search_files(Sink.FILES_DURING)
        if meeting.how == "standalone":
            for page, text in self._cluster.pages().items():
                self._matrix.look(Sink.CLUSTER_PAGES, page, text)
        if meeting.how == "killed":
            self._kill(meeting)

    def _look_at_ui(self, meeting: Meeting) -> None:
        answers = [f"api/v1/applications/{meeting.application}/{answer}" for answer in UI_ANSWERS]
        for path in (*UI_PAGES, *answers):
            with suppress(urllib.error.URLError):
                self._matrix.look(Sink.SPARK_UI, f"{meeting.how}: {path}", read_url(f"{meeting.ui}/{path}"))

    def _look_at_open_files(self, processes: Iterable[psutil.Process]) -> None:
        """Search open files that are in no folder."""
        for process in processes:
            with suppress(psutil.Error, OSError):
                for descriptor in Path(f"/proc/{process.pid}/fd").iterdir():
                    with suppress(OSError):
                        target = str(descriptor.readlink())
                        if target.startswith("/memfd:") or target.endswith("(deleted)"):
                            place = f"{target.split(maxsplit=1)[0]} of {process.name()}"
                            self._matrix.look(Sink.OPEN_FILES, place, descriptor.read_bytes())

    def _search_files(self, sink: Sink) -> None:
        self._files(sink)
        for path in self._temporary():
            self._matrix.search(sink).tree(path, since=self._started)

    def _temporary(self) -> Iterator[Path]:
        for folder, pattern in product(TEMPORARY_FOLDERS, TEMPORARY):
            for path in folder.glob(pattern):
                with suppress(OSError):
                    if path.stat().st_mtime >= self._started and path.stat().st_uid == os.getuid():
                        yield path

    def _kill(self, meeting: Meeting) -> None:
        """Kill the task's process outright, and then have the JVM crash."""
        folder = Path(meeting.driver.cwd())
        task = meeting.driver.parent()
        if task is None or ("python" not in task.name() + " ".join(task.cmdline()) and "airflow" not in task.name()):
            raise RuntimeError(f"The parent of the driver is no task, but {task}.")
        task.send_signal(signal.SIGKILL)
        psutil.wait_procs([task], timeout=LONGEST)
        self._search_files(Sink.FILES_KILLED)
        meeting.driver.send_signal(signal.SIGSEGV)
        psutil.wait_procs([meeting.driver], timeout=LONGEST)
        for pattern in ("hs_err_pid*.log", "core*"):
            for file in folder.glob(pattern):
                if file.is_file():
                    self._matrix.look(Sink.CRASH, file.name, file.read_bytes())
        with suppress(psutil.NoSuchProcess):
            meeting.job.kill()
