"""Which DAG files make a state."""

from __future__ import annotations

import tempfile
from contextlib import nullcontext
from pathlib import Path

import pytest

pytest.importorskip("airflow")

from airflow_config_providers.planning.dag_folder import DagFolder
from tests.limits import LONGEST
from tests.planning.test_changed_files import write

pytestmark = pytest.mark.integration

DAG = """
from airflow.sdk import DAG
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator

with DAG("trains", schedule=None):
    ConfiguredSparkSubmitOperator(task_id="%s", application="x.py")
"""


def test_revisions_that_are_checked_out_below_the_folder_have_no_part_in_the_files_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__CORE__DAGS_FOLDER", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    write(tmp_path, {"a.py": DAG % "report", "tmp/config-providers-plan-x/files/a.py": DAG % "report_of_revision"})

    jobs = DagFolder(None, LONGEST).jobs(warn=pytest.fail, progress=lambda total: nullcontext(lambda: None))

    assert [task.task_id for task in jobs] == ["report"]
