"""What a DAG file with 100 Spark tasks costs to parse."""

from __future__ import annotations

import os
import tempfile

from benchmarks.measure import Aim, Effort, Report, compared

OURS = "ConfiguredSparkSubmitOperator"
STOCK = "SparkSubmitOperator"
MODULES = {
    OURS: "airflow_config_providers.operators.spark_submit",
    STOCK: "airflow.providers.apache.spark.operators.spark_submit",
}
DAG_FILE = """
from airflow.sdk import DAG
from {module} import {operator}

with DAG("benchmark", schedule=None):
    for i in range(100):
        {operator}(
            task_id=f"task{{i}}",
            application="/opt/jobs/report.py",
            conf={{f"spark.app.key{{k}}": f"${{{{file:/etc/jobs/db.properties:key{{k}}}}}}" for k in range(10)}},
            executor_memory="4g",
            executor_cores=2,
        )
"""


def run(effort: Effort) -> list[Report]:
    with tempfile.TemporaryDirectory() as home:
        os.environ.setdefault("AIRFLOW_HOME", home)
        files = {name: compile(DAG_FILE.format(module=MODULES[name], operator=name), name, "exec") for name in MODULES}
        times = effort.each({name: lambda code=code: exec(code, {}) for name, code in files.items()})
    return [
        Report(
            "Parse a DAG file with 100 tasks",
            "Ten references in each task; imports are warm, as they are from the second file on.",
            ("", "ms", "times ours"),
            compared(times, OURS),
            [Aim("added to parsing, for each of 100 tasks", 0.05, (times[OURS] - times[STOCK]) / 100)],
        )
    ]
