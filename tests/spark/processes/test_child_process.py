from __future__ import annotations

import os
import subprocess
import sys
from bisect import bisect_right

import pytest

from airflow_config_providers.spark.processes.child_process import command_without, room, size, withheld, without

MIB = 1024 * 1024


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        pytest.param(2 * MIB, MIB, id="as usual"),
        pytest.param(MIB, MIB // 2, id="small stacks"),
        pytest.param(2**62, MIB, id="unlimited stacks promise too much"),
        pytest.param(-1, 64 * 1024, id="not known"),
    ],
)
def test_half_of_what_a_command_may_be_is_for_the_configuration(limit: int, expected: int) -> None:
    assert room({}, sysconf=lambda name: {"SC_ARG_MAX": limit}[name]) == expected


def test_what_the_environment_takes_is_not_there() -> None:
    taken = len("NAME=é") + 1 + 1 + 8

    assert room({"NAME": "é"}, sysconf=lambda _: 1000) == (1000 - taken) // 2


def test_an_environment_that_takes_everything_leaves_nothing() -> None:
    assert room({"NAME": "x" * 1000}, sysconf=lambda _: 1000) == 0


def test_a_command_of_this_size_can_be_started() -> None:
    def configs_of(length: int) -> dict[str, str]:
        return {f"spark.app.key{n}": "é" * 50 for n in range(length)}

    most = bisect_right(range(10_000), room(os.environ), key=lambda length: size(configs_of(length))) - 1
    configs = configs_of(most)
    assert 0 < most < 9999
    words = [word for key, value in configs.items() for word in ("--conf", f"{key}={value}")]

    assert subprocess.run([sys.executable, "-c", "", *words], check=True).returncode == 0


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
