"""
Somebody on the same machine, who knows no secret of Spark's, and asks a driver for the configuration of its job.

``python -m tests.servers.stranger APPLICATION PORT...`` prints a line of JSON: port -> whether it lets him ask.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark import SparkConf
from pyspark.java_gateway import launch_gateway

LONGEST_ANSWER = 10_000
"""In milliseconds; a port that speaks another language says nothing."""


def main(application: str, *ports: str) -> None:
    gateway: Any = launch_gateway(SparkConf(loadDefaults=False).set("spark.master", "local"))  # type: ignore[no-untyped-call]  # PySpark has no types there
    try:
        print(json.dumps({port: lets_ask(gateway, application, int(port)) for port in ports}))
    finally:
        gateway.shutdown()


def lets_ask(gateway: Any, application: str, port: int) -> bool:
    """Return whether a port opens the first block that a driver broadcasts; those of queries have its configuration."""
    java, network = gateway.jvm, gateway.jvm.org.apache.spark.network
    settings = network.util.TransportConf("shuffle", network.util.MapConfigProvider(java.java.util.HashMap()))
    clients = network.TransportContext(settings, network.server.NoOpRpcHandler()).createClientFactory()
    blocks = gateway.new_array(java.java.lang.String, 1)
    blocks[0] = "broadcast_0_piece0"
    wish = network.shuffle.protocol.OpenBlocks(application, "driver", blocks).toByteBuffer()
    try:
        clients.createClient("127.0.0.1", port).sendRpcSync(wish, LONGEST_ANSWER)
    except Py4JJavaError:
        return False
    finally:
        clients.close()
    return True


if __name__ == "__main__":
    main(*sys.argv[1:])
