"""
Every key of Spark that takes any text gets a canary; then all that Spark shows of a real job is searched for them.

One job on a standalone cluster serves all tests. Not searched is what spark-submit prints, which the hook reverses.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from airflow_config_providers.core.definition.config_type import ConfigType
from airflow_config_providers.core.properties import dump
from airflow_config_providers.spark.catalogue import spark_definition
from airflow_config_providers.spark.delivery import plan
from airflow_config_providers.spark.exposed_keys import is_exposed
from airflow_config_providers.spark.installation import SparkInstallation
from airflow_config_providers.spark.private_file import private_file
from tests.limits import LONGEST
from tests.servers.recorded_commands import recorded_commands
from tests.servers.spark_cluster import SparkCluster, SparkEnvironment, Watcher, read_url, spark_cluster

pytestmark = [pytest.mark.integration, pytest.mark.slow]

JOB = """
import json, pathlib, sys, time
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
context = spark.sparkContext
spark.range(2).collect()
context.addFile(__file__)  # has Spark list its environment again, with what SQL added to it
context.parallelize(range(2), 2).map(lambda x: x + 1).collect()
spark.range(2).write.format("parquet").saveAsTable("numbers")
spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load().writeStream.format("noop").trigger(
    once=True
).start().awaitTermination()
out = pathlib.Path(sys.argv[1])
out.with_suffix(".new").write_text(json.dumps([context.uiWebUrl, context.applicationId]))
out.with_suffix(".new").rename(out)
while out.exists():
    time.sleep(0.05)
spark.stop()
"""

PLAIN = {
    "spark.driver.memory": "600m",
    "spark.executor.memory": "512m",
    "spark.cores.max": "1",
    "spark.ui.port": "0",
    "spark.ui.showConsoleProgress": "false",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.driver.log.persistToDfs.enabled": "true",
    "spark.metrics.conf.*.sink.csv.class": "org.apache.spark.metrics.sink.CsvSink",
}

TAKES_NO_TEXT = re.compile(
    r"(?i)class(es)?$|classTo|codec|compression|serializer|mode|listener|manager|filters$|level$|policy|protocol"
    r"|extensions|plugins?|catalog|provider|redaction|regex|strategy|allocator|transformation|profiler|[.]impl$|version"
    r"|format$|algorithm|timeZone|timeout|registrator|topologyMapper|rules$|daemon|worker[.]module|python$|mapping$"
    r"|backend|maxSize|interval|timestampType|estimator|attempt[.]id|executor[.]id|driver[.]host|bindAddress"
    r"|eventLog|resourcesFile|kerberos[.](keytab|principal)|factory|signal|javaOptions|handling|sessionOrder"
    r"|metastore|hive|types$|socket|authenticate[.]secret[.]|outputStyle|allowed|fallbackStorage|metrics[.]conf$"
    r"|dataSource|shreddingSchema|defaultPath|allocation[.]file|costEvaluator|jars[.]ivySettings|resource[.]type"
)
"""Keys whose value Spark compares with words of its own, loads as a class, or needs for itself."""

OTHERS = [
    "spark.app.name",
    "spark.auth.x",
    "spark.executorEnv.X",
    "spark.hadoop.mapred.job.name",
    "spark.hadoop.t.x",
    "spark.hive.t.x",
    "spark.metrics.conf.*.sink.csv.x",
    "spark.metrics.conf.driver.sink.csv.x",
    "spark.network.x",
    "spark.org.example.Filter.param.x",
    "spark.repl.class.uri",
    "spark.rpc.x",
    "spark.sql.catalog.x.url",
    "spark.ssl.keyStore",
    "spark.unknown.x",
    "spark.yarn.appMasterEnv.X",
]
"""Keys that no catalogue has."""

PATHS = ("spark.archives", "spark.files", "spark.jars", "spark.submit.pyFiles")
FOLDERS = (
    *("spark.checkpoint.dir", "spark.driver.log.dfsDir", "spark.driver.log.localDir", "spark.eventLog.dir"),
    *("spark.jars.ivy", "spark.local.dir", "spark.sql.streaming.checkpointLocation", "spark.sql.warehouse.dir"),
)

PACKAGES = ("spark.jars.excludes", "spark.jars.packages", "spark.jars.repositories")

NOT_IN_THIS_JOB = {
    "spark.yarn.appMasterEnv.X",
    *(f"spark.yarn.dist.{name}" for name in ("archives", "files", "jars", "pyFiles")),
    *(f"spark.yarn.{name}" for name in ("applicationType", "archive", "jars", "queue", "stagingDir", "tags")),
    *(f"spark.kubernetes.{whose}container.image" for whose in ("", "driver.", "executor.")),
    *(f"spark.kubernetes.container.image.{name}" for name in ("pullPolicy", "pullSecrets")),
    *(f"spark.kubernetes.{whose}scheduler.name" for whose in ("", "driver.", "executor.")),
    *(f"spark.kubernetes.authenticate.{whose}.serviceAccountName" for whose in ("driver", "executor")),
    *(f"spark.kubernetes.executor.decommissionLabel{part}" for part in ("", "Value")),
    *(
        f"spark.kubernetes.kerberos.{name}"
        for name in ("krb5.configMapName", "tokenSecret.itemKey", "tokenSecret.name")
    ),
    "spark.kubernetes.driver.pod.name",
    "spark.kubernetes.driver.resourceNamePrefix",
    "spark.kubernetes.executor.podNamePrefix",
    "spark.kubernetes.file.upload.path",
    "spark.kubernetes.hadoop.configMapName",
    "spark.kubernetes.namespace",
    "spark.log.callerContext",
    "spark.ui.reverseProxyUrl",
    "spark.ui.strictTransportSecurity",
}
"""Keys that are refused, but that no standalone cluster uses without TLS and without a proxy."""


def texts() -> Iterator[str]:
    """Return the keys that accept any string. Older names are other names of keys that are there."""
    definition = spark_definition(SparkInstallation.of("spark-submit", os.environ).version)
    for key in definition.config_keys.values():
        is_any = key.type in (ConfigType.STRING, ConfigType.LIST) and key.validator is None
        is_text = is_any and key.name not in definition.older_names
        if is_text and not TAKES_NO_TEXT.search(key.name) and key.name not in (*PATHS, *FOLDERS, *PACKAGES):
            yield key.name


def planted(folder: Path) -> dict[str, str]:
    """Return each key with a value that contains its canary."""
    names = [*texts(), *OTHERS]
    found = {name: canary(i) for i, name in enumerate(names)}
    for i, name in enumerate(PATHS):
        path = folder / f"{canary(1000 + i)}.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("x.txt", "x")
        found[name] = str(path)
    for i, name in enumerate(FOLDERS):
        found[name] = str(folder / canary(2000 + i))
        Path(found[name]).mkdir()
    return {**found, **packages(folder)}


def packages(folder: Path) -> dict[str, str]:
    """Return a package and a Maven repository that contains it."""
    home = folder / canary(3000) / "group" / canary(3001) / "1"
    home.mkdir(parents=True)
    (home / f"{canary(3001)}-1.pom").write_text(
        f"<project><modelVersion>4.0.0</modelVersion><groupId>group</groupId>"
        f"<artifactId>{canary(3001)}</artifactId><version>1</version></project>"
    )
    with zipfile.ZipFile(home / f"{canary(3001)}-1.jar", "w") as archive:
        archive.writestr("x.txt", "x")
    return {
        "spark.jars.repositories": (folder / canary(3000)).as_uri() + "/",
        "spark.jars.packages": f"group:{canary(3001)}:1",
        "spark.jars.excludes": f"group:{canary(3002)}",
    }


def canary(number: int) -> str:
    return f"cnry{number:04d}zq"


@pytest.fixture(scope="module")
def configs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    return planted(tmp_path_factory.mktemp("planted"))


@pytest.fixture(scope="module")
def shown(configs: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """Key -> the places where Spark shows its canary."""
    folder = tmp_path_factory.mktemp("run")
    path = recorded_commands(folder / "bin", folder / "commands")
    with spark_cluster(folder / "cluster", variables={"PATH": path}) as cluster:
        places = submit(configs, folder, cluster, path=path)
    hits: dict[str, set[str]] = {}
    for key, value in configs.items():
        (mark,) = re.findall(r"cnry\d{4}zq", value)
        if found := {place for place, text in places.items() if mark in text}:
            hits[key] = found
    return hits


def submit(configs: Mapping[str, str], folder: Path, cluster: SparkCluster, *, path: str) -> dict[str, str]:
    """
    Run the job, and return what can be read of it, by place.

    :param path: the ``PATH`` of the job
    """
    (folder / "job.py").write_text(JOB)
    spark = SparkEnvironment.of(PATH=path)
    plain = {**PLAIN, "spark.master": cluster.master_url, "spark.metrics.conf.*.sink.csv.directory": str(folder)}
    delivery = plan({**plain, **configs}, sensitive=configs)
    confs = [word for key, value in delivery.plain.items() for word in ("--conf", f"{key}={value}")]
    out = folder / "found.json"
    with private_file(dump(delivery.private).encode("ascii")) as file, (folder / "output").open("wb") as output:
        process = subprocess.Popen(
            [spark.script("spark-submit"), "--properties-file", file.path, *confs, "job.py", str(out)],
            env={**spark.variables, "PYSPARK_PYTHON": sys.executable},
            cwd=folder,
            pass_fds=file.pass_fds,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        watcher = Watcher([process.pid])
        try:
            while not out.exists():
                assert process.poll() is None, (folder / "output").read_text(errors="replace")[-3000:]
                time.sleep(0.1)
            places = look_around(*json.loads(out.read_text()), cluster)
            out.unlink()
            assert process.wait() == 0
        finally:
            watcher.close()
            end(process)
    return {
        **places,
        "event log": written_to(configs["spark.eventLog.dir"]),
        "driver's log": written_to(configs["spark.driver.log.dfsDir"]),
        "driver's command and environment": watcher.text(),
        "short commands": (folder / "commands").read_text(),
    }


def written_to(folder: str) -> str:
    """Return the text of all files in a folder."""
    return "".join(file.read_text(errors="replace") for file in Path(folder).rglob("*") if file.is_file())


def look_around(ui: str, application: str, cluster: SparkCluster) -> dict[str, str]:
    """Read what Spark shows while the job runs."""
    rest = f"{ui}/api/v1/applications/{application}"
    urls = [f"{rest}/{name}" for name in ("environment", "executors", "jobs", "stages")]
    urls += [f"{ui}/{name}/" for name in ("environment", "executors", "jobs", "stages", "storage", "SQL")]
    urls += [f"{ui}/metrics/json/", f"{ui}/metrics/executors/prometheus/"]
    return {
        **{url.removeprefix(rest).removeprefix(ui): read_url(url) for url in urls},
        "headers of the UI": headers(ui),
        "cluster's pages": "".join(cluster.pages().values()),
        "cluster's files": "".join(f"{path}{text}" for path, text in cluster.files().items()),
        "executors' commands and environments": cluster.seen(),
    }


def headers(ui: str) -> str:
    """Return the headers with which the UI redirects to its first page."""
    with contextlib.closing(http.client.HTTPConnection(urlsplit(ui).netloc, timeout=LONGEST)) as connection:
        connection.request("GET", "/")
        return str(connection.getresponse().headers)


def end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        for child in psutil.Process(process.pid).children(recursive=True):
            child.kill()
        process.kill()
        process.wait()


def test_most_keys_take_part(configs: Mapping[str, str]) -> None:
    assert len(configs) > 150


def test_attack_58_spark_shows_no_key_that_we_let_have_a_secret(shown: dict[str, set[str]]) -> None:
    assert {key: places for key, places in shown.items() if not is_exposed(key)} == {}


def test_attack_58_what_is_refused_would_be_shown(configs: Mapping[str, str], shown: dict[str, set[str]]) -> None:
    assert {key for key in configs if is_exposed(key)} - set(shown) == NOT_IN_THIS_JOB & set(configs)


@pytest.mark.parametrize("key", PATHS[1:3])
def test_attack_58_a_key_that_spark_derives_is_in_the_event_log(key: str, shown: dict[str, set[str]]) -> None:
    assert {"event log", "/environment"} <= shown[key]
