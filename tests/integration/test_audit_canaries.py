"""No trace of an audit shows the values that it searches for, on this machine and on a cluster."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import Any

import psutil
import pytest

pytest.importorskip("pyspark")
pytest.importorskip("airflow")

import airflow_config_providers
from airflow_config_providers.deployment.known_secrets import FINGERPRINTS
from airflow_config_providers.job.sealed_values import deployment_key
from tests.integration.audit_command import AuditCommand, places, written_forms
from tests.servers.ports import free_port
from tests.servers.spark_cluster import SparkCluster, Watcher, read_url, spark_cluster

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.xdist_group("audit-cluster")]

ENCODER_SECRET = "the-secret-of-the-encoder"
KEY = deployment_key(ENCODER_SECRET, *FINGERPRINTS)
FORMS = [*written_forms(), KEY, KEY.hex().encode()]
DEFAULTS = {
    "spark.authenticate": "true",
    "spark.authenticate.secret": token_hex(16),
    "spark.network.crypto.enabled": "true",
    "spark.driver.host": "127.0.0.1",
}
LARGEST = 16 * 1024 * 1024
SETTLED = 2.0
"""Seconds after a change of a file, after which another change gives it another time."""
PAGES = ("environment/", "jobs/", "stages/", "storage/", "executors/", "api/v1/applications")
OF_APPLICATION = ("environment", "jobs", "stages", "allexecutors", "storage/rdd")


@dataclass
class Traces:
    """
    What an audit leaves and shows while it runs; only places where a value was seen are kept.

    :param folders: with temporary files
    :param ui: the address of Spark's UI
    """

    folders: list[Path]
    ui: str
    shown: set[str] = field(default_factory=set)
    looked: set[str] = field(default_factory=set)
    searched: set[tuple[int, ...]] = field(default_factory=set)

    def look(self, processes: list[psutil.Process]) -> None:
        """Search what is there now."""
        for folder in self.folders:
            for parent, _, names in os.walk(folder):  # unlike rglob, it passes by what is removed meanwhile
                for name in names:
                    self.file(Path(parent, name), "temporary file")
        for process in processes:
            with contextlib.suppress(psutil.Error, OSError):
                for open_file in Path(f"/proc/{process.pid}/fd").iterdir():
                    if "(deleted)" in str(open_file.readlink()):
                        self.file(open_file, "deleted file")
        self._pages()

    def add(self, kind: str, content: bytes, place: object = "") -> None:
        """Search some content."""
        self.looked.add(kind)
        if any(form in content for form in FORMS):
            self.shown.add(f"{kind} {place}")

    def file(self, path: Path, kind: str) -> None:
        """Search a file, if it is one, unless it is as it was when it was searched."""
        with contextlib.suppress(OSError):
            status = path.stat()
            version = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
            if stat.S_ISREG(status.st_mode) and version not in self.searched:
                now = time.time()
                with path.open("rb") as file:
                    self.add(kind, file.read(LARGEST), path)
                if status.st_mtime < now - SETTLED:
                    self.searched.add(version)

    def _pages(self) -> None:
        with contextlib.suppress(OSError, ValueError, LookupError):  # it has not begun, or has ended
            for page in PAGES:
                self.add("page", read_url(f"{self.ui}/{page}").encode(), page)
            identity = json.loads(read_url(f"{self.ui}/{PAGES[-1]}"))[0]["id"]
            for page in OF_APPLICATION:
                self.add("REST", read_url(f"{self.ui}/api/v1/applications/{identity}/{page}").encode(), page)


@contextlib.contextmanager
def nowhere(folder: Path) -> Iterator[None]:
    yield None


@contextlib.contextmanager
def of_two_workers(folder: Path) -> Iterator[SparkCluster]:
    variables = {"PYTHONPATH": str(Path(airflow_config_providers.__file__).parents[1])}
    with spark_cluster(folder / "cluster", defaults=DEFAULTS, variables=variables, workers=2, cores=1) as cluster:
        yield cluster


@pytest.mark.parametrize("form", FORMS)
def test_a_value_in_a_temporary_file_would_be_seen(tmp_path: Path, form: bytes) -> None:
    (tmp_path / "blockmgr").mkdir()
    (tmp_path / "blockmgr" / "broadcast_0").write_bytes(b"\0" + form)
    traces = Traces([tmp_path], f"http://127.0.0.1:{free_port()}")

    traces.look([])

    assert traces.shown == {f"temporary file {tmp_path}/blockmgr/broadcast_0"}


@pytest.mark.parametrize("where", [pytest.param(nowhere, id="local"), pytest.param(of_two_workers, id="cluster")])
def test_an_audit_shows_its_values_nowhere(
    where: Callable[[Path], contextlib.AbstractContextManager[SparkCluster | None]], tmp_path: Path
) -> None:
    with where(tmp_path) as cluster:
        traces, rows, planted = _audited(cluster, tmp_path)

    assert places(rows) == planted
    assert traces.looked >= {"temporary file", "page", "REST", "process", "event log", "output", "kept file"}
    assert traces.shown == set()


def _audited(cluster: SparkCluster | None, folder: Path) -> tuple[Traces, list[Any], list[tuple[str, int]]]:
    environ = {"SPARK_CONF_DIR": str(cluster.folder / "conf")} if cluster else {}
    audit = AuditCommand(folder, AIRFLOW__CONFIG_PROVIDERS__PASSWORD_ENCODER_SECRET=ENCODER_SECRET, **environ)
    planted = [audit.plant(f"{number}.log", 100_000) for number in range(8)]
    port, events, kept = free_port(), folder / "events", folder / "kept"
    for made in (events, kept):
        made.mkdir()
    traces = Traces([audit.temp, *([cluster.folder] if cluster else [])], f"http://127.0.0.1:{port}")
    running = audit.start(
        *("--master", cluster.master_url if cluster else "local[2]"),
        *("--conf", "spark.ui.enabled=true", "--conf", f"spark.ui.port={port}"),
        *("--conf", "spark.eventLog.enabled=true", "--conf", f"spark.eventLog.dir=file://{events}"),
        *("--conf", "spark.eventLog.compress=false"),
        *(
            "--state",
            str(kept / "state"),
            "--write-fingerprints",
            str(kept / "prints"),
            "--report",
            str(kept / "report.html"),
        ),
        *("--reversed-copy", str(kept / "copies"), "--tokens"),
    )
    watcher = Watcher([running.pid])
    out, err = _followed(running, traces, cluster)
    watcher.close()
    traces.add("process", (watcher.text() + (cluster.seen() if cluster else "")).encode())
    traces.add("output", (out + err).encode())
    for kind, place in (("event log", events), ("kept file", kept), ("Airflow's file", folder / "airflow")):
        for path in place.rglob("*"):
            traces.file(path, kind)
    return traces, [json.loads(line) for line in out.splitlines()], planted


def _followed(running: subprocess.Popen[str], traces: Traces, cluster: SparkCluster | None) -> tuple[str, str]:
    """Look until the audit has ended, and return what it printed."""
    while True:
        try:
            return running.communicate(timeout=0.3)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(psutil.Error):
                mine = psutil.Process(running.pid)
                traces.look([mine, *mine.children(recursive=True), *(cluster.processes() if cluster else [])])
