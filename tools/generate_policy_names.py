"""
Write the names that the ready policies know: keys that load code, and older names of keys.

The sources are the jars of the installed PySpark, read in three ways: the entries that Spark's classes declare, with
their defaults and documentation; the strings in the classes of Spark, Hadoop, Parquet, ORC and Avro; and Hadoop's own
files of defaults. A key loads code if its name, its default or its documentation says so. Keys that the ``families``
of the file match are left out. Run it again whenever the pinned PySpark changes. Pass the jars of file systems that
PySpark does not include::

    mvn dependency:get -Dtransitive=false -Dartifact=org.apache.hadoop:hadoop-aws:3.5.0
    python tools/generate_policy_names.py ~/.m2/repository/org/apache/hadoop/hadoop-{aws,azure}/3.5.0/*.jar
"""

from __future__ import annotations

import json
import re
import struct
import sys
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Set
from pathlib import Path
from typing import Any, Final

import pyspark
from generate_spark_catalogue import _entries, _type
from pyspark.java_gateway import launch_gateway

from airflow_config_providers.core.keys import HADOOP_PREFIX
from airflow_config_providers.dynamic.policies.code_loading_keys import FILE, code_loading_names
from airflow_config_providers.dynamic.policies.spark_keys import KeyPatterns
from airflow_config_providers.spark.catalogue_file import rows, versions

PACKAGE: Final = Path(__file__).parents[1] / "airflow_config_providers"
NAMES: Final = PACKAGE / "dynamic" / "policies" / FILE
OLDER: Final = PACKAGE / "core" / "older_names.json"
JARS: Final = Path(pyspark.__file__).parent / "jars"
SPARK_JARS: Final = "spark-*.jar"
HADOOP_JARS: Final = ("hadoop-client-api-*.jar", "parquet-*.jar", "orc-core-*.jar", "avro-mapred-*.jar")

WORDS: Final = (
    "[a-z]*provider|allocator|archives?|class|classes|classloader|classname|classpath|codecs?|collector|command|committer|comparator"
    "|converter|cmd|estimator|executable|extensions?|factory|handlers?|hooks?|impl|implementation|initializers?"
    "|interceptors?|interpretor|jars?|libraries|library|listeners?|loader|manager|module|opts|packages|partitioner"
    "|plugins?|providers?|python|registrator|repositories|resolver|scripts?|serializations?|serializers?|signers?"
    "|speculator|steps|uris?|urls"
)
"""The last word of a key that names code."""
ENDING: Final = re.compile(
    rf"(?:^|[._-]|(?<=[a-z])(?=[A-Z]))(?i:{WORDS}|class[._-]?names?|java-?options|(?:class|library)-?path"
    rf"|container\.image|(?:script|provider)\.(?:path|type|mapping|file\.name)|py-?files|template-?(?:file|json))$"
)
CLASS: Final = re.compile(r"(?:[a-z]\w*\.){2,}[A-Z][\w$]*(?:,.*)?")
"""A default that is the name of a class, or several."""
TELLING: Final = re.compile(
    r"class name|name of (?:the|a) class|fully[- ]qualified|full class|classes? (?:that|which) implement|class to use"
    r"|implementation to use|\bJVM options|Java options|class ?path|interpreter|executable to",
    re.IGNORECASE,
)
"""Phrases in the documentation of keys for a class, or for options of a virtual machine."""
TEXTS: Final = frozenset({"STRING", "LIST"})

OF_S3A: Final = {
    "spark.hadoop.fs.s3a.server-side-encryption-algorithm": "spark.hadoop.fs.s3a.encryption.algorithm",
    "spark.hadoop.fs.s3a.server-side-encryption.key": "spark.hadoop.fs.s3a.encryption.key",
}
"""The older names of ``S3AFileSystem``, whose jar does not come with PySpark."""

SPARK_KEY: Final = re.compile(r"spark(?:\.[\w-]+)+")
HADOOP_KEY: Final = re.compile(
    r"(?:adl|avro|dfs|fs|ftp|ha|hadoop|io|ipc|mapred|mapreduce|net|orc|parquet|rpc|topology|yarn)"
    r"(?:\.[A-Za-z0-9][\w-]*)+"
)
OF_SERVERS: Final = re.compile(
    r"(?:dfs\.(?:namenode|datanode|journalnode|federation\.router|block\.placement|balancer)"
    r"|hadoop\.(?:http|registry)|mapred\.tasktracker|mapreduce\.(?:jobhistory|jobtracker|tasktracker)"
    r"|yarn\.(?:federation|http|node-|nodemanager|registry|resourcemanager|router|scheduler|sharedcache|timeline|webapp))"
)
"""Keys that Hadoop's servers read from their own files."""

NOT_TOLD: Final[Mapping[str, str]] = {
    "spark.app.initial.archive.urls": "executors unpack them when they start",
    "spark.app.initial.file.urls": "executors fetch them when they start",
    "spark.app.initial.jar.urls": "executors add them to their class path when they start",
    "spark.sql.sources.default": "the short name of a data source, or its class",
    "spark.sql.udt.allowCreatingUDTFromString": "lets a schema name a class",
    "spark.streaming.clock": "a class",
    "avro.combiner": "a class",
    "avro.mapper": "a class",
    "avro.reducer": "a class",
    "avro.serialization.data.model": "a class",
    "fs.s3a.delegation.token.binding": "a class",
    "mapred.join.keycomparator": "a class",
    "mapreduce.join.keycomparator": "a class",
    "mapreduce.mapper.multithreadedmapper.mapclass": "a class",
    "mapreduce.output.lazyoutputformat.outputformat": "a class",
    "mapreduce.pipes.inputformat": "a class",
    "parquet.read.filter": "a class",
}
"""Keys that load code although their names do not show it."""

_FLAG: Final = "true or false"
_CODEC: Final = "one of the codecs of that file format"
HARMLESS: Final[Mapping[str, str]] = {
    "avro.mapred.ignore.inputs.without.extension": _FLAG,
    "avro.output.codec": _CODEC,
    "dfs.client.ignore.namenode.default.kms.uri": _FLAG,
    "dfs.safemode.extension": "a time",
    "fs.azure.networking.library": "one of two",
    "fs.s3a.capability.magic.committer": "a capability, asked for by that name",
    "fs.s3a.create.storage.class": "a class of storage",
    "mapreduce.job.classloader": _FLAG,
    "orc.compress.lz4.impl": "one of two",
    "orc.compress.snappy.impl": "one of two",
    "orc.compression.zstd.impl": "one of two",
    "orc.dictionary.implementation": "one of two",
    "spark.connect.scalaUdf.stubPrefixes": "prefixes of classes that are left out",
    "spark.history.store.serializer": "JSON or PROTOBUF",
    "spark.kubernetes.driver.pod.excludedFeatureSteps": "leaves classes out",
    "spark.kubernetes.executor.pod.excludedFeatureSteps": "leaves classes out",
    "spark.sql.avro.compression.codec": _CODEC,
    "spark.sql.catalogImplementation": "hive or in-memory",
    "spark.sql.defaultColumn.allowedProviders": "names that are compared",
    "spark.sql.execution.arrow.compression.codec": "none, zstd or lz4",
    "spark.sql.optimizer.nestedPredicatePushdown.supportedFileSources": "names that are compared",
    "spark.sql.orc.compression.codec": _CODEC,
    "spark.sql.orc.impl": "native or hive",
    "spark.sql.parquet.compression.codec": _CODEC,
    "spark.sql.sources.useV1SourceList": "names that are compared",
    "spark.sql.streaming.disabledV2MicroBatchReaders": "names that are compared",
    "spark.sql.streaming.disabledV2Writers": "names that are compared",
    "spark.streaming.backpressure.rateEstimator": "there is one: pid",
    "spark.testing.resourceProfileManager": "for Spark's own tests",
    "spark.ui.proxyRedirectUri": "an address",
}
"""Keys that seem to load code, but do not."""


def main() -> None:
    """Write both files."""
    jars = [*_hadoop_jars(), *map(Path, sys.argv[1:])]
    gateway = launch_gateway()
    try:
        spark, older = spark_keys(gateway.jvm), older_names(gateway.jvm)
    finally:
        gateway.shutdown()
        gateway.proc.communicate()
    spark, hadoop = unmatched(spark), unmatched(hadoop_keys(jars), HADOOP_PREFIX)
    made_of = [f"pyspark=={pyspark.__version__}", *(_package(jar) for jar in jars)]
    written = {"made_of": made_of, "families": code_loading_names().families}
    found = {**written, "spark": sorted(spark), "hadoop": sorted(hadoop)}
    NAMES.write_text(f"{json.dumps(found, indent=1)}\n", encoding="utf-8")
    OLDER.write_text(f"{json.dumps(older, indent=0, sort_keys=True)}\n", encoding="utf-8")
    print(f"{NAMES}: {len(spark)} keys of Spark, {len(hadoop)} of Hadoop; {OLDER}: {len(older)} names")  # noqa: T201 - a command line tool


def unmatched(keys: Set[str], prefix: str = "") -> Set[str]:
    """Return those of ``keys`` that no pattern for a family matches, with ``prefix`` or without it."""
    families = KeyPatterns(code_loading_names().patterns())
    return {key for key in keys if not (families.match(f"{prefix}{key}") and families.match(key))}


def spark_keys(jvm: Any) -> Set[str]:
    """Return Spark's keys that load code."""
    entries = {entry.key(): entry for entry in _entries(jvm)}
    written = {
        text for jar in JARS.glob(SPARK_JARS) for text in _texts(jar, holding=b"spark.") if SPARK_KEY.fullmatch(text)
    }
    told = {key for key, entry in entries.items() if _loads_code(entry)}
    told |= {key for key in written - entries.keys() if ENDING.search(key)}
    return (told | {key for key in NOT_TOLD if key.startswith("spark.")}) - HARMLESS.keys()


def _loads_code(entry: Any) -> bool:
    if _type(entry) not in TEXTS:
        return False
    is_class = CLASS.fullmatch(entry.defaultValueString() or "")
    return bool(is_class or ENDING.search(entry.key()) or TELLING.search(" ".join(entry.doc().split())))


def hadoop_keys(jars: Iterable[Path]) -> Set[str]:
    """Return Hadoop's keys that load code, without ``spark.hadoop.``."""
    found: set[str] = set()
    for jar in jars:
        found |= {text for text in _texts(jar) if ENDING.search(text)}
        found |= {name for name, default in _defaults(jar) if ENDING.search(name) or CLASS.fullmatch(default)}
    keys = {key for key in found if HADOOP_KEY.fullmatch(key) and not OF_SERVERS.match(key)}
    return (keys | {key for key in NOT_TOLD if not key.startswith("spark.")}) - HARMLESS.keys()


def older_names(jvm: Any) -> Mapping[str, str]:
    """Return older name -> current name, for names that Hadoop or any Spark in the catalogue still reads."""
    found = {name: row.partition(" ")[2] for minor in versions() for name, row in rows(minor).older.items()}
    found |= {older: entry.key() for entry in _entries(jvm) for older in _listed(entry.alternatives())}
    found |= {older.key(): new for new, others in _spark_alternatives(jvm) for older in _items(others)}
    found |= {f"spark.hadoop.{older}": f"spark.hadoop.{new}" for older, new in _hadoop_deprecations(jvm)}
    return found | OF_S3A


def _spark_alternatives(jvm: Any) -> Iterator[tuple[str, Any]]:
    companion = _class(jvm, "org.apache.spark.SparkConf$")
    found = _field(
        companion, companion.getField("MODULE$").get(None), "org$apache$spark$SparkConf$$configsWithAlternatives"
    )
    for pair in _items(found):
        yield pair._1(), pair._2()


def _hadoop_deprecations(jvm: Any) -> Iterator[tuple[str, str]]:
    for name in ("hdfs.HdfsConfiguration", "mapred.JobConf", "yarn.conf.YarnConfiguration"):
        _class(jvm, f"org.apache.hadoop.{name}")
    configuration = _class(jvm, "org.apache.hadoop.conf.Configuration")
    context = _field(configuration, None, "deprecationContext").get()
    for pair in _field(context.getClass(), context, "deprecatedKeyMap").entrySet():
        older, info = pair.getKey(), pair.getValue()
        yield older, next(iter(_field(info.getClass(), info, "newKeys")))


def _class(jvm: Any, name: str) -> Any:
    return jvm.java.lang.Class.forName(name, True, jvm.Thread.currentThread().getContextClassLoader())


def _field(owner: Any, value: Any, name: str) -> Any:
    field = owner.getDeclaredField(name)
    field.setAccessible(True)
    return field.get(value)


def _items(scala: Any) -> Iterator[Any]:
    items = scala.iterator()
    while items.hasNext():
        yield items.next()


def _listed(scala: Any) -> list[str]:
    return [name for name in scala.mkString(",").split(",") if name]


def _hadoop_jars() -> list[Path]:
    return sorted(jar for pattern in HADOOP_JARS for jar in JARS.glob(pattern) if "jackson" not in jar.name)


def _texts(jar: Path, *, holding: bytes = b"") -> Iterator[str]:
    """Yield the strings in the classes of a jar that contain the bytes ``holding``."""
    with zipfile.ZipFile(jar) as archive:
        for file in archive.namelist():
            if file.endswith(".class") and holding in (octets := archive.read(file)):
                yield from _constants(octets)


def _constants(octets: bytes) -> Iterator[str]:
    """Yield the strings in the constant pool of a class."""
    (count,) = struct.unpack(">H", octets[8:10])
    texts: dict[int, bytes] = {}
    used: list[int] = []
    place, index = 10, 1
    while index < count:
        tag = octets[place]
        (number,) = struct.unpack(">H", octets[place + 1 : place + 3])
        if tag == 1:
            texts[index] = octets[place + 3 : place + 3 + number]
        if tag == 8:
            used.append(number)
        place += 3 + number if tag == 1 else _SIZES[tag]
        index += 2 if tag in (5, 6) else 1
    yield from (texts[number].decode("utf-8", "replace") for number in used)


_SIZES: Final = {
    3: 5,
    4: 5,
    5: 9,
    6: 9,
    7: 3,
    8: 3,
    9: 5,
    10: 5,
    11: 5,
    12: 5,
    15: 4,
    16: 3,
    17: 5,
    18: 5,
    19: 3,
    20: 3,
}
"""Tag of a constant -> its length (JVM specification, 4.4)."""


def _defaults(jar: Path) -> Iterator[tuple[str, str]]:
    """Yield name and default from Hadoop's files, such as ``core-default.xml``."""
    with zipfile.ZipFile(jar) as archive:
        for file in archive.namelist():
            if file.endswith("-default.xml"):
                for each in ET.fromstring(archive.read(file)).iter("property"):  # noqa: S314 - from Hadoop's own jar
                    yield each.findtext("name", "").strip(), each.findtext("value", "").strip()


def _package(jar: Path) -> str:
    return re.sub(r"-(?=[0-9])(.*)\.jar$", r"==\1", jar.name)


if __name__ == "__main__":
    main()
