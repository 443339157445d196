"""Keys whose value Spark writes where other people can read it."""

from __future__ import annotations

import pytest

from airflow_config_providers.spark.exposed_keys import is_early, is_exposed


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
        "spark.checkpoint.dir",
        "spark.sql.warehouse.dir",
        "spark.hive.metastore.warehouse.dir",
        "spark.driver.log.layout",
        "spark.python.unix.domain.socket.dir",
        "spark.sql.execution.pyspark.python",
        "spark.ui.allowFramingFrom",
        "spark.ui.proxyBase",
        "spark.ui.proxyRedirectUri",
        "spark.ui.reverseProxyUrl",
        "spark.ui.strictTransportSecurity",
        "spark.ui.xXssProtection",
        "spark.test.appId",
        "spark.driver.resource.gpu.discoveryScript",
        "spark.executor.resource.gpu.discoveryScript",
        "spark.executor.resource.gpu.vendor",
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
        "spark.metrics.conf.driver.sink.x.password",
        "spark.authenticate",
        "spark.executor.resource.gpu.amount",
    ],
)
def test_a_value_under_this_key_is_kept_or_is_a_number(key):
    assert not is_exposed(key)


FALLBACK = "spark.storage.decommission.fallbackStorage.path"
FOLDERS_OF_DRIVER = ["spark.checkpoint.dir", "spark.eventLog.dir", "spark.sql.streaming.checkpointLocation"]
FOLDERS = [*FOLDERS_OF_DRIVER, "spark.driver.log.dfsDir", "spark.yarn.stagingDir", FALLBACK]


@pytest.mark.parametrize("text", ["", "/data/${v:k}", "file:///${v:k}", "viewfs://x/${v:k}", "${v:k}", " s3a://${v:k}"])
@pytest.mark.parametrize("key", FOLDERS)
def test_a_folder_that_may_be_one_of_the_machine_would_be_seen(key: str, text: str) -> None:
    assert is_exposed(key, text)
    assert is_early(key, text)


@pytest.mark.parametrize("text", ["s3a://${v:k}/x", "HDFS://${v:k}/x", "abfss://x@${v:k}/x", "gs://${v:k}"])
@pytest.mark.parametrize("key", FOLDERS)
def test_a_folder_of_another_file_system_is_in_no_command(key: str, text: str) -> None:
    assert not is_exposed(key, text)


@pytest.mark.parametrize("key", FOLDERS_OF_DRIVER)
def test_a_driver_can_resolve_a_folder_of_another_file_system(key: str) -> None:
    assert not is_early(key, "s3a://${v:k}/x")


@pytest.mark.parametrize("key", ["spark.kubernetes.file.upload.path", "spark.sql.warehouse.dir"])
def test_a_folder_that_spark_shows_would_be_seen_wherever_it_is(key: str) -> None:
    assert is_exposed(key, "s3a://${v:k}/x")


@pytest.mark.parametrize(
    "key",
    [
        "spark.yarn.am.extraJavaOptions",
        "spark.yarn.queue",
        "spark.yarn.tags",
        "spark.log.callerContext",
        "spark.app.id",
        "spark.kubernetes.driver.label.x",
        "spark.kubernetes.executor.annotation.x",
        "spark.kubernetes.driver.service.annotation.x",
        "spark.kubernetes.node.selector.x",
        "spark.kubernetes.driver.node.selector.x",
        "spark.kubernetes.executor.node.selector.x",
        "spark.kubernetes.driver.volumes.nfs.x.options.server",
        "spark.kubernetes.executor.volumes.hostPath.x.mount.path",
        "spark.kubernetes.driver.pod.name",
        "spark.kubernetes.driverEnv.X",
        "spark.kubernetes.executor.podNamePrefix",
        "spark.kubernetes.container.image",
        "spark.kubernetes.executor.container.image",
        "spark.kubernetes.container.image.pullSecrets",
        "spark.kubernetes.scheduler.name",
        "spark.kubernetes.driver.scheduler.name",
        "spark.kubernetes.authenticate.serviceAccountName",
        "spark.kubernetes.authenticate.driver.serviceAccountName",
        "spark.kubernetes.driver.secrets.spark-secret",
        "spark.kubernetes.executor.secretKeyRef.DB_PASSWORD",
        "spark.kubernetes.hadoop.configMapName",
        "spark.kubernetes.kerberos.tokenSecret.name",
        "spark.kubernetes.driver.resourceNamePrefix",
        "spark.kubernetes.executor.decommissionLabelValue",
        "spark.kubernetes.namespace",
        "spark.yarn.archive",
        "spark.yarn.jar",
        "spark.yarn.jars",
    ],
)
def test_a_cluster_manager_shows_it(key: str) -> None:
    assert is_exposed(key)


@pytest.mark.parametrize(
    "key",
    ["spark.kubernetes.authenticate.submission.oauthToken", "spark.kubernetes.namespace.x", "spark.kubernetes.context"],
)
def test_what_is_in_no_object_of_kubernetes_is_kept(key: str) -> None:
    assert not is_exposed(key)


def test_yarn_copies_the_environment_of_its_application_master_into_a_log() -> None:
    assert is_exposed("spark.yarn.appMasterEnv.X")


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
