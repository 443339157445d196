"""Keys whose value Spark writes where other people can read it."""

from __future__ import annotations

import pytest

from airflow_config_providers.spark.exposure import is_exposed


@pytest.mark.parametrize(
    "key",
    [
        "spark.app.name",
        "spark.driver.extraJavaOptions",
        "spark.executor.extraClassPath",
        "spark.authenticate.enableSaslEncryption.x",
        "spark.ssl.keyStore",
        "spark.rpc.anything",
        "spark.my.port",
        "spark.jars",
        "spark.jars.ivy",
        "spark.jars.packages",
        "spark.files",
        "spark.local.dir",
        "spark.archives",
        "spark.submit.pyFiles",
        "spark.yarn.dist.jars",
        "spark.repl.local.jars",
        "spark.driver.defaultExtraClassPath",
        "spark.executorEnv.DB_PASSWORD",
        "spark.executorEnv.DbPassword",
        "spark.ui.view.acls",
        "spark.metrics.namespace",
        "spark.ui.store.path",
    ],
)
def test_a_value_under_this_key_would_be_seen(key):
    assert is_exposed(key)


@pytest.mark.parametrize(
    "key",
    [
        "spark.app.password",
        "spark.hadoop.fs.s3a.secret.key",
        "spark.authenticate.secret",
        "spark.ssl.keyStorePassword",
        "spark.driver.port",
        "spark.jars.excludes",
        "spark.jars.repositories",
        "spark.sql.warehouse.dir",
        "spark.metrics.conf.driver.sink.x.password",
        "spark.authenticate",
    ],
)
def test_a_value_under_this_key_is_kept_or_is_a_number(key):
    assert not is_exposed(key)
