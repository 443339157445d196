"""A Python process that starts its own JVM: what must be known before that is resolved before that."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from airflow_config_providers.core.properties import dump
from tests.servers.spark_cluster import SparkEnvironment

pytestmark = [pytest.mark.integration, pytest.mark.slow]

CANARY = "canary-process-7f3a"

JOB = """
import json, os, pathlib, sys

import psutil
from pyspark.sql import SparkSession

from airflow_config_providers.exceptions import ConfigProvidersError
from airflow_config_providers.spark import session

sealed = sys.argv[1]
problems = []

def refused(builder):
    try:
        session(builder)
    except ConfigProvidersError as error:
        problems.append(str(error))

def shown(process):
    # A shell that has ended and nobody waited for has neither.
    files = [pathlib.Path(f"/proc/{process.pid}/{name}") for name in ("cmdline", "environ")]
    return "" if process.status() == psutil.STATUS_ZOMBIE else "".join(map(str, map(pathlib.Path.read_bytes, files)))

builder = SparkSession.builder
refused(builder.config("spark.jars.repositories", "${dir:%s:blank}" % sealed))
builder = SparkSession.builder.config("spark.t.own", "${dir:%s:own}" % sealed).appName("own")
builder.config("spark.t.blank", "${dir:%s:blank}" % sealed).config("spark.t.separator", " ")
spark = session(builder.config("hive.exec.dynamic.partition.mode", "nonstrict"))
refused(SparkSession.builder)
context = spark.sparkContext
below = psutil.Process().children(recursive=True)
pathlib.Path("found.json").write_text(json.dumps({
    "conf": dict(context.getConf().getAll()),
    "own": spark.conf.get("spark.t.own"),
    "hive": spark.conf.get("hive.exec.dynamic.partition.mode"),
    "hadoop": context._jsc.hadoopConfiguration().get("t.password"),
    "memory": context._jvm.Runtime.getRuntime().maxMemory(),
    "processes": "".join(map(shown, below)),
    "environment": dict(os.environ),
    "submit": os.environ.get("PYSPARK_SUBMIT_ARGS"),
    "problems": problems,
    "airflow": "airflow" in sys.modules,
}))
print("PRINTED", spark.conf.get("spark.t.own"))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("process")
    sealed = folder / "sealed"
    sealed.mkdir()
    for name, value in {"password": CANARY, "own": f"{CANARY}\nown", "memory": "611m", "blank": " x"}.items():
        (sealed / name).write_text(value)
    defaults = {
        "spark.master": "local[1]",
        "spark.ui.enabled": "false",
        "spark.driver.memory": f"${{dir:{sealed}:memory}}",
        "spark.hadoop.t.password": f"${{dir:{sealed}:password}}",
        "spark.t.environment": "${env:JOB_APP_PASSWORD}",
        "spark.config.providers": "dir,env,unused",
        "spark.config.providers.unused.class": "file",
        "spark.config.providers.unused.param.allowed.paths": "/nonexistent",
        "spark.config.providers.env.class": "env",
        "spark.config.providers.env.param.allowlist.pattern": "JOB_APP_.*",
        "spark.config.providers.dir.class": "directory",
        "spark.config.providers.dir.param.allowed.paths": str(sealed),
    }
    (folder / "spark-defaults.conf").write_text(dump(defaults))
    (folder / "job.py").write_text(JOB)
    path = ":".join(path for path in sys.path if path)
    own = {"JOB_APP_PASSWORD": f"{CANARY}-environment", "JOB_APP_OTHER": f"{CANARY}-other"}
    environ = SparkEnvironment.of(SPARK_CONF_DIR=str(folder), PYTHONPATH=path, **own).variables
    command = [sys.executable, "job.py", str(sealed)]
    run = subprocess.run(command, env=environ, cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-3000:]
    seen = json.loads((folder / "found.json").read_text())
    return {**seen, "shown": run.stdout + run.stderr, "sealed": str(sealed)}


ELSEWHERE = """
from pyspark.sql import SparkSession

from airflow_config_providers.spark import session

definitions = {
    "config.providers": "env",
    "config.providers.env.class": "env",
    "config.providers.env.param.allowlist.pattern": "JOB_APP_.*",
}
spark = session(SparkSession.builder.config("spark.t.own", "${env:JOB_APP_PASSWORD}"), providers=definitions)
print(spark.sparkContext.master, spark.sparkContext.getConf().get("spark.authenticate"))
"""


def test_a_cluster_that_the_environment_names_needs_no_secret_of_spark(tmp_path: Path) -> None:
    path, master = ":".join(path for path in sys.path if path), "local-cluster[1,1,1024]"
    environ = SparkEnvironment.of(PYTHONPATH=path, MASTER=master, JOB_APP_PASSWORD=CANARY).variables

    command = [sys.executable, "-c", ELSEWHERE]
    run = subprocess.run(command, env=environ, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert run.stdout.split() == [master, "None"], run.stderr[-3000:]


def test_the_ports_of_a_driver_on_this_machine_are_closed(found: dict[str, Any]) -> None:
    assert found["conf"]["spark.authenticate"] == "true"


def test_the_jvm_starts_with_what_was_resolved(found: dict[str, Any]) -> None:
    assert found["conf"]["spark.driver.memory"] == "611m"
    assert 500 * 2**20 < found["memory"] <= 612 * 2**20


def test_files_and_the_builder_are_resolved(found: dict[str, Any]) -> None:
    assert found["hadoop"] == CANARY
    assert found["own"] == found["conf"]["spark.t.own"] == f"{CANARY}\nown"
    assert found["conf"]["spark.app.name"] == "own"
    assert not found["airflow"]


def test_what_a_properties_file_would_change_is_set_when_the_jvm_runs(found: dict[str, Any]) -> None:
    assert found["conf"]["spark.t.blank"] == " x"
    assert found["conf"]["spark.t.separator"] == " "
    assert found["hive"] == "nonstrict"


def test_what_is_wrong_with_a_provider_that_nothing_refers_to_is_in_nobodys_way(found: dict[str, Any]) -> None:
    assert found["problems"]
    assert not any("unused" in problem for problem in found["problems"])


def test_attack_27_no_value_is_in_arguments_or_environments(found: dict[str, Any]) -> None:
    assert "--properties-file" in found["processes"]
    assert CANARY not in found["processes"]
    assert found["submit"] is None


def test_attack_67_what_is_started_does_not_inherit_what_a_provider_may_read(found: dict[str, Any]) -> None:
    assert found["conf"]["spark.t.environment"] == found["environment"]["JOB_APP_PASSWORD"] == f"{CANARY}-environment"
    assert "PYTHONPATH" in found["processes"]
    assert "JOB_APP" not in found["processes"]


def test_attack_19_what_is_printed_shows_references(found: dict[str, Any]) -> None:
    assert f"PRINTED ${{dir:{found['sealed']}:own}}" in found["shown"]
    assert CANARY not in found["shown"]


def test_what_the_jvm_would_read_changed_and_what_comes_too_late_is_refused(found: dict[str, Any]) -> None:
    blank, late = found["problems"]

    assert blank.startswith("spark.jars.repositories: its value begins or ends with a space")
    assert late.startswith("There is already a SparkContext")
