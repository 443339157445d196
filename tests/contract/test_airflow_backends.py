"""What Airflow does with a secrets backend, and names of it that are nowhere promised. A change must break here."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import os
from functools import reduce
from typing import Any

import pytest

from airflow_config_providers.airflow_compat import AirflowSecretsBackendAccessDenied
from airflow_config_providers.secrets.refusal import SecretDeniedError, SecretUnavailableError, refusal
from tests.contract.http_client import HTTP
from tests.secrets.conftest import run_python  # noqa: F401 - a fixture


def named(path: str) -> Any:
    module, _, name = path.rpartition(":")
    return reduce(getattr, name.split("."), importlib.import_module(module))


# --- the chains -------------------------------------------------------------------------------------

CHAINS = {
    "task-connection": "airflow.sdk.execution_time.context:_get_connection",
    "task-connection-async": "airflow.sdk.execution_time.context:_async_get_connection",
    "task-variable": "airflow.sdk.execution_time.context:_get_variable",
    "server-connection": "airflow.models.connection:Connection.get_connection_from_secrets",
    "server-variable": "airflow.models.variable:Variable.get_variable_from_secrets",
}


@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS)
def test_a_chain_ends_at_one_exception_alone_and_goes_on_at_any_other(chain):
    text = " ".join(inspect.getsource(named(chain)).split())

    assert "except AirflowSecretsBackendAccessDenied: # Authoritative deny" in text
    assert text.index("except AirflowSecretsBackendAccessDenied") < text.rindex("except Exception:")


def test_the_exception_that_ends_a_chain_is_one_and_the_same():
    modules = ("airflow.sdk.exceptions", "airflow.models.connection", "airflow.models.variable")

    for module in modules:
        kind = importlib.import_module(module).AirflowSecretsBackendAccessDenied
        assert kind is AirflowSecretsBackendAccessDenied
    assert issubclass(AirflowSecretsBackendAccessDenied, PermissionError)


@pytest.mark.parametrize("name", ["connection:Connection.get_connection_from_secrets", "variable:Variable.get"])
def test_servers_tell_the_backend_for_which_team_they_ask(name):
    assert "team_name" in inspect.signature(named(f"airflow.models.{name}")).parameters


def test_a_name_without_a_team_is_asked_for_with_none():
    from airflow.secrets import BaseSecretsBackend

    for method in ("get_connection", "get_conn_value", "get_variable"):
        parameter = inspect.signature(getattr(BaseSecretsBackend, method)).parameters["team_name"]
        assert parameter.default is None


# --- the API server ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [SecretDeniedError, SecretUnavailableError])
def test_the_api_server_answers_a_refusal_with_403(kind):
    fastapi = pytest.importorskip("fastapi")
    from fastapi.testclient import TestClient

    app = fastapi.FastAPI()

    @app.get("/")
    def ask():
        raise refusal(kind, "connection db is denied.")

    answer = TestClient(app, raise_server_exceptions=False).get("/")

    assert answer.status_code == 403
    assert answer.json() == {"detail": {"reason": "access_denied", "message": "connection db is denied."}}


def test_the_api_server_has_no_handler_that_comes_before_that_of_fastapi():
    from airflow.api_fastapi.common.exceptions import ERROR_HANDLERS
    from starlette.exceptions import HTTPException

    made = type(refusal(SecretDeniedError, "x"))

    assert issubclass(made, HTTPException)
    assert not [handler for handler in ERROR_HANDLERS if issubclass(made, handler.exception_cls)]


def test_a_task_does_not_ask_the_api_server_again_after_a_403_and_does_after_a_500():
    from airflow.sdk.api.client import _should_retry_api_request

    def error(status):
        request = HTTP.Request("GET", "http://127.0.0.1/")
        return HTTP.HTTPStatusError("x", request=request, response=HTTP.Response(status, request=request))

    assert not _should_retry_api_request(error(403))
    assert _should_retry_api_request(error(500))


def test_the_supervisor_tells_a_task_that_403_is_a_refusal():
    """Of anything else the task would make that there is no such secret."""
    from airflow.sdk.api.client import ConnectionOperations, VariableOperations
    from airflow.sdk.exceptions import ErrorType
    from airflow.sdk.execution_time.comms import ErrorResponse
    from airflow.sdk.execution_time.secrets.execution_api import ExecutionAPISecretsBackend

    refused = ErrorResponse(error=ErrorType.PERMISSION_DENIED)

    with pytest.raises(AirflowSecretsBackendAccessDenied):
        ExecutionAPISecretsBackend()._raise_if_authz_denied(refused, resource="connection", key="db")
    for operations in (ConnectionOperations, VariableOperations):
        assert "status_code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)" in inspect.getsource(operations.get)


# --- how a backend is made --------------------------------------------------------------------------

MAKE = """
import airflow.configuration, airflow.sdk.configuration
for module, worker in ((airflow.configuration, False), (airflow.sdk.configuration, True)):
    backend = module.get_custom_secret_backend(worker_mode=worker)
    print(type(backend).__name__, *(str(files.paths) for files in backend._files.values()))
"""
BACKEND = "airflow_config_providers.secrets.config_providers.ConfigProvidersBackend"


def test_servers_and_workers_make_it_from_their_own_settings(run_python):  # noqa: F811 - the fixture
    told = run_python(
        MAKE,
        AIRFLOW__SECRETS__BACKEND=BACKEND,
        AIRFLOW__SECRETS__BACKEND_KWARGS=json.dumps({"connections_file_path": "/a.yaml"}),
        AIRFLOW__WORKERS__SECRETS_BACKEND=BACKEND,
        AIRFLOW__WORKERS__SECRETS_BACKEND_KWARGS=json.dumps({"variables_file_path": "/b.yaml"}),
    )

    assert told.splitlines() == [
        "ConfigProvidersBackend ('/a.yaml',) () ()",
        "ConfigProvidersBackend () ('/b.yaml',) ()",
    ]


def test_without_settings_of_their_own_workers_take_those_of_servers(run_python):  # noqa: F811 - the fixture
    told = run_python(
        MAKE, AIRFLOW__SECRETS__BACKEND=BACKEND, AIRFLOW__SECRETS__BACKEND_KWARGS='{"variables_file_path": "/a.yaml"}'
    )

    assert told.splitlines() == ["ConfigProvidersBackend () ('/a.yaml',) ()"] * 2


def test_kwargs_that_are_no_json_object_are_left_out(run_python):  # noqa: F811 - the fixture
    """Why a backend without files refuses to answer."""
    told = run_python(MAKE, AIRFLOW__SECRETS__BACKEND=BACKEND, AIRFLOW__SECRETS__BACKEND_KWARGS="{broken")

    assert [line for line in told.splitlines() if "Failed to parse" not in line] == [
        "ConfigProvidersBackend () () ()"
    ] * 2


# --- files ------------------------------------------------------------------------------------------


def test_the_readers_of_files_give_texts_by_name(tmp_path):
    from airflow.secrets.local_filesystem import load_configs_dict, load_variables

    for name, text in (
        ("a.env", "a=b=c\n# no\n"),
        ("a.json", '{"a": "b=c"}'),
        ("a.yaml", "a: b=c"),
        ("a.yml", "a: b=c"),
    ):
        (tmp_path / name).write_text(text)
        assert load_variables(str(tmp_path / name)) == load_configs_dict(str(tmp_path / name)) == {"a": "b=c"}


@pytest.mark.parametrize(
    ("name", "text", "line", "message"),
    [
        ("a.yaml", "a: 1\nb: c: d", 2 - 1, None),
        ("a.json", '{\n"a" 1}', 2, None),
        ("a.env", "a=1\nb\n", 2, None),
        ("a.json", "", 1, "The file is empty."),
        ("a.yaml", "- a", 1, "The file should contain the object."),
    ],
    ids=["yaml-counts-from-zero", "json", "env", "empty", "list"],
)
def test_a_file_that_is_wrong_has_the_lines_of_its_mistakes(tmp_path, name, text, line, message):
    from airflow.exceptions import AirflowFileParseException
    from airflow.secrets.local_filesystem import load_variables

    (tmp_path / name).write_text(text)

    with pytest.raises(AirflowFileParseException) as caught:
        load_variables(str(tmp_path / name))
    [mistake] = caught.value.parse_errors
    assert mistake.line_no == line
    assert message in (None, mistake.message)


def test_what_is_said_of_a_file_of_an_unknown_kind_or_a_name_given_twice_holds_no_value(tmp_path):
    from airflow.exceptions import AirflowUnsupportedFileTypeException, VariableNotUnique
    from airflow.secrets.local_filesystem import load_variables

    for name, kind in (("a.toml", AirflowUnsupportedFileTypeException), ("a.env", VariableNotUnique)):
        (tmp_path / name).write_text("a=c4nary\na=c4nary\n")
        with pytest.raises(kind) as caught:
            load_variables(str(tmp_path / name))
        assert "c4nary" not in str(caught.value)


def test_connections_have_the_fields_that_a_definition_may_have():
    from airflow.secrets.local_filesystem import get_connection_parameter_names

    from airflow_config_providers.secrets.entry_shapes import _KNOWN

    assert get_connection_parameter_names() - _KNOWN == set()


def test_a_connection_is_made_of_a_uri_as_a_server_makes_it():
    from airflow.sdk import Connection

    made = Connection.from_uri("mysql://u:p@h:1/s?__extra__=%7B%7D", conn_id="db")

    assert (made.conn_type, made.login, made.password, made.host, made.port, made.schema) == (
        "mysql",
        "u",
        "p",
        "h",
        1,
        "s",
    )
    assert Connection.EXTRA_KEY == "__extra__"


# --- masking ----------------------------------------------------------------------------------------


def test_servers_and_tasks_have_a_masker_each():
    from airflow._shared import secrets_masker as of_servers
    from airflow.sdk._shared import secrets_masker as of_tasks

    assert of_servers is not of_tasks
    of_servers.mask_secret("only-in-servers")
    assert of_servers.redact("only-in-servers") == "***"
    assert of_tasks.redact("only-in-servers") == "only-in-servers"


def test_the_shortest_text_that_is_starred_is_the_shortest_that_is_told():
    from airflow.sdk._shared.secrets_masker import mask_secret, redact

    from airflow_config_providers.core.reversal.reverse import SHORTEST

    mask_secret("w" * (SHORTEST - 1))
    mask_secret("z" * SHORTEST)
    assert redact("w" * (SHORTEST - 1)) == "w" * (SHORTEST - 1)
    assert redact("z" * SHORTEST) == "***"


# --- the triggerer ----------------------------------------------------------------------------------


def test_a_trigger_runs_with_a_portal_for_blocking_calls_unless_that_is_turned_off():
    runner = importlib.import_module("airflow.jobs.triggerer_job_runner")
    text = inspect.getsource(runner.TriggerRunner.run_trigger)

    assert "await greenback.ensure_portal()" in text
    assert "AIRFLOW_DISABLE_GREENBACK_PORTAL" in text


def test_what_other_threads_ask_goes_through_the_loop_of_the_triggerer():
    """Why the backend must not block that loop."""
    runner = importlib.import_module("airflow.jobs.triggerer_job_runner")
    text = inspect.getsource(runner.TriggerCommsDecoder.send)

    assert "greenback.await_(self.asend(msg))" in text


def test_a_portal_lets_the_loop_run_on_while_another_thread_works():
    import greenback

    ran = []

    async def main():
        await greenback.ensure_portal()
        asyncio.get_running_loop().call_soon(ran.append, "the loop")
        return greenback.await_(asyncio.to_thread(lambda: "answer"))

    assert asyncio.run(main()) == "answer"
    assert ran == ["the loop"]
    assert not greenback.has_portal()


# --- test connection --------------------------------------------------------------------------------


def test_a_server_tests_a_connection_by_its_hook():
    from airflow.models.connection import Connection

    assert "hook.test_connection()" in inspect.getsource(Connection.test_connection)


def test_a_worker_that_tests_a_connection_keeps_it_where_threads_need_a_copy_of_the_context():
    connection = importlib.import_module("airflow.sdk.definitions.connection").Connection
    if not hasattr(connection, "test_connection"):
        pytest.skip("Airflow before 3.3 tests connections in servers alone")

    assert "_preset_connections.set(" in inspect.getsource(connection.test_connection)


def test_the_environment_of_the_tests_names_no_backend():
    """Else the tests above would have asked that."""
    assert not [name for name in os.environ if name.startswith(("AIRFLOW__SECRETS__", "AIRFLOW__WORKERS__SECRETS"))]
