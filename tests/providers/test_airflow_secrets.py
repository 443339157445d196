"""Who is asked for Airflow's variables and connections, and what is made of the answer."""

from __future__ import annotations

import secrets
from typing import Any

import pytest
from airflow.models.connection import Connection
from airflow.sdk.exceptions import AirflowRuntimeError, AirflowSecretsBackendAccessDenied
from airflow.sdk.execution_time import comms

from airflow_config_providers.exceptions import (
    AccessDeniedError,
    ConfigException,
    ProviderDefinitionError,
    ProviderUnavailableError,
)
from airflow_config_providers.providers import airflow_secrets
from airflow_config_providers.providers.airflow_secrets import mistake, stored_variable
from tests.providers.airflow_process import connection_result, error_response, variable_result

CANARY = f"c4nary-{secrets.token_hex(8)}"


def variable(name: str) -> Any:
    return airflow_secrets.variable(name)


def password(name: str) -> Any:
    connection = airflow_secrets.connection(name)
    return connection and connection.password


def failure(ask: Any, name: str = "x") -> Exception:
    """Return the error of asking for ``name``, after a check that it contains no secret."""
    with pytest.raises((AccessDeniedError, ProviderUnavailableError)) as caught:
        ask(name)
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert CANARY not in repr(caught.value.args)
    return caught.value


def test_a_task_asks_the_execution_api(in_task):
    supervisor = in_task({"x": variable_result("x", "text"), "db": connection_result("db", password="pw")})

    assert (variable("x"), password("db")) == ("text", "pw")
    assert supervisor.asked == ["x", "db"]


def test_a_task_s_connection_has_every_field(in_task):
    fields = {"host": "h", "login": "u", "password": "p", "port": 5432, "schema": "s", "extra": '{"a": 1}'}
    in_task({"db": connection_result("db", **fields)})

    connection = airflow_secrets.connection("db")

    assert connection is not None
    assert {name: getattr(connection, name) for name in fields} == fields
    assert connection.get_uri() == "postgres://u:p@h:5432/s?__extra__=%7B%22a%22%3A+1%7D"


def test_what_the_execution_api_does_not_have_is_missing(in_task):
    in_task({"null": variable_result("null", None)})

    assert (variable("x"), variable("null"), password("x")) == (None, None, None)


def test_an_empty_variable_is_a_value(in_task):
    in_task({"x": variable_result("x", "")})

    assert variable("x") == ""


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(error_response("PERMISSION_DENIED", key="x", status_code=403), id="a response"),
        pytest.param(
            AirflowRuntimeError(error_response("API_SERVER_ERROR", status_code=401, message=CANARY)), id="an error"
        ),
        pytest.param(error_response("API_SERVER_ERROR", status_code=403, detail={"m": CANARY}), id="a server error"),
    ],
)
@pytest.mark.parametrize("ask", [variable, password])
def test_what_the_execution_api_refuses_is_denied(in_task, answer, ask):
    in_task({"x": answer})

    assert isinstance(failure(ask), AccessDeniedError)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        pytest.param(
            AirflowRuntimeError(error_response("API_SERVER_ERROR", status_code=500, message=CANARY)),
            "status 500",
            id="500",
        ),
        pytest.param(
            AirflowRuntimeError(error_response("API_SERVER_ERROR", status_code=None, message=CANARY)),
            "API_SERVER_ERROR",
            id="no connection",
        ),
        pytest.param(error_response("GENERIC_ERROR", message=CANARY), "GENERIC_ERROR", id="generic"),
        pytest.param(EOFError(CANARY), "EOFError", id="dead socket"),
        pytest.param(BrokenPipeError(32, CANARY), "BrokenPipeError", id="broken pipe"),
        pytest.param(object(), "AttributeError", id="an answer to another question"),
    ],
)
@pytest.mark.parametrize("ask", [variable, password])
def test_an_outage_of_the_execution_api_is_not_taken_for_missing(in_task, answer, reason, ask):
    in_task({"x": answer})

    error = failure(ask)

    assert isinstance(error, ProviderUnavailableError)
    assert f"({reason})" in str(error)


lists_names = pytest.mark.skipif(
    not hasattr(comms, "GetVariableKeys"), reason="A task can ask for the names of variables since Airflow 3.3"
)


@lists_names
def test_a_stored_variable_that_the_api_server_cannot_decrypt_is_not_taken_for_missing(in_task):
    in_task(names=["x"])

    assert str(failure(stored_variable)) == (
        "Airflow's Execution API could not return variable 'x' (it cannot be decrypted). "
        "Set fernet_key in [core] to the key with which it was written."
    )


@pytest.mark.parametrize("names", [(), ("x.history",)], ids=["no variable", "a longer name"])
def test_a_stored_variable_that_airflow_does_not_have_is_missing(in_task, names):
    in_task(names=names)

    assert stored_variable("x") is None


def test_a_stored_variable_of_a_team_is_not_taken_for_one_that_cannot_be_decrypted(in_task, monkeypatch):
    """Airflow tells a task without a team the names of the variables of all teams."""
    monkeypatch.setenv("AIRFLOW__CORE__MULTI_TEAM", "True")
    in_task(names=["x"])

    assert stored_variable("x") is None


def test_a_stored_variable_that_can_be_read_costs_one_request(in_task):
    supervisor = in_task({"x": variable_result("x", "text")}, names=["x"])

    assert stored_variable("x") == "text"
    assert supervisor.asked == ["x"]


@lists_names
def test_a_stored_variable_that_is_created_between_two_requests_is_read(in_task):
    answers: dict[str, Any] = {}
    supervisor = in_task(answers, names=["x"])
    send = supervisor.send

    def create(message: Any) -> Any:
        if type(message).__name__ == "GetVariableKeys":
            answers["x"] = variable_result("x", "text")
        return send(message)

    supervisor.send = create

    assert stored_variable("x") == "text"


@lists_names
@pytest.mark.parametrize(
    "answer",
    [error_response("GENERIC_ERROR", message=CANARY), EOFError(CANARY), object()],
    ids=["error", "dead", "odd"],
)
def test_an_outage_while_names_are_asked_for_is_not_taken_for_missing(in_task, answer):
    in_task({"x*": answer})

    assert isinstance(failure(stored_variable), ProviderUnavailableError)


def test_the_environment_of_a_task_comes_first(in_task, monkeypatch):
    supervisor = in_task({"x": variable_result("x", "text")})
    monkeypatch.setenv("AIRFLOW_VAR_X", "environment")
    monkeypatch.setenv("AIRFLOW_CONN_DB", '{"conn_type": "postgres", "password": "environment"}')

    assert (variable("x"), password("db")) == ("environment", "environment")
    assert supervisor.asked == []


@pytest.mark.parametrize("section", ["secrets", "workers"])
def test_the_backend_of_the_deployment_comes_before_all(in_task, configure_backend, section):
    supervisor = in_task({"x": variable_result("x", "text")})
    configure_backend({"x": "backend", "db": "postgres://u:pw@h"}, section=section)

    assert (variable("x"), password("db")) == ("backend", "pw")
    assert supervisor.asked == []


def test_a_task_prefers_the_backend_of_workers(in_task, configure_backend):
    in_task()
    configure_backend({"x": "backend"}, section="secrets", who="servers")
    made = configure_backend({"x": "backend"}, section="workers", who="workers").kwargs

    variable("x")

    assert made[-1] == {"who": "workers"}


def test_what_a_backend_does_not_have_is_asked_of_the_next(in_task, configure_backend):
    in_task({"x": variable_result("x", "text")})
    configure_backend({})

    assert variable("x") == "text"


def test_denied_stops_the_chain(in_task, configure_backend):
    supervisor = in_task({"x": variable_result("x", "text"), "db": connection_result("db", password="pw")})
    denied = AirflowSecretsBackendAccessDenied(CANARY)
    configure_backend({"x": denied, "db": denied})

    errors = [failure(variable), failure(password, "db")]

    assert [type(error) for error in errors] == [AccessDeniedError, AccessDeniedError]
    assert "Secrets backend ScriptedBackend refused to return variable 'x'" in str(errors[0])
    assert supervisor.asked == []


@pytest.mark.parametrize(
    "error",
    [ValueError(CANARY), PermissionError(13, CANARY), TimeoutError(CANARY)],
    ids=lambda error: type(error).__name__,
)
def test_a_backend_that_fails_is_not_passed_over(in_task, configure_backend, error):
    supervisor = in_task({"x": variable_result("x", "text")})
    configure_backend({"x": error, "db": error})

    errors = [failure(variable), failure(password, "db")]

    assert [type(error) for error in errors] == [ProviderUnavailableError, ProviderUnavailableError]
    assert f"Secrets backend ScriptedBackend could not return variable 'x' ({type(error).__name__})" in str(errors[0])
    assert supervisor.asked == []


def test_a_connection_that_makes_no_sense_is_told_without_its_text(in_task, configure_backend):
    in_task()
    configure_backend({"db": f'{{"password": "{CANARY}", '})

    assert isinstance(failure(password, "db"), ProviderUnavailableError)


def test_an_error_of_ours_stays_what_it_is(in_task, configure_backend):
    in_task()
    configure_backend({"x": ConfigException("The provider needs the connection that it serves.")})

    with pytest.raises(ConfigException, match="needs the connection that it serves"):
        variable("x")


def test_a_backend_that_has_no_variables_at_all_is_passed_over(in_task, configure_backend):
    in_task({"x": variable_result("x", "text")})
    configure_backend(backend="ConnectionsOnly")

    assert variable("x") == "text"


def test_a_backend_that_knows_no_teams_is_asked_without_one(in_task, configure_backend):
    in_task()
    configure_backend(backend="OldBackend")

    assert (variable("old"), password("old")) == ("old", "old")


@pytest.mark.parametrize("ask", [variable, password, lambda _: airflow_secrets.check()])
def test_a_backend_that_cannot_be_made_is_not_passed_over(in_task, configure_backend, ask):
    in_task({"x": variable_result("x", "text")})
    configure_backend(backend="Unmakeable", token=CANARY)

    assert isinstance(failure(ask), ProviderUnavailableError)


def test_check_asks_nobody(in_task, configure_backend):
    supervisor = in_task()
    configure_backend({})

    airflow_secrets.check()

    assert supervisor.asked == []


def test_a_server_does_not_ask_the_backend_of_workers(configure_backend, monkeypatch):
    monkeypatch.setenv("_AIRFLOW_PROCESS_CONTEXT", "server")
    configure_backend({"x": "backend"}, section="workers", who="workers")
    made = configure_backend({"x": "backend"}, section="secrets", who="servers").kwargs

    assert variable("x") == "backend"
    assert made == [{"who": "servers"}]


@pytest.mark.parametrize(("place", "who"), [("task", "workers"), ("server", "servers"), ("command line", "servers")])
def test_the_configured_backend_is_that_of_the_process(in_task, configure_backend, monkeypatch, place, who):
    if place == "task":
        in_task()
    if place == "server":
        monkeypatch.setenv("_AIRFLOW_PROCESS_CONTEXT", "server")
    configure_backend(section="workers", who="workers")
    made = configure_backend({"db": "postgres://u:pw@h"}, who="servers").kwargs

    backend = airflow_secrets.configured_backend()

    assert made == [{"who": who}]
    assert airflow_secrets.read_connection(backend, "db").password == "pw"


@pytest.mark.parametrize("extra", ["no JSON", "[1]"])
def test_a_connection_whose_extra_is_no_object_still_has_its_other_fields(extra):
    stored = Connection(conn_id="db", host="h", password=CANARY)
    stored._extra, stored.is_extra_encrypted = extra, False

    class Database:
        def get_connection(self, conn_id):
            return stored

    found = airflow_secrets.read_connection(Database(), "db")
    assert (found.host, found.password) == ("h", CANARY)


def test_without_a_configured_backend_there_is_none():
    assert airflow_secrets.configured_backend() is None


def test_a_backend_is_made_by_name():
    backend = airflow_secrets.make_backend("tests.providers.airflow_process.ScriptedBackend", {"a": 1})

    assert type(backend).__name__ == "ScriptedBackend"


@pytest.mark.parametrize("name", ["Unmakeable", "NoSuch"])
def test_a_backend_that_cannot_be_made_is_told_by_name_alone(name):
    with pytest.raises(ProviderDefinitionError, match=name) as caught:
        airflow_secrets.make_backend(f"tests.providers.airflow_process.{name}", {"token": CANARY})

    assert caught.value.__cause__ is caught.value.__context__ is None
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize(("setting", "expected"), [("True", True), ("False", False)])
def test_a_deployment_says_whether_it_has_teams(monkeypatch, setting, expected):
    monkeypatch.setenv("AIRFLOW__CORE__MULTI_TEAM", setting)

    assert airflow_secrets.has_teams() is expected


@pytest.mark.parametrize("ask", ["in-a-task", "elsewhere"])
def test_a_variable_of_another_shape_is_named_as_the_cause(request, monkeypatch, ask):
    if ask == "in-a-task":
        request.getfixturevalue("in_task")()
    monkeypatch.setenv("AIRFLOW_CONN_X", f'{{"password": "{CANARY}", "extras": {{}}}}')

    with pytest.raises(ProviderDefinitionError) as caught:
        password("x")

    assert "AIRFLOW_CONN_X does not define a connection. 'extras' is not a field, did you mean 'extra'?" in str(
        caught.value
    )
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize("extra", ['"{bad"', "[1]", "5", "true"])
def test_a_variable_with_an_extra_that_is_no_json_is_named_as_the_cause(monkeypatch, extra):
    monkeypatch.setenv("AIRFLOW_CONN_X", f'{{"conn_type": "config_providers", "extra": {extra}}}')

    with pytest.raises(
        ProviderDefinitionError, match=r"AIRFLOW_CONN_X does not define a connection\. Its extra is not a JSON"
    ):
        password("x")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('{"extras": {}}', "'extras' is not a field, did you mean 'extra'?", id="misspelt"),
        pytest.param('{"config.providers": "x"}', "'config.providers' is not a field. Correct its", id="not-in-extra"),
        pytest.param('{"conn_id": "x"}', "Its id is in the name of the variable. Remove conn_id.", id="id"),
        pytest.param(f'{{"port": "{CANARY}"}}', "Its port is not a number.", id="port"),
        pytest.param(f'{{"password": "{CANARY}",}}', "it is invalid at line 1, column", id="malformed"),
        pytest.param(f'{{"conn_type": ["{CANARY}"]}}', "Airflow cannot read its fields.", id="type"),
        pytest.param(
            f'{{"extra": "{{{CANARY}"}}',
            "Its extra is not a JSON object. The string is not valid JSON: it is",
            id="extra",
        ),
        pytest.param(f'{{"extra": "[]", "host": "{CANARY}"}}', "Its extra is not a JSON object.", id="extra-is-a-list"),
        pytest.param(f"a://{CANARY}://b://c", "Airflow cannot read it as a URI.", id="uri"),
    ],
)
def test_a_mistake_is_named_without_the_content(text, expected):
    found = mistake(text)

    assert expected in found
    assert CANARY not in found


def test_every_unknown_field_is_named():
    assert mistake('{"hots": "h", "loging": "l"}').count("is not a field") == 2
