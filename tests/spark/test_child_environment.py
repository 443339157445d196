"""What a child inherits of the environment that a provider reads."""

from __future__ import annotations

import os
import subprocess

import pytest

from airflow_config_providers.spark.child_environment import command_without, lacking, withheld, without


def test_attack_67_a_child_lacks_what_a_provider_may_read() -> None:
    environ = {"SPARK_APP_PASSWORD": "x", "SPARK_APP_OTHER": "y", "MODE": "test"}

    assert without(environ, withheld({"SPARK_APP_PASSWORD", "SPARK_APP_OTHER"})) == {"MODE": "test"}


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "HOME",
        "JAVA_HOME",
        "SPARK_HOME",
        "SPARK_CONF_DIR",
        "HADOOP_CONF_DIR",
        "PYTHONPATH",
        "LC_ALL",
        "no_proxy",
    ],
)
def test_a_broad_pattern_leaves_what_a_child_needs(name: str) -> None:
    assert withheld({name, "SPARK_APP_PASSWORD"}) == {"SPARK_APP_PASSWORD"}


def test_attack_67_a_command_runs_without_what_a_provider_may_read() -> None:
    command = command_without(["/usr/bin/env"], {"SECRET", "ABSENT"})
    ran = subprocess.run(command, env={**os.environ, "SECRET": "x", "MODE": "test"}, capture_output=True, check=True)

    assert b"MODE=test" in ran.stdout.splitlines()
    assert b"SECRET" not in ran.stdout


def test_a_command_that_lacks_nothing_stays_as_it_is() -> None:
    assert command_without(["curl", "x"], ()) == ["curl", "x"]


def test_names_are_back_when_the_child_has_started() -> None:
    environ = {"SECRET": "x", "MODE": "test"}
    with lacking(environ, {"SECRET", "ABSENT"}):
        meanwhile = dict(environ)

    assert meanwhile == {"MODE": "test"}
    assert environ == {"SECRET": "x", "MODE": "test"}


def test_what_was_set_meanwhile_stays() -> None:
    environ = {"SECRET": "x"}
    with lacking(environ, {"SECRET"}):
        environ["SECRET"] = "new"

    assert environ == {"SECRET": "new"}
