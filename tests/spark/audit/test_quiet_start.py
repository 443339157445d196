"""Spark says little when an audit starts it, unless the deployment says what it logs."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from airflow_config_providers.spark.audit.session import quiet_start

OPTION = "-Dlog4j2.configurationFile=file:"


def options(environ: dict[str, str]) -> str | None:
    with quiet_start(environ):
        return environ.get("SPARK_SUBMIT_OPTS")


def test_the_log_configuration_of_the_audit_is_a_file_of_the_package(tmp_path: Path) -> None:
    [option] = shlex.split(options({"SPARK_CONF_DIR": str(tmp_path)}) or "")

    assert option.startswith(OPTION)
    assert Path(option.removeprefix(f"{OPTION}//")).is_file()


def test_options_of_the_deployment_come_after_it_and_win(tmp_path: Path) -> None:
    words = shlex.split(options({"SPARK_CONF_DIR": str(tmp_path), "SPARK_SUBMIT_OPTS": "-Da=b -Dc=d"}) or "")

    assert [word.startswith(OPTION) for word in words] == [True, False, False]
    assert words[1:] == ["-Da=b", "-Dc=d"]


@pytest.mark.parametrize("name", ["log4j2.properties", "log4j2.xml", "log4j2-test.yaml", "log4j2.json"])
def test_a_log_configuration_of_the_deployment_is_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()

    assert options({"SPARK_CONF_DIR": str(tmp_path)}) is None


def test_a_log_configuration_in_the_environment_is_left_alone(tmp_path: Path) -> None:
    environ = {"SPARK_CONF_DIR": str(tmp_path), "LOG4J_CONFIGURATION_FILE": "/etc/log4j2.xml"}

    assert options(environ) is None


@pytest.mark.parametrize("before", [{}, {"SPARK_SUBMIT_OPTS": ""}, {"SPARK_SUBMIT_OPTS": "-Da=b"}])
def test_the_environment_is_restored(tmp_path: Path, before: dict[str, str]) -> None:
    environ = {"SPARK_CONF_DIR": str(tmp_path), **before}

    options(environ)

    assert environ == {"SPARK_CONF_DIR": str(tmp_path), **before}


def test_a_folder_into_which_the_system_does_not_look_has_no_log_configuration() -> None:
    assert OPTION in (options({"SPARK_CONF_DIR": "a" * 5000}) or "")
