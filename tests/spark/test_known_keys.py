"""Which key is meant by one that Spark does not know."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from airflow_config_providers.core.keys import older_names
from airflow_config_providers.spark.catalogue import spark_definition
from airflow_config_providers.spark.catalogue_file import all_names
from airflow_config_providers.spark.known_keys import meant, with_prefix
from tests.spark import misspelling
from tests.spark.third_party_keys import THIRD_PARTY_KEYS

KNOWN = sorted({*all_names(), *older_names(), *older_names().values()})

PUBLIC = [key.name for key in spark_definition().config_keys.values() if not key.internal]

OF_PEOPLE = [
    "spark.app.base",
    "spark.app.db.password",
    "spark.app.initial.urls",
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
        pytest.param("spark.sql.shufle.partitions", "spark.sql.shuffle.partitions", id="one of two equal letters"),
        pytest.param("spark.shuffle.partitions", "spark.sql.shuffle.partitions", id="a part left out"),
        pytest.param("spark.dynamicAllocation.max", "spark.dynamicAllocation.maxExecutors", id="a word left out"),
        pytest.param("spark.executor.executor.memory", "spark.executor.memory", id="a part twice"),
        pytest.param("spark.executor.memoryMemoryOverhead", "spark.executor.memoryOverhead", id="a word twice"),
        pytest.param("spark.dynamicAllocation.maxExecutor", "spark.dynamicAllocation.maxExecutors", id="singular"),
        pytest.param("spark.executors.memory", "spark.executor.memory", id="plural"),
        pytest.param("spark.app.nmae", "spark.app.name", id="below the prefix of jobs"),
        pytest.param("spark.app.initial.jar.url", "spark.app.initial.jar.urls", id="singular below the prefix of jobs"),
        pytest.param("spark.jar", "spark.jars", id="singular of a short word"),
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


@pytest.mark.parametrize("key", THIRD_PARTY_KEYS)
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
        ("ipc.client.connect.timeout", "spark.hadoop.ipc.client.connect.timeout"),
        ("net.topology.impl", "spark.hadoop.net.topology.impl"),
        ("orc.stripe.size", "spark.hadoop.orc.stripe.size"),
        ("myteam.mode", "spark.myteam.mode"),
    ],
)
def test_a_key_without_sparks_beginning_is_given_it(key: str, name: str) -> None:
    assert with_prefix(key) == name


@pytest.mark.parametrize(
    ("key", "name"),
    [
        pytest.param(f"spark.{'executor.' * 15}memory", "spark.executor.memory", id="as many dots as are compared"),
        pytest.param(f"spark.{'executor.' * 16}memory", None, id="a dot too many"),
        pytest.param(f"spark.executor.mem{'_' * 235}ory", "spark.executor.memory", id="the longest that is compared"),
        pytest.param(f"spark.executor.mem{'_' * 236}ory", None, id="a character too long"),
        pytest.param("spark." + ".".join(["executr"] * 100_000), None, id="far too long"),
    ],
)
def test_a_long_key_is_near_to_none(key: str, name: str | None) -> None:
    assert meant(key) == name


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


@pytest.mark.parametrize(
    ("misspell", "recall"),
    [
        (misspelling.letter_left_out, 0.98),
        (misspelling.letter_doubled, 0.99),
        (misspelling.letter_replaced, 0.99),
        (misspelling.letters_swapped, 0.99),
        (misspelling.part_left_out, 0.74),
        (misspelling.word_of_a_part_left_out, 0.90),
        (misspelling.part_doubled, 0.99),
        (misspelling.another_number, 0.99),
        (misspelling.dots_for_capitals, 0.99),
        (misspelling.capitals_for_dots, 0.99),
        (misspelling.underscores_for_dots, 0.99),
        (misspelling.without_capitals, 0.99),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_most_misspellings_of_public_keys_are_told_from_the_right_one(
    misspell: Callable[[str], str], recall: float
) -> None:
    """What is left resembles several keys, or is a key of its own."""
    written = {key: misspell(key) for key in PUBLIC}
    written = {key: text for key, text in written.items() if text not in KNOWN}

    assert sum(meant(text) == key for key, text in written.items()) / len(written) >= recall


@pytest.mark.parametrize("misspell", misspelling.KINDS)
def test_few_misspellings_are_taken_for_a_wrong_key(misspell: Callable[[str], str]) -> None:
    written = {key: text for key in PUBLIC if (text := misspell(key)) not in KNOWN}

    assert sum(meant(text) not in (None, key) for key, text in written.items()) / len(written) <= 0.01


@pytest.mark.parametrize("key", ["spark.dynamicAllocation.executors", "spark.name", "spark.app.start"])
def test_a_key_to_which_several_words_could_be_added_is_none_that_is_misspelt(key: str) -> None:
    assert meant(key) is None
