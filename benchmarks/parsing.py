"""The time to parse a DAG file with 100 Spark tasks."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import CodeType

from benchmarks.measure import Aim, Effort, Report, compared
from benchmarks.ratios import Watched, cpu

OURS = "ConfiguredSparkSubmitOperator"
STOCK = "SparkSubmitOperator"
APPLIED = "SparkSubmitOperator, [config_providers] apply_to = spark"
APPLY_TO = "AIRFLOW__CONFIG_PROVIDERS__APPLY_TO"
MODULES = {
    OURS: "airflow_config_providers.operators.spark_submit",
    STOCK: "airflow.providers.apache.spark.operators.spark_submit",
}
DAG_FILE = """
from airflow.sdk import DAG
from {module} import {operator}

with DAG("benchmark", schedule=None) as dag:
    for i in range(100):
        {operator}(
            task_id=f"task{{i}}",
            application="/opt/jobs/report.py",
            conf={{f"spark.app.key{{k}}": f"${{{{file:/etc/jobs/db.properties:key{{k}}}}}}" for k in range(10)}},
            executor_memory="4g",
            executor_cores=2,
        )
"""
POLICY = """
from airflow_config_providers.cluster_policy import task_policy

for task in dag.tasks:
    task_policy(task)
"""


@contextmanager
def dag_files() -> Iterator[dict[str, CodeType]]:
    """Yield the compiled DAG file of each operator, with Airflow configured for them."""
    with tempfile.TemporaryDirectory() as home:
        os.environ.setdefault("AIRFLOW_HOME", home)
        os.environ[APPLY_TO] = "spark"
        texts = {name: DAG_FILE.format(module=MODULES[name], operator=name) for name in MODULES}
        texts[APPLIED] = texts[STOCK] + POLICY
        yield {name: compile(text, name, "exec") for name, text in texts.items()}
        del os.environ[APPLY_TO]


def parsed(code: CodeType) -> None:
    exec(code, {})


def watched() -> Iterator[Watched]:
    with dag_files() as files:
        costs = {name: cpu(partial(parsed, code)) for name, code in files.items()}
        for what, name in (("parse a DAG with 100 tasks", OURS), ("the same by apply_to", APPLIED)):
            yield Watched(f"{what}, against {STOCK}", costs[name], costs[STOCK], aim=1.1, seconds=4)


def run(effort: Effort) -> list[Report]:
    with dag_files() as files:
        times = effort.each({name: partial(parsed, code) for name, code in files.items()})
    return [
        Report(
            "Parse a DAG file with 100 tasks",
            "Each task has ten references. Imports are not measured: in a process, only the first DAG file pays for "
            "them.",
            ("", "ms", "times ours"),
            compared(times, OURS),
            [
                Aim("added to parsing, for each of 100 tasks", 0.05, (times[OURS] - times[STOCK]) / 100),
                Aim("the same by apply_to", 0.2, (times[APPLIED] - times[STOCK]) / 100),
            ],
        )
    ]
