"""Which key is meant by one that Spark does not know."""

from __future__ import annotations

import time

import pytest

from airflow_config_providers.core.older_names import OLDER_NAMES
from airflow_config_providers.spark.catalogue import spark_definition
from airflow_config_providers.spark.known_keys import meant, with_prefix
from airflow_config_providers.spark.unlisted_names import UNLISTED_NAMES

KNOWN = sorted({*spark_definition().names(), *UNLISTED_NAMES, *OLDER_NAMES, *OLDER_NAMES.values()})

OF_PEOPLE = [
    "spark.app.base",
    "spark.app.db.password",
    "spark.app.tags",
    "spark.executor.resource.gpu.amount",
    "spark.executorEnv.MEMORY",
    "spark.hadoop.fs.s3a.access.key",
    "spark.hadoop.fs.s3a.bucket.flights.endpoint",
    "spark.hive.metastore.uris",
    "spark.kubernetes.driver.label.pod.name",
    "spark.kubernetes.executor.volumes.persistentVolumeClaim.data.mount.path",
    "spark.live.mode",
    "spark.metrics.conf.driver.source.jvm.class",
    "spark.myteam.executor.memory",
    "spark.scheduler.listenerbus.eventqueue.shared.capacity",
    "spark.sql.catalog.lake.warehouse",
    "spark.ssl.ui.keyStore",
    "spark.yarn.appMasterEnv.PYTHONPATH",
]
"""Keys below names that Spark leaves to people, and keys of their own."""

OF_OTHERS = [
    "spark.cassandra.connection.host",
    "spark.celeborn.master.endpoints",
    "spark.comet.exec.enabled",
    "spark.databricks.delta.autoCompact.enabled",
    "spark.databricks.delta.optimizeWrite.enabled",
    "spark.databricks.io.cache.enabled",
    "spark.dataproc.driverEnv.FOO",
    "spark.dataproc.executor.disk.size",
    "spark.datasource.singlestore.clientEndpoint",
    "spark.delta.logStore.gs.impl",
    "spark.emr-serverless.driver.disk",
    "spark.emr-serverless.executor.disk",
    "spark.es.nodes.wan.only",
    "spark.extraListeners",
    "spark.gluten.memory.offHeap.size.in.bytes",
    "spark.hoodie.metadata.enable",
    "spark.mongodb.read.connection.uri",
    "spark.neo4j.url",
    "spark.openlineage.transport.type",
    "spark.rapids.memory.pinnedPool.size",
    "spark.rapids.sql.concurrentGpuTasks",
    "spark.redis.host",
    "spark.rss.master.address",
    "spark.snowflake.pushdown",
    "spark.sql.iceberg.handle-timestamp-without-timezone",
    "spark.synapse.linkedService",
    "spark.uniffle.coordinator.quorum",
]
"""Keys of extensions of Spark."""


@pytest.mark.parametrize(
    ("key", "name"),
    [
        pytest.param("spark.executor.memroy", "spark.executor.memory", id="two letters swapped"),
        pytest.param("spark.exector.memory", "spark.executor.memory", id="a letter left out"),
        pytest.param("spark.sql.shuffle.partition", "spark.sql.shuffle.partitions", id="the last letter left out"),
        pytest.param("spark.sql.shuflle.partitons", "spark.sql.shuffle.partitions", id="two parts misspelt"),
        pytest.param("spark.dynamicAllocation.enable", "spark.dynamicAllocation.enabled", id="another ending"),
        pytest.param("spark.Executor.Memory", "spark.executor.memory", id="capitals"),
        pytest.param("spark.executor.memory.overhead", "spark.executor.memoryOverhead", id="a dot too many"),
        pytest.param("spark.executor.memory_overhead", "spark.executor.memoryOverhead", id="an underscore"),
        pytest.param("spark.hadop.fs.s3a.endpoint", "spark.hadoop.fs.s3a.endpoint", id="a beginning"),
        pytest.param("spark.yarn.appMasterEvn.TZ", "spark.yarn.appMasterEnv.TZ", id="a beginning of two parts"),
    ],
)
def test_a_misspelt_key_is_told_from_the_one_that_is_meant(key: str, name: str) -> None:
    assert meant(key) == name


def test_no_key_that_spark_knows_is_taken_for_another() -> None:
    assert {key: name for key in KNOWN if (name := meant(key))} == {}


@pytest.mark.parametrize("key", OF_PEOPLE)
def test_a_key_of_peoples_own_is_none_that_is_misspelt(key: str) -> None:
    assert meant(key) is None


@pytest.mark.parametrize("key", OF_OTHERS)
def test_a_key_of_an_extension_is_none_that_is_misspelt(key: str) -> None:
    assert meant(key) is None


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("executor.memory", "spark.executor.memory"),
        ("executor.memroy", "spark.executor.memory"),
        ("sprak.executor.memory", "spark.executor.memory"),
        ("spark_executor_memory", "spark.executor.memory"),
        ("fs.s3a.endpoint", "spark.hadoop.fs.s3a.endpoint"),
        ("mapreduce.job.reduces", "spark.hadoop.mapreduce.job.reduces"),
        ("myteam.mode", "spark.myteam.mode"),
    ],
)
def test_a_key_without_sparks_beginning_is_given_it(key: str, name: str) -> None:
    assert with_prefix(key) == name


def test_a_long_key_is_near_to_none() -> None:
    assert meant("spark." + ".".join(["executr"] * 100_000)) is None


def test_known_keys_are_found_without_comparing_them() -> None:
    """A thousand known keys take a small part of what a thousand unknown ones take, which are compared."""
    known, unknown = KNOWN[:1000], [f"spark.sql.made{n}up.key{n}" for n in range(1000)]
    meant("spark.sql.first")

    def seconds(keys: list[str]) -> float:
        begin = time.process_time()
        for key in keys:
            meant(key)
        return time.process_time() - begin

    assert seconds(known) < seconds(unknown)
