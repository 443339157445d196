"""The private names by which Airflow's secrets are read. A version that changes one must break here, and loudly."""

from __future__ import annotations

import inspect
import socket
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

import msgspec
import pytest

from airflow_config_providers.providers import allowed_names
from airflow_config_providers.providers.backend_faults import AWS_ERROR, DENIED, MISSING, WITHOUT_AWS_CREDENTIALS
from tests.contract.http_client import HTTP


def parameters(function) -> list[str]:
    return list(inspect.signature(function).parameters)


def names(backends) -> list[str]:
    return [type(backend).__name__ for backend in backends]


def dotted(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def test_a_task_is_told_by_the_supervisor_in_the_task_runner(monkeypatch):
    from airflow.sdk.execution_time import task_runner
    from airflow.sdk.execution_time.supervisor import ensure_secrets_backend_loaded

    monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", object(), raising=False)

    assert names(ensure_secrets_backend_loaded()) == ["EnvironmentVariablesBackend", "ExecutionAPISecretsBackend"]


def test_a_server_is_told_by_its_environment(monkeypatch):
    from airflow.sdk.execution_time.supervisor import ensure_secrets_backend_loaded

    monkeypatch.setenv("_AIRFLOW_PROCESS_CONTEXT", "server")

    assert names(ensure_secrets_backend_loaded()) == ["EnvironmentVariablesBackend", "MetastoreBackend"]


def test_elsewhere_the_task_sdk_has_no_database_and_the_core_has():
    from airflow.configuration import ensure_secrets_loaded
    from airflow.sdk.execution_time.supervisor import ensure_secrets_backend_loaded

    assert names(ensure_secrets_backend_loaded()) == ["EnvironmentVariablesBackend"]
    assert names(ensure_secrets_loaded()) == ["EnvironmentVariablesBackend", "MetastoreBackend"]


def test_the_configured_backend_can_be_had_alone():
    import airflow.configuration
    import airflow.sdk.configuration

    for module in (airflow.configuration, airflow.sdk.configuration):
        assert parameters(module.get_custom_secret_backend) == ["worker_mode"]
        assert module.get_custom_secret_backend(worker_mode=True) is None


def test_the_execution_api_is_asked_as_airflow_asks_it():
    from airflow.sdk.execution_time.comms import GetConnection, GetVariable
    from airflow.sdk.execution_time.secrets.execution_api import ExecutionAPISecretsBackend

    assert ExecutionAPISecretsBackend.__module__ == "airflow.sdk.execution_time.secrets.execution_api"
    assert (GetVariable(key="x").key, GetConnection(conn_id="x").conn_id) == ("x", "x")
    source = inspect.getsource(ExecutionAPISecretsBackend)
    assert "SUPERVISOR_COMMS.send(GetVariable(key=key))" in source
    assert "SUPERVISOR_COMMS.send(GetConnection(conn_id=conn_id))" in source
    assert "_process_connection_result_conn(msg)" in source


def test_a_task_can_ask_for_names_of_variables_as_airflow_does():
    from airflow.sdk.execution_time import comms, context

    if not hasattr(comms, "GetVariableKeys"):
        pytest.skip("A task can ask for names since Airflow 3.3")
    assert comms.GetVariableKeys(prefix="x").prefix == "x"
    assert comms.VariableKeysResult(keys=["xy"], total_entries=1).keys == ["xy"]
    assert "GetVariableKeys(prefix=prefix" in inspect.getsource(context._get_variable_keys)


def test_an_answer_of_the_execution_api_becomes_a_connection():
    from airflow.sdk.execution_time.context import _process_connection_result_conn

    from tests.providers.airflow_process import connection_result

    connection = _process_connection_result_conn(connection_result("db", schema="s", password="p"))

    assert (connection.conn_id, connection.schema, connection.password, connection.host) == ("db", "s", "p", None)


def test_an_error_of_the_execution_api_has_a_kind_and_a_status():
    from airflow.sdk.exceptions import AirflowRuntimeError, ErrorType
    from airflow.sdk.execution_time.comms import ErrorResponse
    from airflow.sdk.execution_time.supervisor import WatchedSubprocess

    response = ErrorResponse(error=ErrorType.API_SERVER_ERROR, detail={"status_code": 500})

    assert AirflowRuntimeError(response).error is response
    kinds = {kind.value for kind in ErrorType}
    assert {"VARIABLE_NOT_FOUND", "CONNECTION_NOT_FOUND", "PERMISSION_DENIED", "API_SERVER_ERROR"} <= kinds
    assert '"status_code": e.response.status_code' in inspect.getsource(WatchedSubprocess.handle_requests)


def path_asked_for(kind, name):
    """Return the path of the request with which a task asks for a name."""
    from airflow.sdk.api.client import Client

    asked = []
    transport = HTTP.MockTransport(lambda request: asked.append(request.url.raw_path) or HTTP.Response(404, json={}))
    with Client(base_url="http://127.0.0.1/execution/", token="t", transport=transport) as client:
        getattr(client, kind).get(name)
    (path,) = asked
    return path.decode()


@pytest.mark.parametrize("kind", ["variables", "connections"])
def test_a_name_is_asked_for_in_the_path_of_a_url(kind):
    assert path_asked_for(kind, "app_x") == f"/execution/{kind}/app_x"


@pytest.mark.parametrize(
    ("name", "path"),
    [("app_x/../../connections/db", "/execution/connections/db"), ("app?x", "/execution/variables/app?x")],
)
def test_a_name_goes_into_a_url_without_being_quoted(name, path):
    """Why names that a URL reads as another place are refused; of connections it is so before Airflow 3.4."""
    assert path_asked_for("variables", name) == path


@pytest.mark.parametrize("module", ["airflow.secrets", "airflow.sdk.bases.secrets_backend"])
def test_a_backend_makes_connections_from_texts(module):
    from airflow.sdk import Connection

    base = __import__(module, fromlist=["BaseSecretsBackend"]).BaseSecretsBackend
    backend = type("Mine", (base,), {})()
    backend._set_connection_class(Connection)

    assert base.get_connection.__qualname__ == "BaseSecretsBackend.get_connection"
    assert backend.deserialize_connection(conn_id="x", value="http://h").host == "h"


@pytest.mark.parametrize("module", ["airflow.secrets", "airflow.sdk.bases.secrets_backend"])
def test_a_backend_that_has_no_secrets_of_a_kind_says_not_implemented(module):
    base = __import__(module, fromlist=["BaseSecretsBackend"]).BaseSecretsBackend
    backend = type("Mine", (base,), {})()

    for ask in (backend.get_variable, backend.get_conn_value):
        with pytest.raises(NotImplementedError):
            ask("x")
    assert backend.get_config("x") is None


def test_whether_there_are_teams_is_an_option_of_the_core():
    from airflow.configuration import conf

    assert conf.getboolean("core", "multi_team") is False


def test_these_separators_stand_between_a_team_and_a_name(monkeypatch):
    from airflow.secrets.environment_variables import EnvironmentVariablesBackend

    monkeypatch.setenv("AIRFLOW_VAR__B___X", "of team b")

    assert EnvironmentVariablesBackend().get_variable("x", team_name="b") == "of team b"
    assert "___" in allowed_names._TEAM_SEPARATORS


@pytest.mark.parametrize("module", ["secrets_manager", "systems_manager"])
def test_backends_of_aws_have_a_separator_of_their_own(module):
    package = pytest.importorskip("airflow.providers.amazon.aws.secrets", reason="install the extra aws")
    found = __import__(f"{package.__name__}.{module}", fromlist=["TEAM_SEP"])

    assert found.TEAM_SEP in allowed_names._TEAM_SEPARATORS


def test_exceptions_have_the_names_by_which_they_are_known():
    from airflow.sdk.exceptions import AirflowSecretsBackendAccessDenied

    assert dotted(AirflowSecretsBackendAccessDenied) in DENIED
    assert dotted(NotImplementedError) in MISSING


def test_exceptions_of_hvac_have_the_names_by_which_they_are_known():
    exceptions = pytest.importorskip("hvac", reason="install the extra vault").exceptions

    assert {dotted(exceptions.Forbidden), dotted(exceptions.Unauthorized)} <= DENIED
    assert dotted(exceptions.InvalidPath) in MISSING


def test_the_client_of_vault_raises_its_own_error_from_a_refusal():
    client = pytest.importorskip("airflow.providers.hashicorp._internal_client.vault_client")
    source = inspect.getsource(client._VaultClient)

    assert 'raise VaultError("Vault Authentication Error!") from retry_error' in source or "is_authenticated" in source


def test_errors_of_aws_have_the_name_by_which_they_are_known():
    exceptions = pytest.importorskip("botocore.exceptions", reason="install the extra aws")

    assert dotted(exceptions.ClientError) == AWS_ERROR
    assert exceptions.ClientError({"Error": {"Code": "X"}}, "Y").response["Error"]["Code"] == "X"


@pytest.mark.parametrize("name", sorted(WITHOUT_AWS_CREDENTIALS - {"botocore.exceptions.LoginError"}))  # it is new
def test_errors_of_a_process_without_credentials_of_aws_have_the_names_by_which_they_are_known(name):
    exceptions = pytest.importorskip("botocore.exceptions", reason="install the extra aws")

    assert dotted(getattr(exceptions, name.removeprefix(f"{exceptions.__name__}."))) == name


def test_packages_register_backends_by_the_key_that_airflow_s_schema_has():
    import json
    from pathlib import Path

    import airflow

    schema = json.loads((Path(airflow.__file__).parent / "provider_info.schema.json").read_text())

    assert schema["properties"]["secrets-backends"]["items"] == {"type": "string"}


@pytest.mark.parametrize(
    "name", ["secrets_manager.SecretsManagerBackend", "systems_manager.SystemsManagerParameterStoreBackend"]
)
def test_every_lookup_of_a_backend_of_aws_asks_for_an_id_by_one_method(name):
    pytest.importorskip("airflow.providers.amazon", reason="install the extra aws")
    from airflow_config_providers.providers.airflow_secrets import make_backend
    from airflow_config_providers.providers.aws_batch import STORES, AwsBatch

    path = f"airflow.providers.amazon.aws.secrets.{name}"
    backend = make_backend(path, {})
    asked = []
    setattr(backend, STORES[path].method, lambda *args, **kwargs: asked.append((*args, *kwargs.values())[-1]))

    backend.get_variable(key="v")
    backend.get_connection(conn_id="c")
    backend.get_config(key="o")

    assert [id_.lstrip("/") for id_ in asked] == ["airflow/variables/v", "airflow/connections/c", "airflow/config/o"]
    assert AwsBatch.of(make_backend(path, {})) is not None
    assert isinstance(vars(type(backend))["client"], cached_property)
    assert vars(type(backend))["client"].func.__name__ == "client"


def test_threads_of_a_task_may_ask_the_supervisor_and_are_answered_one_at_a_time():
    """So reading variables side by side is safe in a task; only a backend of the workers is faster for it."""
    from airflow.sdk.execution_time.comms import (
        CommsDecoder,
        GetVariable,
        VariableResult,
        _RequestFrame,
        _ResponseFrame,
    )

    ours, supervisors = socket.socketpair()
    comms, was_locked = CommsDecoder(socket=ours), []

    def answer(count):
        for _ in range(count):
            length = int.from_bytes(supervisors.recv(4, socket.MSG_WAITALL), "big")
            frame = msgspec.msgpack.decode(supervisors.recv(length, socket.MSG_WAITALL), type=_RequestFrame)
            was_locked.append(comms._thread_lock.locked())
            result = VariableResult(key=frame.body["key"], value=f"value of {frame.body['key']}")
            supervisors.sendall(_ResponseFrame(id=frame.id, body=result.model_dump()).as_bytes())

    names = [f"k{n}" for n in range(20)]
    with ours, supervisors, ThreadPoolExecutor(9) as pool:
        answering = pool.submit(answer, len(names))
        found = list(pool.map(lambda name: comms.send(GetVariable(key=name)).value, names))
        answering.result()

    assert found == [f"value of {name}" for name in names]
    assert was_locked == [True] * len(names)


def test_telling_the_masker_of_a_process_tells_the_one_that_tasks_log_through():
    """Outside of a task we register there, because ``airflow.sdk.log.mask_secret`` imports what asks for settings."""
    from airflow.sdk import log
    from airflow.sdk._shared import secrets_masker

    assert log.redact is secrets_masker.redact
    assert inspect.getclosurevars(log.redact).globals["_secrets_masker"] is secrets_masker._secrets_masker


def test_the_chain_of_backends_is_the_last_thing_that_airflows_configuration_makes():
    """By that we see that Airflow is still starting, and has no database to ask."""
    import airflow.configuration

    source = inspect.getsource(airflow.configuration)

    assert isinstance(airflow.configuration.secrets_backend_list, list)
    assert source.index("\nconf: AirflowConfigParser = initialize_config()") < source.index("\nsecrets_backend_list = ")
