"""A real driver on this machine, and somebody who asks at each of its ports for the configuration."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from functools import partial

import psutil
import pytest

from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
from tests.limits import eventually
from tests.operators.conftest import CANARY, meanwhile

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.usefixtures("connections")]

JOB = """
import pathlib, sys, time
from pyspark.sql import SparkSession

folder = pathlib.Path(sys.argv[1])
spark = SparkSession.builder.getOrCreate()
held = spark.sparkContext.broadcast("what a stranger asks for")
(folder / "new").write_text(spark.sparkContext.applicationId)
(folder / "new").rename(folder / "runs")
while not (folder / "asked").exists():
    time.sleep(0.05)
(folder / "got").write_text(spark.conf.get("spark.app.password"))
"""


@pytest.fixture
def ask(dag, run_task, password, tmp_path, monkeypatch):
    """Run a job, and return what each port of its driver answers to a stranger: ``ask(conf)``."""
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    (tmp_path / "job.py").write_text(JOB)

    def run(conf):
        answers = {}

        def stranger():
            try:
                assert eventually((tmp_path / "runs").exists)
                command = [sys.executable, "-m", "tests.servers.stranger", (tmp_path / "runs").read_text()]
                answers.update(json.loads(subprocess.check_output([*command, *map(str, ports_of(tmp_path))])))
            finally:
                (tmp_path / "asked").touch()

        job = ConfiguredSparkSubmitOperator(
            task_id="job",
            dag=dag,
            application=str(tmp_path / "job.py"),
            application_args=[str(tmp_path)],
            conf={"spark.app.password": password, "spark.ui.enabled": "false", **conf},
        )
        with meanwhile(stranger):
            done = run_task(job)
        assert (done.state, (tmp_path / "got").read_text()) == ("success", CANARY)
        return answers

    return run


def ports_of(folder):
    """Return the ports at which the driver of the job in ``folder`` listens."""
    [driver] = filter(partial(is_driver_of, str(folder / "job.py")), psutil.Process().children(recursive=True))
    return sorted({each.laddr.port for each in driver.net_connections("tcp") if each.status == psutil.CONN_LISTEN})


def is_driver_of(job, process):
    with contextlib.suppress(psutil.Error):  # it can end meanwhile
        return process.name() == "java" and job in process.cmdline()
    return False


def test_attack_27_no_port_of_a_local_driver_lets_a_stranger_ask(ask):
    assert list(ask({}).values()) == [False] * 3  # the driver's, that of its blocks, and PySpark's


def test_without_authentication_a_port_would_let_a_stranger_ask(ask):
    assert list(ask({"spark.authenticate": "false"}).values()).count(True) == 1
