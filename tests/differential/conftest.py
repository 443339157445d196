"""
Kafka's own classes, called through py4j, beside ours.

The jar comes from Maven Central with the Ivy that PySpark ships, once; ``KAFKA_CLIENTS_JAR`` names one that is there
already. One JVM serves the whole session.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.limits import LONGEST
from tests.servers.quick_java import QUICK_JAVA

VERSION = "4.1.0"
LAST_WITH_ENCODER = "3.9.1"
"""The last version with ``PasswordEncoder``, which went away with ZooKeeper."""
JAR = "KAFKA_CLIENTS_JAR"
HOW = f"needs Java, pyspark and Maven Central, or {JAR}=<path of kafka-clients-{VERSION}.jar>"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ours = {path for path in {item.path for item in items} if path.is_relative_to(Path(__file__).parent)}
    for item in items:
        if item.path in ours:
            item.add_marker(pytest.mark.differential)
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="module", autouse=True)
def without_errors_of_pyspark(errors_of_py4j_itself: None) -> None:
    """Kafka's JVM knows no class of Spark."""


@pytest.fixture(scope="session")
def kafka(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    java, jars = shutil.which("java"), _pyspark_jars()
    if java is None or jars is None:
        pytest.skip(HOW)
    cache = request.config.cache.mkdir("kafka-clients") if request.config.cache else tmp_path_factory.mktemp("jars")
    jar = Path(os.environ[JAR]) if JAR in os.environ else _kafka_jar(java, jars, cache)
    with _gateway(java, [jar, _only(jars, "slf4j-api-*.jar")], _only(jars, "py4j-*.jar")) as gateway:
        yield Kafka(gateway)


@pytest.fixture(scope="session")
def kafka_security(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return ``org.apache.kafka.security`` and the class of passwords, from the last version that has them."""
    java, jars = shutil.which("java"), _pyspark_jars()
    if java is None or jars is None:
        pytest.skip(HOW)
    cache = request.config.cache.mkdir("kafka-clients") if request.config.cache else tmp_path_factory.mktemp("jars")
    artifacts = ("kafka-clients", "kafka-server-common")
    classpath = [_kafka_jar(java, jars, cache, artifact=each, version=LAST_WITH_ENCODER) for each in artifacts]
    classpath += [_only(jars, "slf4j-api-*.jar"), _only(jars, "scala-library-*.jar")]
    with _gateway(java, classpath, _only(jars, "py4j-*.jar")) as gateway:
        kafka = gateway.jvm.org.apache.kafka
        yield kafka.security, kafka.common.config.types.Password


class Kafka:
    """The classes of ``org.apache.kafka.common.config`` and what it takes to compare them with ours."""

    def __init__(self, gateway: Any) -> None:
        self.gateway = gateway
        self.java = gateway.jvm.java
        self.config = gateway.jvm.org.apache.kafka.common.config
        self.definition = self.config.ConfigDef

    def type(self, name: str) -> Any:
        return getattr(self.definition.Type, name)

    def texts(self, *texts: str) -> Any:
        """Return a Java array for varargs."""
        array = self.gateway.new_array(self.java.lang.String, len(texts))
        for index, text in enumerate(texts):
            array[index] = text
        return array

    def map(self, mapping: Mapping[str, Any]) -> Any:
        java_map = self.java.util.LinkedHashMap()
        for key, value in mapping.items():
            java_map.put(key, value)
        return java_map

    def run(self, call: Callable[[], Any]) -> tuple[Any, str | None]:
        """Return the result of ``call`` in Python's types, or the class and message of the Java exception."""
        from py4j.protocol import Py4JJavaError

        try:
            return self.python(call()), None
        except Py4JJavaError as error:
            return None, error.java_exception.toString()

    def python(self, value: Any) -> Any:
        from py4j.java_collections import JavaList, JavaMap, JavaSet
        from py4j.java_gateway import JavaObject

        if isinstance(value, JavaMap):
            return {entry.getKey(): self.python(entry.getValue()) for entry in value.entrySet()}
        if isinstance(value, JavaSet):
            return {self.python(item) for item in value}
        if isinstance(value, JavaList):
            return [self.python(item) for item in value]
        if isinstance(value, JavaObject):
            return {"password": value.value()} if value.getClass().getSimpleName() == "Password" else value.toString()
        return value


def _pyspark_jars() -> Path | None:
    spec = find_spec("pyspark")
    jars = Path(spec.origin).parent / "jars" if spec and spec.origin else None
    return jars if jars and jars.is_dir() else None


def _only(folder: Path, pattern: str) -> Path:
    return next(folder.glob(pattern))


def _kafka_jar(java: str, jars: Path, cache: Path, *, artifact: str = "kafka-clients", version: str = VERSION) -> Path:
    jar = cache / f"{artifact}-{version}.jar"
    if not jar.exists():
        _retrieve([java, "-jar", str(_only(jars, "ivy-*.jar"))], cache, artifact=artifact, version=version)
    if not jar.exists():
        pytest.skip(HOW)
    return jar


def _retrieve(ivy: Sequence[str], cache: Path, *, artifact: str, version: str) -> None:
    wanted = ["-dependency", "org.apache.kafka", artifact, version, "-confs", "default", "-notransitive"]
    pattern = f"{cache}/[artifact]-[revision].[ext]"
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run([*ivy, *wanted, "-retrieve", pattern], capture_output=True, check=False, timeout=LONGEST)


@contextlib.contextmanager
def _gateway(java: str, classpath: Sequence[Path], py4j_jar: Path) -> Iterator[Any]:
    from py4j.java_gateway import CallbackServerParameters, GatewayParameters, JavaGateway, launch_gateway

    port, token, process = launch_gateway(
        jarpath=str(py4j_jar),
        classpath=os.pathsep.join(map(str, classpath)),
        java_path=java,
        javaopts=QUICK_JAVA.split(),
        die_on_exit=True,
        enable_auth=True,
        return_proc=True,
    )
    gateway = JavaGateway(
        gateway_parameters=GatewayParameters(port=port, auth_token=token, auto_convert=True),
        callback_server_parameters=CallbackServerParameters(port=0, daemonize=True, daemonize_connections=True),
    )
    callbacks = gateway.java_gateway_server
    callbacks.resetCallbackClient(
        callbacks.getCallbackClient().getAddress(), gateway.get_callback_server().get_listening_port()
    )
    try:
        yield gateway
    finally:
        gateway.shutdown()
        process.stdin.close()
        process.wait(LONGEST)  # a thread of Py4J's reads what it writes, and closes that
