"""The examples are no package: their folders are put behind everything else on the path."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from dags_examples.demo.workspace import Workspace

ROOT = Path(__file__).resolve().parents[2]
# Behind, so that the tests of an installed wheel do not meet the source tree.
sys.path += [str(ROOT), str(ROOT / "dags_examples/flights/jobs")]


@pytest.fixture(scope="session")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A work directory with an empty metadata database; every run of an example adds to it."""
    from dags_examples.demo.workspace import Workspace
    from tests.examples.runs import run

    made = Workspace(tmp_path_factory.mktemp("examples") / "work")
    made.create()
    assert run(made, ["db", "migrate"])[0] == 0
    return made


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One small session for all tests of the jobs."""
    pyspark_sql = pytest.importorskip("pyspark.sql")
    derby_home = tmp_path_factory.mktemp("derby")
    session = (
        pyspark_sql.SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.codegen.wholeStage", "false")  # compiling takes seconds, and each query has a few rows
        .config("spark.sql.adaptive.enabled", "false")  # planning each stage anew takes as long
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .config("spark.driver.extraJavaOptions", f"-Dderby.system.home={derby_home}")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    yield session
    session.stop()
