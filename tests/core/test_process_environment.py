"""The user of a process, and variables that a child does not inherit, while this process keeps them."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest

from airflow_config_providers.core.process_environment import all_variables, lacking, user, value_of
from tests.core.forks import in_child
from tests.limits import LONGEST


def test_the_user_is_that_of_the_process_whatever_variables_say(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME", "SUDO_USER"):
        monkeypatch.setenv(name, "mallory")

    assert user() == pwd.getpwuid(os.geteuid()).pw_name


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become a user without a name")
def test_a_user_without_a_name_is_a_number() -> None:
    code = (
        "import os; from airflow_config_providers.core.process_environment import user; "
        "os.seteuid(4_000_001); print(user())"
    )

    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "4000001"


def test_names_are_back_when_the_child_has_started() -> None:
    environ = {"SECRET": "x", "MODE": "test"}
    with lacking(environ, {"SECRET", "ABSENT"}):
        meanwhile = dict(environ)

    assert meanwhile == {"MODE": "test"}
    assert environ == {"SECRET": "x", "MODE": "test"}


def test_the_value_of_a_hidden_variable_is_known_meanwhile() -> None:
    environ = {"SECRET": "x", "MODE": "test"}
    with lacking(environ, {"SECRET"}):
        meanwhile = [value_of(environ, name) for name in ("SECRET", "MODE", "ABSENT")]

    assert meanwhile == ["x", "test", None]


def test_what_was_set_meanwhile_stays() -> None:
    environ = {"SECRET": "x"}
    with lacking(environ, {"SECRET"}):
        environ["SECRET"] = "new"

    assert environ == {"SECRET": "new"}


def test_a_name_is_back_when_the_last_of_overlapping_blocks_ends() -> None:
    environ = {"SECRET": "x"}
    with lacking(environ, {"SECRET"}):
        second = ExitStack()
        second.enter_context(lacking(environ, {"SECRET"}))
    while_second = dict(environ)
    second.close()

    assert while_second == {}
    assert environ == {"SECRET": "x"}


def test_a_name_that_is_set_between_two_blocks_is_hidden_too_and_the_new_value_stays() -> None:
    environ = {"SECRET": "x"}
    with lacking(environ, {"SECRET"}):
        environ["SECRET"] = "new"
        with lacking(environ, {"SECRET"}):
            inside = dict(environ)

    assert inside == {}
    assert environ == {"SECRET": "new"}


def test_what_is_hidden_from_a_child_is_among_all_variables() -> None:
    environ = {"SECRET": "x", "MODE": "test"}
    with lacking(environ, {"SECRET"}):
        assert all_variables(environ) == {"SECRET": "x", "MODE": "test"}
        assert all_variables({"MODE": "of another"}) == {"MODE": "of another"}


class Interrupted(dict[str, str]):
    """An environment in which Ctrl-C comes when a variable has just been removed."""

    def pop(self, name: str, *default: Any) -> Any:
        """Remove a variable, and be interrupted."""
        super().pop(name, *default)
        raise KeyboardInterrupt


def test_a_block_that_is_interrupted_as_it_begins_loses_no_variable() -> None:
    environ = Interrupted(SECRET="x", TOKEN="y")
    with pytest.raises(KeyboardInterrupt), lacking(environ, ["SECRET", "TOKEN"]):
        pass

    assert environ == all_variables(environ) == {"SECRET": "x", "TOKEN": "y"}


class Changing(Mapping[str, str]):
    """An environment from which another thread has just removed a variable."""

    def __getitem__(self, name: str) -> str:
        return {"MODE": "test"}[name]

    def __iter__(self) -> Iterator[str]:
        return iter(["SECRET", "MODE"])

    def __len__(self) -> int:
        return 2


def test_a_variable_that_is_removed_meanwhile_is_left_out() -> None:
    assert all_variables(Changing()) == {"MODE": "test"}


FORKS_ARE_MEANT = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
"""Python warns of ``os.fork`` amid threads from 3.12 on."""


@FORKS_ARE_MEANT
def test_a_forked_child_has_what_another_thread_hid_at_the_fork() -> None:
    environ, is_hidden, has_forked = {"SECRET": "x"}, threading.Event(), threading.Event()

    def hide() -> None:
        with lacking(environ, {"SECRET"}):
            is_hidden.set()
            has_forked.wait(LONGEST)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(hide)
        is_hidden.wait(LONGEST)
        found = in_child(lambda: environ)
        has_forked.set()

    assert found == "{'SECRET': 'x'}"
    assert environ == {"SECRET": "x"}


@FORKS_ARE_MEANT
def test_a_forked_child_lacks_what_its_own_block_hides_until_it_ends() -> None:
    environ, block = {"SECRET": "x"}, ExitStack()

    def in_block_and_after() -> tuple[str, str]:
        inside = str(environ)
        block.close()
        return inside, str(environ)

    with block:
        block.enter_context(lacking(environ, {"SECRET"}))
        found = in_child(in_block_and_after)

    assert found == str(("{}", "{'SECRET': 'x'}"))
