"""The private names of PySpark that a driver leans on."""

from __future__ import annotations

import inspect
import sys

import pytest

pytest.importorskip("pyspark")

from pyspark import SparkContext, java_gateway
from pyspark.find_spark_home import _find_spark_home
from pyspark.sql import SparkSession


def test_a_builder_keeps_its_options_in_a_dict() -> None:
    assert SparkSession.builder.config("spark.a", "b")._options == {"spark.a": "b"}
    assert "spark.a" not in SparkSession.builder._options


def test_a_context_says_whether_there_is_one_and_a_jvm() -> None:
    assert {"_active_spark_context", "_gateway", "_ensure_initialized"} <= vars(SparkContext).keys()


def test_the_jvm_gets_its_arguments_by_the_environment() -> None:
    source = inspect.getsource(java_gateway.launch_gateway)

    assert 'os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell")' in source
    assert '"PYSPARK_GATEWAY_PORT" in os.environ' in source


def test_a_context_launches_its_jvm_by_a_name_of_its_module() -> None:
    assert "launch_gateway" in vars(sys.modules[SparkContext.__module__])
    assert "launch_gateway(conf)" in inspect.getsource(SparkContext._ensure_initialized)


def test_the_environment_of_the_jvm_is_added_to_the_given_arguments() -> None:
    source = inspect.getsource(java_gateway.launch_gateway)

    assert "popen_kwargs = {} if popen_kwargs is None else popen_kwargs" in source
    assert 'popen_kwargs["env"] = env' in source
    assert "Popen(command, **popen_kwargs)" in source


def test_a_session_of_spark_connect_makes_its_configuration_by_a_name_of_its_module() -> None:
    session = pytest.importorskip("pyspark.sql.connect.session")

    assert "return RuntimeConf(self.client)" in inspect.getsource(session.SparkSession.conf.fget)
    assert "session.conf." in inspect.getsource(session.SparkSession.Builder._apply_options)
    assert "self._client = client" in inspect.getsource(session.RuntimeConf.__init__)


def test_spark_is_found() -> None:
    assert _find_spark_home()
