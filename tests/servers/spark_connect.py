"""A real server of Spark Connect on 127.0.0.1, from the jars of PySpark."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.servers.spark_cluster import Daemon, SparkEnvironment

_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"
_CONFS = {
    "spark.master": "local[1]",
    "spark.ui.enabled": "false",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",
    "spark.sql.redaction.options.regex": "(?i)special",
}


@dataclass(frozen=True, slots=True)
class ConnectServer:
    """
    Where it listens, and what it logs.

    :param log: at the level INFO
    """

    port: int
    log: Path


@contextlib.contextmanager
def spark_connect_server(folder: Path, *, token: str) -> Iterator[ConnectServer]:
    """
    Run a server, and end it.

    :param folder: for its log and temporary files
    :param token: the token that every request needs
    """
    spark = SparkEnvironment.of("", SPARK_CONNECT_AUTHENTICATE_TOKEN=token, SPARK_LOCAL_DIRS=str(folder))
    confs = [word for key, value in _CONFS.items() for word in ("--conf", f"{key}={value}")]
    command = [spark.script("spark-submit"), "--class", _CLASS, *confs, "spark-internal"]
    ready = r"Spark Connect server started at: \S+:(\d+)"
    daemon = Daemon("connect", command, spark.variables, folder, ready=ready)
    with contextlib.closing(daemon):
        yield ConnectServer(int(daemon.page), daemon.log)
