"""Searches what the processes of a run show of themselves while it lasts."""

from __future__ import annotations

import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Event
from types import TracebackType

import psutil

from dags_examples.demo.search import Search

INTERVAL_SECONDS = 0.2


class Sampler:
    """
    Searches the arguments and the environment of all child processes, several times a second.

    It also searches the performance data of Java processes, which the JVM keeps in a temp directory while it runs: on
    Linux in ``/tmp``, whatever the environment says. It stores nothing that it reads. Use it as a context manager.
    """

    def __init__(self, search: Search, *, interval: float = INTERVAL_SECONDS) -> None:
        self.search = search
        self._interval = interval
        self._stop = Event()
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._work: Future[None] | None = None
        self._seen: set[tuple[int, float]] = set()
        self._searched: set[tuple[str, int]] = set()
        self._temp = {Path("/tmp"), Path(tempfile.gettempdir())}
        self.looks = 0

    @property
    def processes(self) -> int:
        """The number of processes that were seen."""
        return len(self._seen)

    def __enter__(self) -> Sampler:
        self._work = self._thread.submit(self._run)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.shutdown()
        if self._work is not None:
            self._work.result()  # A sampler that failed proves nothing.

    def _run(self) -> None:
        while not self._stop.is_set():
            self.look()
            self._stop.wait(self._interval)

    def look(self) -> None:
        """Search all processes once."""
        self.looks += 1
        for process in psutil.Process().children(recursive=True):
            try:
                self._look_at(process)
            except psutil.Error:
                continue  # The process has ended meanwhile.

    def _look_at(self, process: psutil.Process) -> None:
        with process.oneshot():
            name, owner = f"process {process.name()}", process.username()
            self._search(f"{name}, arguments", "\n".join(process.cmdline()).encode())
            self._search(f"{name}, environment", "\n".join(process.environ().values()).encode())
            self._seen.add((process.pid, process.create_time()))
        for folder in self._temp:
            performance_data = folder / f"hsperfdata_{owner}" / str(process.pid)
            if performance_data.is_file():
                self.search.file(performance_data)

    def _search(self, place: str, content: bytes) -> None:
        """Search what a process shows of itself, but not again in each look."""
        searched = (place, hash(content))
        if searched not in self._searched:
            self._searched.add(searched)
            self.search.content(place, content)
