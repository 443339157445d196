"""
A real standalone cluster of Spark: a Master and one or more Workers on 127.0.0.1, from the jars of PySpark.

    with spark_cluster(tmp_path / "cluster") as cluster:
        cluster.master_url                       # spark://127.0.0.1:PORT, for spark-submit --master
        cluster.pages()                          # page -> its text: the Master's, the Worker's, both as JSON, each log
        cluster.files()                          # path -> text of all that the cluster keeps: work directories, logs
        cluster.processes()                      # what runs of it now: daemons, drivers, executors, their children
        cluster.seen()                           # arguments and environments of all that ever ran of it
        cluster.worker.kill()                    # SIGKILL; the process tree below it is .descendants() before

``SparkEnvironment.of(home)`` gives what spark-submit needs; ``home`` is empty for the PySpark of the environment.
"""

from __future__ import annotations

import contextlib
import html
import os
import re
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import psutil

from tests.limits import LONGEST
from tests.servers import quick_java

SECONDS_TO_END = 15

_NOT_OURS = ("SPARK", "PYSPARK", "PYTHONPATH", "_JAVA", "JAVA_TOOL")


@dataclass(frozen=True, slots=True)
class SparkEnvironment:
    """
    How to run the scripts of one Spark.

    :param home: of Spark
    :param variables: for the process, without anything that a Spark of the developer's reads
    """

    home: Path
    variables: Mapping[str, str] = field(repr=False)

    @classmethod
    def of(cls, home: str | Path = "", **variables: str) -> SparkEnvironment:
        """Take the Spark at ``home``, or the one that is installed here."""
        found = Path(home) if home else _installed()
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(_NOT_OURS)}
        own = {
            "SPARK_HOME": str(found),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PATH": f"{found}/bin:{inherited['PATH']}",
            "PYSPARK_PYTHON": sys.executable,
            "LC_ALL": "C",
            **quick_java.ENVIRONMENT,
        }
        return cls(found, {**inherited, **own, **variables})

    def script(self, name: str) -> str:
        """Return the path of one of Spark's scripts, such as ``spark-submit``."""
        return str(self.home / "bin" / name)


def _installed() -> Path:
    import pyspark

    return Path(pyspark.__file__).parent


PAGE = r"Bound \w+(?:WebUI|Server) to .*started at (http://\S+)"


class Daemon:
    """
    A process of Spark that serves, such as a Master or a Worker. It is ready when it is made.

    :param ready: what it logs when it is, with the address as a group
    """

    def __init__(
        self, name: str, command: list[str], environ: Mapping[str, str], folder: Path, *, ready: str = PAGE
    ) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(command, env=environ, cwd=folder, stdout=log, stderr=subprocess.STDOUT)
        try:
            self.page = self.wait_for(ready)
        except BaseException:
            self.kill()
            raise

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    def descendants(self) -> list[psutil.Process]:
        """Return the running descendants of this process."""
        return _running(with_descendants([self.pid])[1:])

    def wait_for(self, pattern: str) -> str:
        """Wait until the log says ``pattern``; give its group."""
        deadline = time.monotonic() + LONGEST
        while time.monotonic() < deadline:
            if found := re.search(pattern, text := self.log.read_text(errors="replace")):
                return found[1]
            if self._process.poll() is not None:
                raise RuntimeError(f"The {self.name} ended before it was ready:\n{text[-3000:]}")
            time.sleep(0.05)
        raise TimeoutError(f"The {self.name} did not say {pattern!r}:\n{text[-3000:]}")

    def kill(self) -> None:
        """End the process by SIGKILL, and leave what it started."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """End the process and all below it."""
        below = self.descendants()
        self._process.terminate()
        try:
            self._process.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self.kill()
        for process in below:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(below, timeout=SECONDS_TO_END)


class SparkCluster:
    """A Master and Workers that run until ``spark_cluster`` ends them; ``worker`` is the first one."""

    def __init__(self, folder: Path, master: Daemon, workers: Sequence[Daemon], work: Path) -> None:
        self.folder = folder
        self.master = master
        self.workers = workers
        self.worker = workers[0]
        self.work = work
        self.master_url = master.wait_for(r"Starting Spark master at (spark://\S+)")
        self._daemons = (*workers, master)
        self._watcher = Watcher([daemon.pid for daemon in self._daemons])

    def processes(self) -> list[psutil.Process]:
        """Return the running processes of the cluster."""
        return _running(with_descendants([daemon.pid for daemon in self._daemons]))

    def pages(self) -> dict[str, str]:
        """Return address -> text of the daemons' pages, of the pages to which they link, and of their JSON forms."""
        found: dict[str, str] = {}
        for daemon in reversed(self._daemons):
            for path in ("", "/json/"):
                found[daemon.page + path] = read_url(daemon.page + path)
            links = re.findall(r'href="([^"#]+)"', found[daemon.page])
            for link in links:
                url = urllib.parse.urljoin(daemon.page, html.unescape(link))
                if url.startswith(tuple(daemon.page for daemon in self._daemons)) and "/static/" not in url:
                    found.setdefault(url, read_url(url))
        return found

    def files(self) -> dict[Path, str]:
        """Return the content of every file of the cluster."""
        return {path: path.read_text(errors="replace") for path in self.folder.rglob("*") if path.is_file()}

    def seen(self) -> str:
        """Return the arguments and the environments of every process that the cluster ever ran."""
        return self._watcher.text()

    def close(self) -> None:
        """End it."""
        self._watcher.close()
        for daemon in self._daemons:
            daemon.close()


@contextlib.contextmanager
def spark_cluster(
    folder: Path,
    *,
    home: str | Path = "",
    variables: Mapping[str, str] | None = None,
    defaults: Mapping[str, str] | None = None,
    workers: int = 1,
    cores: int = 4,
) -> Iterator[SparkCluster]:
    """
    Run a Master and Workers, and end them.

    :param folder: for their logs, work directories and temporary files; made where it is not there
    :param home: of Spark; empty for the one that is installed
    :param variables: for the environment of all, and so of what they start
    :param defaults: what the Master and the Workers read, and drivers can, from ``spark-defaults.conf`` in
        ``folder / "conf"``; None for the one of the installed Spark
    :param cores: of each Worker
    """
    work = folder / "work"
    temp = folder / "temp"
    for directory in (work, temp):
        directory.mkdir(parents=True, exist_ok=True)
    own = {
        "TMPDIR": str(temp),
        "SPARK_LOCAL_DIRS": str(temp),
        "SPARK_NO_DAEMONIZE": "1",
        "SPARK_DAEMON_JAVA_OPTS": "-Dspark.worker.timeout=20 -Dspark.worker.cleanup.enabled=false",
        "JDK_JAVA_OPTIONS": quick_java.QUICK_SPARK,  # also for the drivers and executors that the Worker starts
    }
    spark = SparkEnvironment.of(home, **own, **(variables or {}))
    run = [spark.script("spark-class"), "org.apache.spark.deploy"]
    at = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
    if defaults is not None:  # a folder of its own would be in the class path, and keep Java from the file of classes
        at += ["--properties-file", str(write_defaults(folder / "conf", defaults) / "spark-defaults.conf")]
    with contextlib.ExitStack() as stack:
        master = Daemon("master", [run[0], f"{run[1]}.master.Master", *at], spark.variables, folder)
        stack.callback(master.close)
        url = master.wait_for(r"Starting Spark master at (spark://\S+)")
        has = ["--cores", str(cores), "--memory", "4g", "--work-dir", str(work)]
        command = [run[0], f"{run[1]}.worker.Worker", *at, *has, url]
        started = []
        for number in range(workers):
            started.append(Daemon(f"worker{number or ''}", command, spark.variables, folder))
            stack.callback(started[-1].close)
        for worker in started:
            worker.wait_for("(Successfully registered with master)")
        cluster = SparkCluster(folder, master, started, work)
        stack.callback(cluster.close)
        yield cluster


def write_defaults(folder: Path, defaults: Mapping[str, str]) -> Path:
    """Write a ``spark-defaults.conf`` that nobody else can read, and return its folder."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / "spark-defaults.conf").write_text("".join(f"{key} {value}\n" for key, value in defaults.items()))
    return folder


class Watcher:
    """
    Keeps the arguments and the environments of processes and of all that they start.

    :param pids: of the processes, which are looked at themselves as well
    """

    def __init__(self, pids: list[int]) -> None:
        self.arguments: set[str] = set()
        self.environments: set[str] = set()
        self._pids = pids
        self._parents: dict[int, int] = {}
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def text(self) -> str:
        """Return everything that was seen as text."""
        return "\n".join((*tuple(self.arguments), *tuple(self.environments)))  # while the thread adds to them

    def close(self) -> None:
        """Stop looking."""
        self._done.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._done.wait(0.05):
            for pid in with_descendants(self._pids, self._parents):
                self._look(pid)

    def _look(self, pid: int) -> None:
        for name, seen in (("cmdline", self.arguments), ("environ", self.environments)):
            with contextlib.suppress(OSError):
                seen.add(Path(f"/proc/{pid}/{name}").read_bytes().decode(errors="replace"))


def with_descendants(pids: Sequence[int], parents: dict[int, int] | None = None) -> list[int]:
    """
    Return ``pids`` and the processes that they have started, and these in turn.

    It goes through all processes of the machine once, for a fifth of what psutil takes for three daemons.

    :param parents: process -> the one that started it, of an earlier call; who looks again and again needs to ask only
        about new processes
    """
    known = {} if parents is None else parents
    running = set(psutil.pids())
    for pid in known.keys() - running:
        del known[pid]
    for pid in running - known.keys():
        with contextlib.suppress(OSError):
            known[pid] = int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])
    children: dict[int, list[int]] = {}
    for pid, parent in known.items():
        children.setdefault(parent, []).append(pid)
    found = list(pids)
    for pid in found:  # which grows meanwhile
        found += children.get(pid, [])
    return list(dict.fromkeys(found))


def _running(pids: Sequence[int]) -> list[psutil.Process]:
    found: list[psutil.Process] = []
    for pid in pids:
        with contextlib.suppress(psutil.NoSuchProcess):
            found.append(psutil.Process(pid))
    return found


def read_url(url: str) -> str:
    """Return the text of a page of 127.0.0.1, even if it is an error."""
    try:
        with urllib.request.urlopen(url, timeout=LONGEST) as answer:
            return str(answer.read().decode(errors="replace"))
    except urllib.error.HTTPError as error:
        return error.read().decode(errors="replace")
