"""Several functions with a Spark session in one process, as under ``airflow dags test``: one JVM serves them all."""

from __future__ import annotations

import os
import subprocess

import pytest
from airflow.providers.apache.spark.decorators.pyspark import pyspark_task

from airflow_config_providers import cluster_policy

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("connections")]

VALUES = ["c4nary/first+value", "c4nary/second+value", "c4nary/third+value"]


def job(url, spark):
    os.write(1, f"descriptor {url}\n".encode())
    subprocess.run(["/bin/sh", "-c", 'echo "child $1" >&2', "sh", url], check=True)
    spark.sparkContext._jvm.java.lang.System.out.println(f"java {url}")
    spark.sparkContext._jvm.java.lang.System.out.flush()
    if "second" in url:
        raise KeyError("the second fails")
    page = spark.sparkContext._jsc.sc().statusStore().environmentInfo().sparkProperties()
    return [page.apply(i).toString() for i in range(page.length())]


@pytest.fixture
def runs(dag, run_task, secrets_dir, own_jvm, monkeypatch):
    """Run three tasks, one after the other; each has a reference and a key of its own."""
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__APPLY_TO", "spark")

    def run(number):
        (secrets_dir / f"k{number}").write_text(VALUES[number])
        reference = f"${{dir:{secrets_dir}:k{number}}}"
        conf = {f"spark.app.dsn{number}": reference, "spark.master": "local[1]"}
        with dag:
            made = pyspark_task(job, task_id=f"job{number}", config_kwargs=conf)(reference)
        cluster_policy.task_policy(made.operator)
        return run_task(made.operator)

    return run


def test_attack_19_31_no_task_shows_values_of_its_own_or_of_another(runs, capfd):
    done = [runs(number) for number in range(3)]
    output = "".join(capfd.readouterr())
    told = "".join(repr(m) for run in done for m in run.supervisor.messages if type(m).__name__ != "MaskSecret")

    assert [run.state for run in done] == ["success", "failed", "success"]
    assert [output.count(f"{writer} ${{dir:") for writer in ("descriptor", "child", "java")] == [3, 3, 3]
    assert "spark.app.dsn2" in told, "the last task gives what Spark's page of its environment shows"
    assert [value for value in VALUES if value in output + told] == []
