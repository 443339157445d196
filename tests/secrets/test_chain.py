"""What Airflow does after this backend: goes on where something is missing, and stops where there is trouble."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from types import ModuleType

import pytest
from airflow.cli import cli_parser
from airflow.cli.commands.connection_command import connections_get
from airflow.models import Connection as ServerConnection
from airflow.models import Variable as ServerVariable
from airflow.sdk import Connection as TaskConnection
from airflow.sdk import Variable as TaskVariable
from airflow.sdk.exceptions import AirflowNotFoundException

from airflow_config_providers.airflow_compat import AirflowSecretsBackendAccessDenied
from airflow_config_providers.core.lookup import FetchOptions, Lookup
from airflow_config_providers.exceptions import AccessDeniedError, ProviderUnavailableError
from airflow_config_providers.providers import airflow_secrets
from airflow_config_providers.providers.airflow_connection import AirflowConnectionConfigProvider
from airflow_config_providers.secrets.config_providers import ConfigProvidersBackend
from tests.limits import LONGEST

DENIED = AccessDeniedError("The book is closed to you.")
DOWN = ProviderUnavailableError("The library is closed today.")

ASK = {
    "server-connection": lambda: ServerConnection.get_connection_from_secrets("db").host,
    "server-variable": lambda: ServerVariable.get("db", default_var="the default of the DAG"),
    "task-connection": lambda: TaskConnection.get("db").host,
    "task-connection-async": lambda: asyncio.run(TaskConnection.async_get("db")).host,
    "task-variable": lambda: TaskVariable.get("db", default="the default of the DAG"),
}


@pytest.fixture
def deployment(shelf, configure, monkeypatch):
    """``db`` in the files, with a reference in it, and a weaker source behind them."""
    shelf.book.data = {"db": {"host": "strong"}}
    text = "${book:db:host}"
    configure(shelf.settings({"db": f"mysql://{text}"}, {"db": text}))
    monkeypatch.setenv("AIRFLOW_CONN_DB", "mysql://weak")
    monkeypatch.setenv("AIRFLOW_VAR_DB", "weak")
    return shelf


def fail(deployment, error):
    def raise_it(path):
        raise error

    deployment.book.on_get = raise_it


@pytest.mark.parametrize("ask", ASK.values(), ids=ASK)
def test_the_backend_is_asked_first(deployment, ask):
    assert ask() == "strong"


@pytest.mark.parametrize("ask", ASK.values(), ids=ASK)
def test_missing_lets_the_chain_go_on(deployment, ask):
    deployment.book.data = {}

    assert ask() == "weak"


@pytest.mark.parametrize("ask", ASK.values(), ids=ASK)
@pytest.mark.parametrize(
    ("error", "message"),
    [
        pytest.param(DENIED, "db is denied. .*The book is closed to you", id="denied"),
        pytest.param(DOWN, "db is unavailable. .*The library is closed today", id="unavailable"),
        pytest.param(KeyError("bug"), "db is unavailable. .*Provider 'book' failed .* KeyError", id="a-bug"),
    ],
)
def test_trouble_stops_the_chain(deployment, ask, error, message):
    fail(deployment, error)

    with pytest.raises(AirflowSecretsBackendAccessDenied, match=message):
        ask()


def test_a_provider_that_asks_airflow_asks_again_while_this_backend_is_unavailable(deployment, configure, monkeypatch):
    monkeypatch.setenv("_AIRFLOW_PROCESS_CONTEXT", "server")  # or the backends of Airflow's start would be asked
    configure({"connections_file_path": str(deployment.folder / "gone.yaml")})
    asked = []
    provider = AirflowConnectionConfigProvider(lambda name: asked.append(name) or airflow_secrets.connection(name))
    provider.configure({"allowlist.pattern": "db"})

    answers = Lookup({"c": provider}, FetchOptions(attempts=3), sleep=lambda seconds: None).fetch(
        {("c", "db"): {"host"}}
    )

    assert isinstance(answers.failures["c", "db"], ProviderUnavailableError)
    assert asked == ["db"] * 3


def test_an_unknown_provider_is_told_with_the_nearest_name_and_is_not_called_unavailable(deployment, configure):
    text = "${bok:db:host}"
    configure(deployment.settings({}, {"db": text}))

    with pytest.raises(AirflowSecretsBackendAccessDenied) as caught:
        TaskVariable.get("db", default="the default of the DAG")

    expected = "variable db cannot be resolved. variable db: ${bok:db:host} names the unknown provider 'bok', did you"
    assert str(caught.value).startswith(expected)
    assert "unavailable" not in str(caught.value)


def test_a_provider_that_is_defined_but_not_listed_is_named_as_such(deployment, configure):
    providers = {**deployment.providers, "config.providers": "other"}
    configure(deployment.settings({}, {"db": "${book:db:host}"}, providers=providers))

    with pytest.raises(AirflowSecretsBackendAccessDenied, match="'book', which is defined but not listed in config"):
        TaskVariable.get("db", default="the default of the DAG")


def test_attack_61_a_provider_that_hangs_stops_the_chain_at_the_deadline(deployment, monkeypatch):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RESOLVE_TIMEOUT", "1")
    let_go = threading.Event()
    deployment.book.on_get = lambda path: let_go.wait()
    with pytest.raises(AirflowSecretsBackendAccessDenied, match="'book' gave no answer within 1 second"):
        ASK["task-connection"]()
    let_go.set()


@pytest.mark.slow
def test_a_provider_that_hangs_while_it_is_opened_stops_the_chain_and_costs_few_threads(deployment, monkeypatch):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RESOLVE_TIMEOUT", "1")
    let_go = threading.Event()
    deployment.book.on_open = let_go.wait
    for _ in range(5):
        with pytest.raises(AirflowSecretsBackendAccessDenied, match="'book' gave no answer within 1 second"):
            ASK["task-connection"]()

    assert len(deployment.book.opened) == 4
    let_go.set()
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RESOLVE_TIMEOUT", str(int(LONGEST)))
    assert ASK["task-connection"]() == "strong"


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "x", "86401"])
def test_a_deadline_that_is_none_is_refused(deployment, monkeypatch, text):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RESOLVE_TIMEOUT", text)
    with pytest.raises(AirflowSecretsBackendAccessDenied, match="resolve_timeout: expected a number of seconds"):
        ASK["task-connection"]()


@pytest.mark.parametrize("ask", ASK.values(), ids=ASK)
@pytest.mark.parametrize("file", ["connections.yaml", "variables.yaml"])
def test_a_broken_file_is_not_an_empty_one(deployment, ask, file):
    for name in ("connections.yaml", "variables.yaml"):
        deployment.write(name, "{")

    with pytest.raises(AirflowSecretsBackendAccessDenied, match="cannot be read"):
        ask()


@pytest.mark.parametrize("ask", ASK.values(), ids=ASK)
@pytest.mark.parametrize("path", ["a\0b.yaml", "\ud800.yaml"], ids=["nul", "surrogate"])
def test_a_path_that_no_file_can_have_stops_the_chain(deployment, configure, ask, path):
    configure(deployment.settings(connections_file_path=path, variables_file_path=path))

    with pytest.raises(AirflowSecretsBackendAccessDenied, match="cannot be read: no file can have such a name"):
        ask()


def test_a_name_that_is_no_text_stops_the_chain_as_another_one_does(shelf):
    backend = shelf.backend(variables_file_path=shelf.write("variables.yaml", "{"))

    with pytest.raises(AirflowSecretsBackendAccessDenied, match="variable 5 is unavailable"):
        backend.get_variable(5)


class BareError(ProviderUnavailableError):
    """A provider's error that says nothing, not even what its base class needs."""

    def __init__(self):
        Exception.__init__(self)


@pytest.mark.parametrize("ask", ASK.values(), ids=ASK)
def test_an_error_without_problems_stops_the_chain(deployment, ask):
    deployment.book.on_open = lambda: fail_with(BareError())

    with pytest.raises(AirflowSecretsBackendAccessDenied, match="It failed with BareError, whose text is not shown"):
        ask()


def test_the_chain_is_stopped_while_another_thread_imports_a_server(deployment, monkeypatch):
    monkeypatch.setitem(sys.modules, "starlette.exceptions", ModuleType("starlette.exceptions"))
    fail(deployment, DENIED)

    with pytest.raises(AirflowSecretsBackendAccessDenied, match="closed to you"):
        ASK["task-variable"]()


@pytest.mark.parametrize("ask", ASK.values(), ids=ASK)
def test_a_filter_that_fails_does_not_keep_the_chain_from_being_stopped(deployment, ask, monkeypatch):
    fail(deployment, DENIED)
    monkeypatch.setattr(logging.getLogger(ConfigProvidersBackend.__module__), "filters", [lambda record: 1 / 0])

    with pytest.raises(AirflowSecretsBackendAccessDenied, match="closed to you"):
        ask()


@pytest.mark.parametrize("ask", ASK.values(), ids=ASK)
@pytest.mark.parametrize(
    "definition", ["config.providers=x", "config.providers=book\nconfig.providers.book.class=os.system"]
)
def test_providers_that_are_defined_wrongly_stop_the_chain(deployment, configure, ask, definition):
    file = deployment.write("providers.properties", definition)
    text = "${book:db:host}"
    configure(deployment.settings({"db": f"mysql://{text}"}, {"db": text}, providers_file=file))

    with pytest.raises(AirflowSecretsBackendAccessDenied, match="db cannot be resolved"):
        ask()


@pytest.mark.parametrize("name", ["lake", "db2"])
def test_what_is_in_no_file_is_left_to_the_others(deployment, monkeypatch, name):
    monkeypatch.setenv(f"AIRFLOW_CONN_{name.upper()}", "mysql://weak")

    assert TaskConnection.get(name).host == "weak"
    with pytest.raises(AirflowNotFoundException):
        TaskConnection.get("nowhere")


def test_a_missing_key_is_told_once_with_its_place_and_no_value(shelf, caplog):
    shelf.book.data = {"db": {"password": "c4nary-value"}}
    backend = shelf.backend(
        {"db": {"conn_type": "x", "password": "${book:db:password}", "extra": {"a": {"token": "${book:db:tokn}"}}}}
    )
    with caplog.at_level(logging.WARNING):
        assert backend.get_connection("db") is None

    told = [record.getMessage() for record in caplog.records if record.name.startswith("airflow_config_providers")]
    assert len(told) == 1
    assert "connection db, extra.a.token: ${book:db:tokn} has no value" in told[0]
    assert "did you mean" not in told[0] or "password" not in told[0]
    assert "c4nary-value" not in told[0]


def test_an_unavailable_provider_is_asked_again_before_it_is_given_up(deployment):
    failures = [DOWN, DOWN]
    deployment.book.on_get = lambda path: fail_with(failures.pop()) if failures else None

    assert TaskVariable.get("db") == "strong"
    assert len(deployment.book.calls) == 3


def fail_with(error):
    raise error


def test_a_denied_provider_is_not_asked_again(deployment):
    fail(deployment, DENIED)

    with pytest.raises(AirflowSecretsBackendAccessDenied):
        TaskVariable.get("db")
    assert len(deployment.book.calls) == 1


def test_denied_counts_before_missing(shelf):
    """One field is refused and another has no value: what is refused decides."""
    shelf.book.on_get = lambda path: fail_with(DENIED) if path == "closed" else None
    backend = shelf.backend({"db": {"conn_type": "x", "login": "${book:db:no}", "password": "${book:closed:p}"}})

    with pytest.raises(AirflowSecretsBackendAccessDenied, match="is denied"):
        backend.get_connection("db")


def test_a_command_of_airflow_says_why_a_connection_is_not_found(deployment, monkeypatch, capfd):
    """Airflow's commands log nothing, so that all they said was "Connection not found."."""
    monkeypatch.delenv("AIRFLOW_CONN_DB")
    monkeypatch.setenv("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "sqlite://")
    deployment.book.data = {"db": {}}

    with pytest.raises(SystemExit):
        connections_get(cli_parser.get_parser().parse_args(["connections", "get", "db", "-o", "json"]))

    printed = capfd.readouterr()
    assert "${book:db:host}" in printed.err
    assert printed.out == ""
