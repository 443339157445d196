from __future__ import annotations

import threading

import pytest

from airflow_config_providers.exceptions import (
    AccessDeniedError,
    ConfigException,
    ProviderDefinitionError,
    ProviderUnavailableError,
)
from airflow_config_providers.providers import AirflowVariableConfigProvider
from tests.limits import LONGEST
from tests.providers.airflow_process import variable_result

VARIABLES = {
    "whole": "hunter2",
    "empty": "",
    "number": "0123",
    "document": '{"credentials": {"password": "nested"}, "port": 5432, "ratio": 1.10, "none": null, "empty": ""}',
    "list": "[1]",
    "broken": '{"password": "hunter2"',
}


class Reader:
    """Reads from VARIABLES, and notes what."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def __call__(self, name: str) -> str | None:
        self.names.append(name)
        return VARIABLES.get(name)


def configured(pattern: str | None = None, read: Reader | None = None) -> AirflowVariableConfigProvider:
    provider = AirflowVariableConfigProvider(read or Reader(), has_teams=lambda: False)
    provider.configure({} if pattern is None else {"allowlist.pattern": pattern})
    return provider


@pytest.mark.parametrize(
    ("path", "keys", "expected"),
    [
        pytest.param("", {"whole", "number"}, {"whole": "hunter2", "number": "0123"}, id="variables"),
        pytest.param("", {"document"}, {"document": VARIABLES["document"]}, id="a document as it is written"),
        pytest.param("", {"empty", "absent"}, {"empty": ""}, id="empty is a value and absent is missing"),
        pytest.param("", set(), {}, id="none"),
        pytest.param("document", {"credentials.password"}, {"credentials.password": "nested"}, id="nested"),
        pytest.param("document", {"ratio", "none", "no"}, {"ratio": "1.10"}, id="null is missing"),
        pytest.param("document", set(), {}, id="none in a document"),
        pytest.param("absent", {"password"}, {}, id="in a document that is absent"),
        pytest.param(
            "document",
            None,
            {"credentials": '{"password":"nested"}', "port": "5432", "ratio": "1.10", "empty": ""},
            id="all in a document",
        ),
    ],
)
def test_values_are_given(path: str, keys: set[str] | None, expected: dict[str, str]) -> None:
    assert configured().get(path, keys).data == expected


def test_one_variable_is_read_once_for_all_its_keys() -> None:
    read = Reader()
    configured(read=read).get("document", {"port", "ratio", "credentials.password"})
    assert read.names == ["document"]


def test_several_variables_are_read_side_by_side() -> None:
    together = threading.Barrier(5, timeout=LONGEST)
    names = {f"k{n}" for n in range(6)}
    provider = AirflowVariableConfigProvider(
        lambda name: name if name == "k0" else f"{name} {together.wait() * 0}", has_teams=lambda: False
    )
    provider.configure({})

    assert provider.get("", names).data == {"k0": "k0", **{f"k{n}": f"k{n} 0" for n in range(1, 6)}}


def test_where_airflow_does_not_answer_for_one_variable_no_other_is_asked_for() -> None:
    """A backend that cannot sign in would be asked for all of them at the same time."""
    asked: list[str] = []

    def refuse(name: str) -> None:
        asked.append(name)
        raise AccessDeniedError("no")

    provider = AirflowVariableConfigProvider(refuse, has_teams=lambda: False)
    provider.configure({})
    with pytest.raises(AccessDeniedError):
        provider.get("", {"a", "b", "c", "d"})
    assert asked == ["a"]


def test_no_more_variables_are_read_at_once_than_max_workers_allows() -> None:
    threads: list[threading.Thread] = []
    provider = AirflowVariableConfigProvider(
        lambda name: threads.append(threading.current_thread()), has_teams=lambda: False, max_workers=lambda: 1
    )
    provider.configure({})
    provider.get("", {"a", "b", "c"})

    assert threads == [threading.current_thread()] * 3


@pytest.mark.parametrize("name", ["list", "broken", "whole", "empty"])
def test_a_key_in_what_is_no_object_is_an_error_without_the_text(name: str) -> None:
    with pytest.raises(ConfigException, match=f"variable '{name}' is not a JSON object") as caught:
        configured().get(name, {"password"})
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(("path", "keys"), [("", {"whole", "secret"}), ("secret", {"x"}), ("secret", None)])
def test_a_name_that_is_not_allowed_is_denied_and_nothing_is_asked_for(path: str, keys: set[str] | None) -> None:
    read = Reader()
    with pytest.raises(AccessDeniedError, match="variable 'secret' is not allowed by"):
        configured("whole|document", read).get(path, keys)
    assert read.names == []


def test_variables_cannot_be_listed() -> None:
    with pytest.raises(ConfigException, match="cannot be listed"):
        configured().get("")


def test_nothing_is_read_before_configure() -> None:
    with pytest.raises(ProviderDefinitionError, match="not been configured"):
        AirflowVariableConfigProvider().get("", {"x"})


def test_a_task_reads_through_the_task_sdk(in_task) -> None:
    in_task({"x": variable_result("x", "text")})
    provider = AirflowVariableConfigProvider()
    provider.configure({"allowlist.pattern": "x"})
    assert provider.get("", {"x"}).data == {"x": "text"}


def test_check_reads_nothing(in_task, configure_backend) -> None:
    supervisor = in_task()
    configure_backend({"x": "text"})
    AirflowVariableConfigProvider().check()
    assert supervisor.asked == []


def test_check_tells_that_a_backend_cannot_be_made(in_task, configure_backend) -> None:
    in_task()
    configure_backend(backend="Unmakeable")
    with pytest.raises(ProviderUnavailableError):
        AirflowVariableConfigProvider().check()
