"""
Drivers resolve their configuration themselves, on a real standalone cluster, without Airflow there.

Each way of running a driver runs once; every test then asks what could be seen of it.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import Any

import psutil
import pytest

from airflow_config_providers.spark.bundle import write_bundle
from airflow_config_providers.spark.driver_providers import to_spark_keys
from tests.limits import LONGEST
from tests.servers.spark_cluster import SparkCluster, SparkEnvironment, Watcher, read_url, spark_cluster

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.parametrize("vault", ["stand-in"], indirect=True),  # a real one is asked in tests/providers/vault
]

SPARK35 = os.environ.get("SPARK35_HOME", "")
GET_SPARK35 = "no Spark 3.5: pip install --target DIR pyspark==3.5.8 and set SPARK35_HOME=DIR/pyspark"

CANARY = f"c4nary-{token_hex(8)}"
NASTY = f" {CANARY}-nasty\r\n\t${{user.name}} $HOME %s \\n '\"\U0001f600 "

JOB = """
import importlib.util, json, logging, os, pathlib, sys, time

from airflow_config_providers.spark import session

spark = session()
context = spark.sparkContext
conf = dict(context.getConf().getAll())
hadoop = context._jsc.hadoopConfiguration()
on_executors = context.parallelize([0], 1).map(lambda _: sorted(os.environ.items())).collect()
found = {
    "version": spark.version,
    "conf": conf,
    "sql": {key: spark.conf.get(key) for key in conf if key.startswith("spark.t.")},
    "hadoop": {key: hadoop.get(key[13:]) for key in conf if key.startswith("spark.hadoop.t.")},
    "airflow": importlib.util.find_spec("airflow") is not None,
    "package": sys.modules["airflow_config_providers"].__file__,
    "set": str(spark.sql("SET").collect()),
    "executors": str(on_executors),
    "ui": f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/environment",
}
for key, value in conf.items():
    print("PROBE", key, value)
    logging.getLogger("job").warning("LOGGED %s %s", key, value)
print("PROBE", repr(conf), file=sys.stderr, flush=True)
out = pathlib.Path(sys.argv[1])
with open(os.open(out.with_suffix(".new"), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
    json.dump(found, file)
out.with_suffix(".new").rename(out)
while out.exists():
    time.sleep(0.05)
if len(sys.argv) > 2:
    raise RuntimeError("failed with " + conf["spark.t.password"])
spark.stop()
"""

CONF = {
    "spark.cores.max": "1",
    "spark.executor.memory": "600m",
    "spark.driver.memory": "600m",
    "spark.ui.port": "0",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
}

OPENS = "java.base/java.nio java.base/sun.nio.ch java.base/java.lang java.base/java.util java.base/java.lang.invoke"


@dataclass
class Observed:
    """What the job got, and what could be seen of it."""

    found: Mapping[str, Any] = field(repr=False)
    places: Mapping[str, str] = field(repr=False)
    vault: Mapping[str, int]
    expected: Mapping[str, str] = field(repr=False)

    def holding(self, text: str) -> set[str]:
        return {place for place, content in self.places.items() if text in content}


@dataclass(frozen=True)
class Site:
    """A cluster and what its drivers need."""

    cluster: SparkCluster
    spark: SparkEnvironment
    folder: Path

    def command(self, mode: str, conf: Mapping[str, str], *arguments: str) -> list[str]:
        confs = [word for key, value in {**CONF, **conf}.items() for word in ("--conf", f"{key}={value}")]
        events = f"spark.eventLog.dir=file://{self.folder}/events"
        start = [self.spark.script("spark-submit"), "--master", self.cluster.master_url, *confs, "--conf", events]
        job, bundle = str(self.folder / "job.py"), str(self.folder / "driver.zip")
        if mode == "client":
            return [*start, "--py-files", bundle, job, *arguments]
        # Spark refuses python applications here, but not its own class that runs one.
        options = " ".join(f"--add-opens={name}=ALL-UNNAMED" for name in OPENS.split())
        java = ["--conf", f"spark.driver.extraJavaOptions={options}"]
        jar = next((self.spark.home / "jars").glob("spark-core_*.jar"))
        main = ["--deploy-mode", "cluster", "--class", "org.apache.spark.deploy.PythonRunner"]
        return [*start, *java, *main, str(jar), job, bundle, *arguments]


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("", id="spark4"),
        pytest.param(SPARK35, id="spark35", marks=pytest.mark.skipif(not SPARK35, reason=GET_SPARK35)),
    ],
)
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    (folder / "events").mkdir()
    (folder / "temp").mkdir()
    (folder / "job.py").write_text(JOB)
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nexec {sys._base_executable} -s -S "$@"\n')  # type: ignore[attr-defined]
    python.chmod(0o755)
    assert write_bundle(folder / "driver.zip") == []
    variables = {"PYSPARK_PYTHON": str(python), "PYSPARK_DRIVER_PYTHON": str(python)}
    with spark_cluster(folder / "cluster", home=request.param, variables=variables) as cluster:
        spark = SparkEnvironment.of(request.param, **variables, TMPDIR=str(folder / "temp"))
        yield Site(cluster, spark, folder)


@pytest.fixture(params=["client", "cluster"])
def observed(request: pytest.FixtureRequest, site: Site, vault: Any, tmp_path: Path) -> Observed:
    return observe(site, vault, tmp_path, request.param)


def observe(site: Site, vault: Any, folder: Path, mode: str) -> Observed:
    vault.put("apps/db", {"password": f"{CANARY}-kv"})
    creds = vault.creds()
    role = vault.jwt(f"{vault.kv2}/data/apps/*", creds)
    (folder / "jwt").write_text(role.jwt())
    sealed = folder / "sealed"
    sealed.mkdir()
    (sealed / "nasty").write_bytes(NASTY.encode())
    definitions = {
        "config.providers": "vault,dir,broken",  # nothing refers to the broken one
        "config.providers.broken.class": "directory",
        "config.providers.vault.class": "vault",
        "config.providers.vault.param.url": vault.address,
        "config.providers.vault.param.auth_type": "jwt",
        "config.providers.vault.param.auth_mount_point": role.mount,
        "config.providers.vault.param.jwt_role": role.role,
        "config.providers.vault.param.jwt_token_path": str(folder / "jwt"),
        "config.providers.dir.class": "directory",
        "config.providers.dir.param.allowed.paths": str(sealed),
    }
    conf = {
        "spark.t.password": f"${{vault:{vault.kv2}/apps/db:password}}",
        "spark.hadoop.t.password": f"${{vault:{vault.kv2}/apps/db:password}}",
        "spark.t.url": f"jdbc:x://${{vault:{creds}:username}}:${{vault:{creds}:password}}@db",
        "spark.t.nasty": f"${{dir:{sealed}:nasty}}",
        "spark.t.open": "open-text",
        **to_spark_keys(definitions),
    }
    expected = {"spark.t.password": f"{CANARY}-kv", "spark.t.nasty": NASTY, "spark.t.open": "open-text"}
    out = folder / "found.json"
    with started(site, mode, conf, str(out)) as (process, watcher, output):
        wait_for(out, process, output, site)
        found = json.loads(out.read_text())
        places = look_around(site, found)
        during = {"leases": len(vault.live_leases()), "tokens": len(vault.live_tokens())}
        out.unlink()
        wait_until(lambda: process.poll() is not None and not jobs_of(site))
    places |= {"after: pages": "\n".join(site.cluster.pages().values())}
    places |= {f"after: {path.name} {n}": text for n, (path, text) in enumerate(site.cluster.files().items())}
    places |= {"events": texts(site.folder / "events"), "temp": texts(site.folder / "temp")}
    places |= {"processes": site.cluster.seen() + watcher.text(), "output": output.read_text(errors="replace")}
    wait_until(lambda: not vault.live_tokens() and not vault.live_leases())
    after = {"leases after": len(vault.live_leases()), "tokens after": len(vault.live_tokens())}
    return Observed(found, places, {**during, **after}, expected)


@contextlib.contextmanager
def started(
    site: Site, mode: str, conf: Mapping[str, str], *arguments: str
) -> Iterator[tuple[subprocess.Popen[bytes], Watcher, Path]]:
    output = site.folder / f"output-{token_hex(4)}"
    command = site.command(mode, conf, *arguments)
    with output.open("wb") as file:
        process = subprocess.Popen(
            command, env=site.spark.variables, cwd=site.folder, stdout=file, stderr=subprocess.STDOUT
        )
    watcher = Watcher([process.pid])
    try:
        yield process, watcher, output
    finally:
        watcher.close()
        for found in [*jobs_of(site), *descendants(process.pid)]:
            with contextlib.suppress(psutil.Error):
                found.kill()
        if process.poll() is None:
            process.kill()
        process.wait()


def descendants(pid: int) -> list[psutil.Process]:
    with contextlib.suppress(psutil.Error):
        return psutil.Process(pid).children(recursive=True)
    return []


def jobs_of(site: Site) -> list[psutil.Process]:
    """Return the processes of the Worker: drivers and executors, without zombies of shells."""
    found = site.cluster.worker.descendants()
    return [process for process in found if process.is_running() and process.status() != psutil.STATUS_ZOMBIE]


def wait_until(is_so: Any, seconds: float = LONGEST) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def wait_for(out: Path, process: subprocess.Popen[bytes], output: Path, site: Site) -> None:
    deadline = time.monotonic() + LONGEST
    while not out.exists():
        failed = process.poll() not in {None, 0} or time.monotonic() > deadline
        said = [text[-3000:] for path, text in site.cluster.files().items() if path.name in {"stdout", "stderr"}]
        assert not failed, output.read_text(errors="replace")[-3000:] + "\n".join(said)
        time.sleep(0.2)


def texts(folder: Path) -> str:
    return "\n".join(path.read_text(errors="replace") for path in folder.rglob("*") if path.is_file())


def look_around(site: Site, found: Mapping[str, Any]) -> dict[str, str]:
    """Read what can be seen while the job runs."""
    places = {f"page {url}": text for url, text in site.cluster.pages().items()}
    return {**places, "REST API": read_url(found["ui"]), "SET": found["set"], "executors": found["executors"]}


def test_attack_32_the_configuration_that_leaves_holds_references_and_the_job_gets_values(observed: Observed) -> None:
    found = observed.found

    assert {key: found["conf"][key] for key in observed.expected} == observed.expected
    assert {key: found["sql"][key] for key in observed.expected} == observed.expected
    assert found["hadoop"] == {"spark.hadoop.t.password": observed.expected["spark.t.password"]}
    assert not found["airflow"]
    assert "driver.zip" in found["package"]
    # The Master and the Worker, their files and processes, Spark's UI and event log, and what the job printed.
    assert observed.holding(CANARY) == set()
    url = found["conf"]["spark.t.url"]
    assert observed.holding(url.rpartition(":")[2].removesuffix("@db")) == set()
    assert any("open-text" in text for text in observed.places.values())
    assert observed.holding("PROBE spark.t.password ${vault:")
    # What was lent lives as long as the job, and no longer.
    assert observed.vault == {"leases": 1, "tokens": 1, "leases after": 0, "tokens after": 0}


def test_attack_28_a_killed_driver_leaves_no_value_in_any_file_and_no_login(
    site: Site, vault: Any, tmp_path: Path
) -> None:
    vault.put("apps/db", {"password": f"{CANARY}-killed"})
    role = vault.jwt(f"{vault.kv2}/data/apps/*")
    (tmp_path / "jwt").write_text(role.jwt())
    definitions = {
        "config.providers": "vault",
        "config.providers.vault.class": "vault",
        "config.providers.vault.param.url": vault.address,
        "config.providers.vault.param.auth_type": "jwt",
        "config.providers.vault.param.auth_mount_point": role.mount,
        "config.providers.vault.param.jwt_role": role.role,
        "config.providers.vault.param.jwt_token_path": str(tmp_path / "jwt"),
    }
    reference = f"${{vault:{vault.kv2}/apps/db:password}}"
    conf = {"spark.t.password": reference, "spark.hadoop.t.password": reference, **to_spark_keys(definitions)}
    out = tmp_path / "found.json"

    with started(site, "cluster", conf, str(out)) as (process, _, output):
        wait_for(out, process, output, site)
        found = json.loads(out.read_text())["conf"]["spark.t.password"]
        lived = len(vault.live_tokens())
        for running in jobs_of(site):
            if "-I" not in running.cmdline():  # what gives the login back is not of the driver's session
                running.kill()
        wait_until(lambda: not jobs_of(site))
        out.unlink()

    assert (found, lived) == (f"{CANARY}-killed", 1)
    wait_until(lambda: not vault.live_tokens())
    left = [*site.cluster.files().values(), texts(site.folder / "events"), texts(site.folder / "temp")]
    assert [text for text in left if CANARY in text] == []


def test_attack_19_a_job_that_fails_with_a_value_shows_the_reference(site: Site, vault: Any, tmp_path: Path) -> None:
    vault.put("apps/db", {"password": f"{CANARY}-raised"})
    role = vault.approle(f"{vault.kv2}/data/apps/*")
    made = vault.admin.adapter.request(
        "post",
        f"/v1/auth/approle/role/{role.name}/secret-id",
        headers={"X-Vault-Token": vault.root_token, "X-Vault-Wrap-TTL": "1h"},
        json={},
    )
    definitions = {
        "config.providers": "vault",
        "config.providers.vault.class": "vault",
        "config.providers.vault.param.url": vault.address,
        "config.providers.vault.param.auth_type": "approle",
        "config.providers.vault.param.role_id": role.role_id,
        "config.providers.vault.param.wrapped_secret_id": made["wrap_info"]["token"],
    }
    reference = f"${{vault:{vault.kv2}/apps/db:password}}"
    out = tmp_path / "found.json"

    with started(site, "client", {"spark.t.password": reference, **to_spark_keys(definitions)}, str(out), "fail") as (
        process,
        _,
        output,
    ):
        wait_for(out, process, output, site)
        out.unlink()
        assert process.wait(LONGEST) == 1

    said = output.read_text(errors="replace")
    assert f"RuntimeError: failed with {reference}" in said
    assert CANARY not in said
    assert vault.live_tokens() == frozenset()
