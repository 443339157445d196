from __future__ import annotations

import pytest

from airflow_config_providers.spark.early import is_early


@pytest.mark.parametrize(
    "key",
    [
        "spark.master",
        "spark.app.name",
        "spark.driver.memory",
        "spark.driver.extraJavaOptions",
        "spark.driver.extraClassPath",
        "spark.executor.extraJavaOptions",
        "spark.jars",
        "spark.jars.packages",
        "spark.submit.pyFiles",
        "spark.yarn.appMasterEnv.TOKEN",
        "spark.kubernetes.driverEnv.TOKEN",
        "spark.kerberos.keytab",
    ],
)
def test_spark_reads_it_before_python_runs_or_shows_it(key: str) -> None:
    assert is_early(key)


@pytest.mark.parametrize(
    "key",
    [
        "spark.app.db.password",
        "spark.hadoop.fs.s3a.secret.key",
        "spark.sql.catalog.lake.token",
        "spark.authenticate.secret",
        "spark.executor.memory",
        "spark.driver.maxResultSize",
    ],
)
def test_a_driver_can_still_set_it(key: str) -> None:
    assert not is_early(key)
