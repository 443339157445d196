"""Every value is told to Airflow's maskers, whatever it is called and wherever it stands."""

from __future__ import annotations

from secrets import token_hex
from types import SimpleNamespace

import pytest
from airflow._shared.secrets_masker import redact as redact_in_server
from airflow.sdk import Variable
from airflow.sdk._shared.secrets_masker import redact as redact_in_task
from airflow.sdk.execution_time import task_runner


@pytest.fixture
def canary():
    return f"c4nary@{token_hex(6)}"


@pytest.fixture
def secret(shelf, canary):
    shelf.book.data = {"db": {"host": canary, "short": "abc"}}
    return shelf


@pytest.mark.parametrize("redact", [redact_in_server, redact_in_task], ids=["server", "task"])
@pytest.mark.parametrize("shown", ["at {} now", "x://u:{}@h"], ids=["text", "uri"])
def test_a_value_in_an_innocent_place_is_masked(secret, canary, redact, shown):
    secret.backend({"db": "mysql://${book:db:host}/s"}, {"plain": "${book:db:host}"}).get_connection("db")
    text = shown.format(canary.replace("@", "%40") if "u:" in shown else canary)

    assert redact(text) == shown.format("***")


@pytest.mark.parametrize("redact", [redact_in_server, redact_in_task], ids=["server", "task"])
def test_the_value_of_a_variable_with_an_innocent_name_is_masked(secret, canary, redact):
    secret.backend(variables={"plain": "at ${book:db:host} now"}).get_variable("plain")

    assert redact(f"it is {canary}") == "it is ***"


def test_what_is_around_a_value_is_not_masked(secret):
    secret.backend({"db": "mysql://reader:${book:db:host}@warehouse-7/s"}).get_connection("db")

    assert redact_in_task("reader at warehouse-7 by ${book:db:host}") == "reader at warehouse-7 by ${book:db:host}"


def test_a_short_value_stars_nothing_and_warns_of_nothing(secret, caplog):
    secret.backend(variables={"v": "${book:db:short}"}).get_variable("v")

    assert redact_in_task("abcdef abc") == "abcdef abc"
    assert caplog.records == []


def test_in_a_task_the_supervisor_is_told(secret, canary, configure, monkeypatch):
    """The supervisor masks what the task writes."""
    told = []

    class Supervisor:
        def send(self, message):
            told.append(message)

    monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", Supervisor(), raising=False)
    configure(secret.settings(variables={"plain": "at ${book:db:host}"}))

    assert Variable.get("plain") == f"at {canary}"
    assert canary in {secret for secrets in lists_of_secrets(told) for secret in secrets}


def lists_of_secrets(told):
    """Return the secrets of each message with several of them: Airflow itself sends whole variables, one by one."""
    return [m.value for m in told if type(m).__name__ == "MaskSecret" and isinstance(m.value, list)]


@pytest.mark.parametrize("redact", [redact_in_server, redact_in_task], ids=["server", "task"])
def test_each_of_many_values_is_masked(shelf, redact):
    values = {f"k{number}": token_hex(8) for number in range(60)}
    shelf.book.data = {"db": values}
    shelf.backend(variables={"all": "".join(f"${{book:db:{key}}}\n" for key in values)}).get_variable("all")

    assert {redact(value) for value in values.values()} == {"***"}


def test_all_values_of_an_answer_are_registered_at_once(secret, canary, configure, monkeypatch):
    """The masker compiles all that it knows for each registration."""
    told = []
    monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", SimpleNamespace(send=told.append), raising=False)
    secret.book.data["db"]["user"] = user = f"us3r@{token_hex(6)}"
    configure(secret.settings(variables={"plain": "${book:db:user} at ${book:db:host}"}))
    Variable.get("plain")
    (secrets,) = lists_of_secrets(told)

    assert {user, canary} <= {*secrets}


def test_a_value_with_half_of_a_surrogate_pair_is_masked(shelf):
    value = f"half \ud800 {token_hex(6)}"
    shelf.book.data = {"db": {"host": value}}

    assert shelf.backend(variables={"v": "${book:db:host}"}).get_variable("v") == value
    assert redact_in_task(f"it is {value}") == "it is ***"
