"""What Spark's own classes say to the texts that our types and patterns were made for."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from airflow_config_providers.spark.catalogue import spark_definition
from airflow_config_providers.spark.redaction import (
    DEFAULT_PATTERN,
    OPTIONS_KEY,
    is_hidden_by_spark,
    redacting,
    widened,
)

pytestmark = pytest.mark.integration

NUMBERS = ["0", "1", "-1", "+1", "007", "64", "3000000000", "9223372036854775807", "9223372036854775808", "1.5", "1e3"]
SUFFIXES = [
    "",
    *"bkmgtpsdhwx",
    "kb",
    "mb",
    "gb",
    "tb",
    "pb",
    "kib",
    "mib",
    "gib",
    "us",
    "ms",
    "min",
    "sec",
    "KB",
    "Min",
]
TEXTS = [
    *map("".join, itertools.product(["0", "12", "-3", "1.5", "+4"], SUFFIXES)),
    *NUMBERS,
    *["", " ", "x", "true", "TRUE", "True", "yes", " true ", " 7 ", "\t8g\n", "1 g", "g", "NaN", "1d", "0x10", "1_0"],
    *["\u0661", "\uff11", "4\u212a", "1,2"],
]

KEYS = {
    "BOOLEAN": "spark.eventLog.enabled",
    "INT": "spark.executor.instances",
    "LONG": "spark.storage.unrollMemoryThreshold",
    "DOUBLE": "spark.memory.fraction",
    "SIZE": "spark.driver.memory",
    "TIME": "spark.executor.heartbeatInterval",
}


@pytest.fixture(scope="module")
def jvm(errors_of_py4j_itself: None) -> Iterator[Any]:
    """The Java of the installed PySpark."""
    pytest.importorskip("pyspark", reason="pip install pyspark")
    from pyspark.java_gateway import launch_gateway

    gateway = launch_gateway()
    for name in ("internal.config.package$", "sql.internal.SQLConf$"):
        gateway.jvm.java.lang.Class.forName(
            f"org.apache.spark.{name}", True, gateway.jvm.Thread.currentThread().getContextClassLoader()
        )
    yield gateway.jvm
    gateway.shutdown()
    gateway.proc.communicate()


def takes(converter: Any, text: str) -> bool:
    """Return whether Spark's converter of a key takes a text."""
    from py4j.protocol import Py4JError

    try:
        converter.apply(text)
    except Py4JError:
        return False
    return True


@pytest.mark.parametrize("type_", KEYS)
def test_we_take_the_texts_that_spark_takes(type_: str, jvm: Any) -> None:
    key = KEYS[type_]
    ours = {text: not spark_definition().misfits(key, text) for text in TEXTS}
    converter = jvm.org.apache.spark.internal.config.ConfigEntry.findEntry(key).valueConverter()

    assert {text: takes(converter, text) for text in TEXTS} == ours
    assert set(ours.values()) == {True, False}


def test_the_keys_stand_for_the_types_of_the_catalogue() -> None:
    keys = spark_definition().config_keys

    assert {key for key in KEYS.values() if key in keys} == set(KEYS.values())


def test_the_pattern_is_sparks_own_or_wider(jvm: Any) -> None:
    theirs = jvm.org.apache.spark.internal.config.ConfigEntry.findEntry("spark.redaction.regex").defaultValueString()

    assert DEFAULT_PATTERN.startswith(theirs)


NAMES = ["spark.a", "spark.a-b_c", "spark.$(x)", "spark.[a]|b", "spark.\\Q", "spark.\u00e9\U0001f600", " \n#\t", "^"]


@pytest.mark.parametrize("theirs", [None, "mine", r"\Qopen", "(?x)mine # comment", "(?i)mine|(yours)\\1"])
def test_attack_31_java_reads_the_widened_pattern_as_it_is_meant(theirs: str | None, jvm: Any) -> None:
    pattern = jvm.java.util.regex.Pattern.compile(widened(theirs, NAMES))

    def is_hidden(name: str) -> bool:
        return bool(pattern.matcher(name).find())

    assert [name for name in NAMES if not is_hidden(name)] == []
    assert [name for name in NAMES if is_hidden(f"{name}x") or is_hidden(f"x{name}")] == []


SECRET_OPTIONS = [
    *("kafka.sasl.jaas.config", "kafka.ssl.keystore.key", "kafka.ssl.key.password", "pem_private_key", "accountKey"),
    *("apikey", "API_KEY", "auth", "es.net.http.auth.pass", "sfPassphrase", "pwd", "sas", "cosmosSas", "authorization"),
    *("eventhubs.connectionString", "connection.uri", "sslkey", "signature", "credentials", "url"),
]
OPEN_OPTIONS = ["dbtable", "author", "compass", "bypass", "kafka.security.protocol", "numPartitions", "path", "during"]


@pytest.mark.parametrize("theirs", [None, r"mine|\Qopen", "(?x)mine # comment", "(?i)mine|(yours)\\1"])
def test_java_reads_the_pattern_for_options_as_it_is_meant(theirs: str | None, jvm: Any) -> None:
    own = {} if theirs is None else {OPTIONS_KEY: theirs}
    pattern = jvm.java.util.regex.Pattern.compile(redacting(own, NAMES)[OPTIONS_KEY])

    hidden = [name for name in [*SECRET_OPTIONS, *OPEN_OPTIONS, "mine"] if pattern.matcher(name).find()]

    assert hidden == [name for name in SECRET_OPTIONS if name != "url" or not theirs] + (["mine"] if theirs else [])


@pytest.mark.parametrize("name", ["a.PASSWORD", "a.accesskey", "a.access.key", "a.to\u212aen", "a.x"])
def test_a_name_is_hidden_by_spark_where_spark_finds_it_so(name: str, jvm: Any) -> None:
    theirs = jvm.org.apache.spark.internal.config.ConfigEntry.findEntry("spark.redaction.regex").defaultValueString()

    assert jvm.java.util.regex.Pattern.compile(theirs).matcher(name).find() is is_hidden_by_spark(name)


@pytest.mark.parametrize(
    ("older", "current"),
    [
        ("spark.yarn.keytab", "spark.kerberos.keytab"),
        ("spark.yarn.access.namenodes", "spark.yarn.access.hadoopFileSystems"),
    ],
)
def test_spark_prefers_the_current_name_in_whatever_order_both_are_set(older: str, current: str, jvm: Any) -> None:
    """This is why a job gets only one of them: the one in the stronger layer."""
    for first, second in ((older, current), (current, older)):
        conf = jvm.org.apache.spark.SparkConf(False).set(first, first).set(second, second)
        entry = jvm.org.apache.spark.internal.config.ConfigEntry.findEntry(current)

        assert current in (conf.get(entry).toString() if entry else conf.get(current))
