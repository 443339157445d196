"""
YARN on 127.0.0.1: a ResourceManager and a NodeManager, with local folders in place of HDFS.

    with yarn(tmp_path / "yarn") as cluster:
        cluster.conf                             # HADOOP_CONF_DIR for spark-submit
        cluster.page                             # http://127.0.0.1:PORT of the ResourceManager: its pages and its REST
        cluster.bin                              # a folder for PATH, with the command `yarn application`
        cluster.defaults                         # keys for a job: it begins quickly, and its files are kept
        cluster.applications()                   # id -> state of all applications
        cluster.pages()                          # address -> text: the REST of both, and the logs of containers
        cluster.files()                          # path -> text: containers, staging directory, logs; zips are unpacked
        cluster.arguments(), cluster.environments()  # of all processes that ever ran of it

The queue ``waiting`` gives no container to anything: an application there remains ACCEPTED.

``python -m tests.servers.yarn`` fetches the jars, which PySpark does not have, to the user's cache folder.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

import pytest

from tests.limits import eventually
from tests.servers import quick_java
from tests.servers.build import cache_folder
from tests.servers.ports import free_ports
from tests.servers.spark_cluster import SparkEnvironment, Watcher, read_url

PACKAGES: Final = (
    "org.apache.hadoop:hadoop-client-minicluster:3.5.0",
    *(f"org.bouncycastle:{name}-jdk18on:1.82" for name in ("bcprov", "bcutil", "bcpkix")),
)
"""The servers, and what the ResourceManager signs certificates with. The rest is among the jars of PySpark."""

EXCLUDED: Final = ("org.apache.hadoop:hadoop-client-api", "org.apache.hadoop:hadoop-client-runtime", "junit:junit")

HOW_TO_GET_IT: Final = "no YARN: `python -m tests.servers.yarn` fetches its jars"

_SERVERS: Final = "org.apache.hadoop.yarn.server"


def cached_jars() -> list[Path]:
    """Return the jars that were fetched; none if one of them is missing."""
    found = sorted((_folder() / "jars").glob("*.jar"))
    return found if len(found) >= len(PACKAGES) else []


def _folder() -> Path:
    return cache_folder() / "yarn-3.5.0"


def fetch_jars() -> None:
    """Have Spark fetch the jars as it fetches those of a job, which does nothing here."""
    spark = SparkEnvironment.of()
    options = {"--packages": PACKAGES, "--exclude-packages": EXCLUDED, "--master": ["local[1]"]}
    words = [word for option, values in options.items() for word in (option, ",".join(values))]
    with tempfile.TemporaryDirectory() as name:
        job = Path(name, "nothing.py")
        job.touch()
        command = [spark.script("spark-submit"), *words, "--conf", f"spark.jars.ivy={_folder()}", str(job)]
        subprocess.run(command, env=spark.variables, check=True)


class Yarn:
    """Both servers, which run until ``yarn`` ends them."""

    def __init__(self, folder: Path, jars: list[Path]) -> None:
        self.folder, self.conf, self.bin = folder, folder / "conf", folder / "bin"
        self.staging, self.events = folder / "staging", folder / "events"
        for directory in (self.conf, self.bin, self.staging, self.events):
            directory.mkdir(parents=True)
        self._spark = SparkEnvironment.of()
        ports = dict(zip(("scheduler.", "resource-tracker.", "admin.", "webapp.", ""), free_ports(5), strict=True))
        self.page = f"http://127.0.0.1:{ports['webapp.']}"
        self._write_site(ports)
        self._write_command()
        self._jars = [*map(str, jars), f"{self._spark.home}/jars/*"]
        self._processes = [self._start("resourcemanager.ResourceManager"), self._start("nodemanager.NodeManager")]
        self._watcher = Watcher([process.pid for process in self._processes])

    def _write_site(self, ports: Mapping[str, int]) -> None:
        site = {f"yarn.resourcemanager.{name}address": f"127.0.0.1:{port}" for name, port in ports.items()}
        site |= {f"yarn.nodemanager.{name}address": "127.0.0.1:0" for name in ("", "localizer.", "webapp.")}
        site |= {f"yarn.nodemanager.{name}-dirs": str(self.folder / name) for name in ("local", "log")}
        queue = "yarn.scheduler.capacity.root"
        site |= {
            "yarn.nodemanager.delete.debug-delay-sec": "3600",
            "yarn.nodemanager.disk-health-checker.enable": "false",
            "yarn.nodemanager.env-whitelist": "JAVA_HOME,PATH,JDK_JAVA_OPTIONS,PYSPARK_PYTHON",
            "yarn.nodemanager.pmem-check-enabled": "false",
            "yarn.nodemanager.resource.cpu-vcores": "8",
            "yarn.nodemanager.resource.memory-mb": "4096",
            "yarn.nodemanager.vmem-check-enabled": "false",
            "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "200",
            "yarn.scheduler.minimum-allocation-mb": "128",
            "yarn.scheduler.capacity.maximum-am-resource-percent": "1.0",
            f"{queue}.queues": "default,waiting",
            f"{queue}.default.capacity": "100",
            f"{queue}.waiting.capacity": "0",
            f"{queue}.waiting.maximum-applications": "10",
            f"{queue}.waiting.maximum-capacity": "0",
        }
        root = ElementTree.Element("configuration")
        for name, value in site.items():
            entry = ElementTree.SubElement(root, "property")
            ElementTree.SubElement(entry, "name").text = name
            ElementTree.SubElement(entry, "value").text = value
        ElementTree.ElementTree(root).write(self.conf / "yarn-site.xml")

    def _write_command(self) -> None:
        command = self.bin / "yarn"
        client = "org.apache.hadoop.yarn.client.cli.ApplicationCLI"
        path = f"{self.conf}:{self._spark.home}/jars/*"
        command.write_text(f"#!/bin/sh\nexec java {quick_java.QUICK_JAVA} -cp '{path}' {client} \"$@\"\n")
        command.chmod(0o755)

    def _start(self, server: str) -> subprocess.Popen[bytes]:
        java = str(shutil.which("java"))
        environ = {
            **self._spark.variables,
            "JAVA_HOME": str(Path(java).resolve().parents[1]),
            "JDK_JAVA_OPTIONS": quick_java.QUICK_JAVA,  # also for what runs in containers
        }
        path = ":".join([str(self.conf), *self._jars])
        command = [java, "-Dlog4j2.level=INFO", "-cp", path, f"{_SERVERS}.{server}"]
        with (self.folder / f"{server.partition('.')[0]}.log").open("wb") as log:
            return subprocess.Popen(command, env=environ, cwd=self.folder, stdout=log, stderr=subprocess.STDOUT)

    def wait(self) -> None:
        """
        Wait until a node can run containers.

        :raises RuntimeError: one of the servers has ended
        """

        def is_ready() -> bool:
            if any(process.poll() is not None for process in self._processes):
                raise RuntimeError("\n".join(log.read_text()[-3000:] for log in self.folder.glob("*.log")))
            with contextlib.suppress(OSError, ValueError):
                return bool(self._nodes())
            return False

        assert eventually(is_ready, every=0.2)

    def _nodes(self) -> list[dict[str, Any]]:
        nodes = json.loads(read_url(f"{self.page}/ws/v1/cluster/nodes"))["nodes"]
        return [node for node in nodes.get("node", ()) if node["state"] == "RUNNING"]

    @property
    def defaults(self) -> dict[str, str]:
        """Keys for each job."""
        memory = dict.fromkeys((f"spark.{part}.memory" for part in ("driver", "executor", "yarn.am")), "512m")
        return {
            **memory,
            "spark.dynamicAllocation.enabled": "true",  # a job that needs no executor gets none
            "spark.executor.cores": "1",
            "spark.eventLog.dir": self.events.as_uri(),
            "spark.eventLog.enabled": "true",
            "spark.ui.port": "0",
            "spark.yarn.jars": f"local:{self._spark.home}/jars/*",
            "spark.yarn.maxAppAttempts": "1",
            "spark.yarn.preserve.staging.files": "true",
            "spark.yarn.stagingDir": self.staging.as_uri(),
        }

    def applications(self) -> dict[str, str]:
        """Return id -> state of all applications."""
        found = json.loads(read_url(f"{self.page}/ws/v1/cluster/apps"))["apps"] or {}
        return {one["id"]: one["state"] for one in sorted(found.get("app", ()), key=lambda one: str(one["id"]))}

    def pages(self) -> dict[str, str]:
        """Return address -> text of what both servers say of applications and containers."""
        found: dict[str, str] = {}
        for address in self._addresses():
            with contextlib.suppress(urllib.error.URLError):
                found[address] = read_url(address)
        return found

    def _addresses(self) -> Iterator[str]:
        cluster = f"{self.page}/ws/v1/cluster"
        node = "http://" + self._nodes()[0]["nodeHTTPAddress"]
        yield from (f"{cluster}/{part}" for part in ("info", "apps", "nodes", "scheduler"))
        yield from (f"{node}/ws/v1/node{part}" for part in ("", "/apps", "/containers"))
        for application in self.applications():
            yield from (f"{cluster}/apps/{application}{part}" for part in ("", "/appattempts"))
        for log in (self.folder / "log").glob("*/*/*"):
            yield f"{node}/ws/v1/node/containers/{log.parent.name}/logs/{log.name}"
            yield f"{node}/ws/v1/node/containerlogs/{log.parent.name}/{log.name}"

    def files(self) -> dict[str, str]:
        """Return path -> text of every file in the folder of YARN, and of every file in a zip."""
        found: dict[str, str] = {}
        for path in filter(Path.is_file, self.folder.rglob("*")):
            name = str(path.relative_to(self.folder))
            if zipfile.is_zipfile(path):
                with zipfile.ZipFile(path) as archive:
                    found |= {f"{name}/{one}": archive.read(one).decode(errors="replace") for one in archive.namelist()}
            else:
                found[name] = path.read_text(errors="replace")
        return found

    def arguments(self) -> str:
        """Return the command lines of every process that it has run."""
        return "\n".join(tuple(self._watcher.arguments))

    def environments(self) -> str:
        """Return the environments of every process that it has run."""
        return "\n".join(tuple(self._watcher.environments))

    def close(self) -> None:
        """End the servers, which would take long to end by themselves, and what they have started."""
        import psutil

        below = [one for process in self._processes for one in psutil.Process(process.pid).children(recursive=True)]
        self._watcher.close()
        for process in self._processes:
            process.kill()
            process.wait()
        for one in below:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()


@contextlib.contextmanager
def yarn(folder: Path) -> Iterator[Yarn]:
    """Run both servers, and end them; without their jars, skip the test."""
    jars = cached_jars()
    if not jars:
        pytest.skip(HOW_TO_GET_IT)
    with contextlib.closing(Yarn(folder, jars)) as cluster:
        cluster.wait()
        yield cluster


if __name__ == "__main__":
    if not cached_jars():
        fetch_jars()
    sys.exit(0 if cached_jars() else HOW_TO_GET_IT)
