"""What PySpark asks the JVM of an audit only once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("py4j")

from py4j import protocol
from py4j.java_gateway import JVMView

from airflow_config_providers.spark.audit.known_names import remember_names


class Client:
    """Answers Py4J as a JVM does whose classes have any member but ``lacking``; ``packages`` are no classes there."""

    def __init__(self, *packages: str, lacking: str = "") -> None:
        self._packages = packages
        self._lacking = lacking
        self.converters = None
        self.gateway_property = SimpleNamespace(pool=None)
        self.asked: list[str] = []

    def send_command(self, command: str) -> str:
        _, kind, name, member, *_ = command.split("\n")
        self.asked.append(name)
        if f"{kind}\n" != protocol.REFL_GET_UNKNOWN_SUB_COMMAND_NAME:
            return protocol.ERROR if member == self._lacking else protocol.SUCCESS + protocol.METHOD_TYPE
        return protocol.SUCCESS_PACKAGE if name in self._packages else protocol.SUCCESS_CLASS + name


def remembering(client: Client) -> Any:
    jvm = JVMView(client, "default", id="0")
    remember_names(jvm)
    client.asked.clear()
    return jvm


def test_what_each_column_needs_is_not_asked_for_again() -> None:
    jvm = remembering(client := Client())

    found = (jvm.PythonUtils.toSeq, jvm.functions.col, getattr(jvm, "org.apache.spark.sql.functions").when)

    assert [member.name for member in found] == ["toSeq", "col", "when"]
    assert client.asked == []


def test_other_members_of_a_class_are_asked_for() -> None:
    jvm = remembering(client := Client())

    assert jvm.functions.broadcast.name == "broadcast"
    assert client.asked == ["functions"]


def test_a_class_that_another_version_of_spark_lacks_is_left_alone() -> None:
    session = "org.apache.spark.sql.classic.SparkSession"
    jvm = remembering(client := Client(session))

    getattr(jvm, session)

    assert client.asked == [session]


def test_a_class_that_lacks_a_member_in_another_version_of_spark_is_left_alone() -> None:
    jvm = remembering(client := Client(lacking="lit"))

    assert (jvm.PythonUtils.toSeq.name, jvm.functions.col.name) == ("toSeq", "col")
    assert client.asked == ["functions", "functions"]
