"""The audit of records with Spark 3.5."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.limits import LONGEST
from tests.spark.audit.records.past import QUICK, Past

SPARK35 = os.environ.get("SPARK35_HOME", "")
GET_SPARK35 = "no Spark 3.5: pip install --target DIR pyspark==3.5.8 and set SPARK35_HOME=DIR/pyspark"

pytestmark = [pytest.mark.slow, pytest.mark.integration, pytest.mark.skipif(not SPARK35, reason=GET_SPARK35)]

AUDIT = f"""
import json, sys
import pyspark
from airflow_config_providers.deployment.audits import record_reader
from airflow_config_providers.spark.audit.records.history_audit import drift_of
from airflow_config_providers.spark.audit.records.history_audit import KnownElsewhere, history_of
from airflow_config_providers.spark.audit.records.past_records import RecordFilter
from airflow_config_providers.spark.audit.records.reference_audit import reference_uses

KINDS = ["between-runs"]  # of records that are kept: all kinds take five times as long

def audited(parquet, kinds=()):
    with record_reader(parquet, "local[2]", {QUICK!r}, lambda *now: None) as reader:
        records = reader.of_files(sys.argv[1], RecordFilter())
        with history_of(reader.session, records.frame, KnownElsewhere(), records.frame) as history:
            found = [[row["kind"] for row in history.findings(kinds)], drift_of(history.runs, history.changes).changes]
        return [*found, len(reference_uses(reader.session, records.frame)), dict(records.unread)]

print("FOUND", json.dumps([pyspark.__version__, audited(""), *(audited(sys.argv[2], KINDS) for _ in range(2))]))
"""


def test_spark_3_5_finds_the_same_whether_records_are_kept_or_not(tmp_path: Path):
    past = Past(tmp_path / "records")
    for day, memory in enumerate(("4g", "8g"), 1):
        past({"spark.executor.memory": memory, "spark.a": "${vault:a:b}"}, run=f"r{day}", day=day)
    search = os.pathsep.join([str(Path(SPARK35).parent), *filter(None, sys.path)])
    environment = {**os.environ, "PYTHONPATH": search, "SPARK_HOME": SPARK35}
    command = [sys.executable, "-c", AUDIT, str(past.folder), str(tmp_path / "parquet")]

    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=LONGEST)

    lines = [line for line in done.stdout.splitlines() if line.startswith("FOUND ")]
    assert lines, done.stderr
    version, *found = json.loads(lines[0].removeprefix("FOUND "))
    assert version.startswith("3.5.")
    assert found == [[["between-runs"], 1, 1, {}]] * 3
