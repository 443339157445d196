"""Airflow starts where the values of its own options are references, whoever answers them."""

from __future__ import annotations

import json
import os

import pytest
import yaml
from cryptography.fernet import Fernet

from tests.secrets.conftest import BACKEND, ROOT
from tests.servers import quick_python

ENV = {"class": "env", "param.allowlist.pattern": "OF_AIRFLOW_.*"}
VAULT = {"class": "vault", "param.conn_id": "vault_default"}
AIRFLOW = ("-m", "airflow")


class Start:
    """
    A home of Airflow whose backend gives it the options of its configuration.

    :param home: where all of its files are
    """

    def __init__(self, home):
        self.home = home
        self.database = f"sqlite:///{home}/of-reference.db"
        self.environ = {"AIRFLOW_HOME": str(home), "OF_AIRFLOW_DB": self.database}
        self.kwargs = {}

    @property
    def has_connected(self):
        return (self.home / "of-reference.db").exists()

    def options(self, **texts):
        """Make Airflow ask the backend for options, each called ``section__option``."""
        self._write("configs_file_path", "settings.yaml", texts)
        self.environ |= {f"AIRFLOW__{option.upper()}_SECRET": option for option in texts}

    def connections(self, **definitions):
        """Write connections into the backend's file."""
        self._write("connections_file_path", "connections.yaml", definitions)

    def providers(self, **definitions):
        """Define providers: name -> the keys below it."""
        lines = [f"config.providers={','.join(definitions)}"]
        lines += [f"config.providers.{name}.{key}={v}" for name, keys in definitions.items() for key, v in keys.items()]
        self.kwargs["providers_file"] = str(self.home / "providers.properties")
        (self.home / "providers.properties").write_text("\n".join(lines))

    def run(self, *words, backend=BACKEND):
        """Run ``python *words`` with all that, in a process of its own."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW_")}
        ours = {"AIRFLOW__SECRETS__BACKEND": backend, "AIRFLOW__SECRETS__BACKEND_KWARGS": json.dumps(self.kwargs)}
        return quick_python.run(*words, env={**inherited, **ours, **self.environ})

    def _write(self, parameter, name, content):
        self.kwargs[parameter] = str(self.home / name)
        (self.home / name).write_text(yaml.safe_dump(content))


@pytest.fixture
def start(tmp_path):
    return Start(tmp_path)


def of_vault(start, vault):
    """Let Vault answer for the database's address, and give the definition of the connection that it takes."""
    vault.put("airflow/db", {"url": start.database})
    start.options(database__sql_alchemy_conn=f"${{vault:{vault.kv2}/airflow/db:url}}")
    start.providers(vault=VAULT)
    host, port = vault.address.removeprefix("http://").split(":")
    token = vault.token(f"{vault.kv2}/data/airflow/*")
    return {"conn_type": "vault", "host": host, "port": int(port), "password": token}


def test_the_databases_address_may_be_in_the_environment(start):
    start.options(database__sql_alchemy_conn="${env:OF_AIRFLOW_DB}")
    start.providers(env=ENV)

    done = start.run(*AIRFLOW, "db", "check")

    assert (done.returncode, start.has_connected) == (0, True), done.stderr


@pytest.mark.slow
def test_the_option_may_be_named_in_airflow_cfg(start):
    start.options(database__sql_alchemy_conn="${env:OF_AIRFLOW_DB}")
    start.providers(env=ENV)
    option = start.environ.pop("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_SECRET")
    (start.home / "airflow.cfg").write_text(f"[database]\nsql_alchemy_conn_secret = {option}\n")

    done = start.run(*AIRFLOW, "db", "check")

    assert (done.returncode, start.has_connected) == (0, True), done.stderr


@pytest.mark.parametrize("place", ["file", "environment"])
def test_the_databases_address_may_be_in_vault(start, vault, place):
    """The login is a connection, which Airflow cannot look up in a database that it does not know yet."""
    definition = of_vault(start, vault)
    if place == "file":
        start.connections(vault_default=definition)
    else:
        start.environ["AIRFLOW_CONN_VAULT_DEFAULT"] = json.dumps(definition)

    done = start.run(*AIRFLOW, "db", "check")

    assert (done.returncode, start.has_connected) == (0, True), done.stderr


@pytest.mark.slow
def test_the_providers_may_be_defined_in_a_connection_of_the_environment(start):
    start.options(database__sql_alchemy_conn="${env:OF_AIRFLOW_DB}")
    extra = {"config.providers": "env", **{f"config.providers.env.{key}": value for key, value in ENV.items()}}
    start.environ["AIRFLOW_CONN_DEFINING"] = json.dumps({"conn_type": "config_providers", "extra": extra})
    start.kwargs["conn_id"] = "defining"

    done = start.run(*AIRFLOW, "db", "check")

    assert (done.returncode, start.has_connected) == (0, True), done.stderr


OPTIONS = ("core.fernet_key", "sentry.sentry_dsn", "api_auth.jwt_secret", "api.secret_key")
READ = f"""
import json
from airflow.configuration import conf
from airflow.sdk.configuration import conf as of_tasks
print(json.dumps([[c.get(*option.split(".")) for option in {OPTIONS}] for c in (conf, of_tasks)]))
"""


def test_servers_and_tasks_read_every_secret_option(start):
    names = [option.replace(".", "__") for option in OPTIONS]
    start.options(database__sql_alchemy_conn="${env:OF_AIRFLOW_DB}", **{n: f"${{env:OF_AIRFLOW_{n}}}" for n in names})
    start.providers(env=ENV)
    values = [Fernet.generate_key().decode(), *(f"value-of-{name}" for name in names[1:])]
    start.environ |= {f"OF_AIRFLOW_{name}": value for name, value in zip(names, values, strict=True)}

    done = start.run("-c", READ)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [values, values]


def test_a_connection_that_may_be_in_the_database_only_is_told(start, vault):
    """Otherwise the option would be missing, and Airflow would start with the database that it has by default."""
    of_vault(start, vault)

    done = start.run(*AIRFLOW, "db", "check")

    assert done.returncode != 0
    assert "Airflow is starting, and its database cannot be asked for the connection 'vault_default' yet" in done.stderr


def test_an_address_that_needs_itself_is_told(start, vault):
    definition = of_vault(start, vault)
    start.connections(vault_default={**definition, "password": f"${{vault:{vault.kv2}/airflow/db:token}}"})

    done = start.run(*AIRFLOW, "db", "check")

    assert done.returncode != 0
    assert "It depends on itself, or on too many others: setting database__sql_alchemy_conn -> " in done.stderr


SEVERAL = {
    "of several providers": "${dir:{home}:slashes}${env:OF_AIRFLOW_NAME}",
    "of Airflow's variables": "${var:slashes}${var:home}${var:name}",
}


PROCESSES = {"command line": {}, "process of a server": {"_AIRFLOW_PROCESS_CONTEXT": "server"}}
"""What the processes that a server starts inherit."""


@pytest.mark.slow
@pytest.mark.parametrize("process", PROCESSES.values(), ids=PROCESSES)
@pytest.mark.parametrize("text", SEVERAL.values(), ids=SEVERAL)
def test_an_address_may_have_several_references(start, text, process):
    """Airflow holds locks while it is imported: what another thread imports of it would wait for ever."""
    start.options(database__sql_alchemy_conn="sqlite:" + text.replace("{home}", str(start.home)))
    start.providers(
        env=ENV,
        dir={"class": "directory", "param.allowed.paths": str(start.home)},
        var={"class": "airflow_variable", "param.allowlist.pattern": ".*"},
    )
    rest = f"{start.home}/of-reference.db"
    (start.home / "slashes").write_text("///")
    start.environ |= {"OF_AIRFLOW_NAME": rest, "AIRFLOW_VAR_SLASHES": "///", **process}
    start.environ |= {"AIRFLOW_VAR_HOME": str(start.home), "AIRFLOW_VAR_NAME": "/of-reference.db"}

    done = start.run(*AIRFLOW, "db", "check")

    assert (done.returncode, start.has_connected) == (0, True), done.stderr


NOT_THERE = {
    "missing": ("${env:OF_AIRFLOW_NOPE}", "cannot be resolved, and Airflow must not use its default instead."),
    "within a text": ("sqlite:///${env:OF_AIRFLOW_NOPE}", "${env:OF_AIRFLOW_NOPE} has no value"),
    "denied": (f"${{dir:{ROOT}:README.md}}", "is denied"),
    "not on the list": ("${env:HOME}", "${env:HOME} is denied. allowlist.pattern of the provider does not allow"),
    "of no provider": ("${nope:x}", "names the unknown provider 'nope'. Known providers: dir, env. Correct the name"),
}


@pytest.mark.slow
@pytest.mark.slow
@pytest.mark.parametrize("command", ["db check", "config get-value database sql_alchemy_conn"])
@pytest.mark.parametrize(("text", "message"), NOT_THERE.values(), ids=NOT_THERE)
def test_an_option_that_cannot_be_resolved_keeps_airflow_from_starting(start, command, text, message):
    """Airflow would take its default, which is a database of SQLite."""
    start.options(database__sql_alchemy_conn=text)
    start.providers(env=ENV, dir={"class": "directory", "param.allowed.paths": str(start.home)})

    done = start.run(*AIRFLOW, *command.split())

    assert done.returncode != 0
    assert not (start.home / "airflow.db").exists()
    assert "sqlite:" not in done.stdout
    *_, last = done.stderr.strip().splitlines()
    assert last.startswith("setting database__sql_alchemy_conn ")
    assert message in last


@pytest.mark.slow
def test_an_option_that_airflow_asks_for_later_stops_who_asks(start):
    start.options(core__fernet_key="${env:OF_AIRFLOW_NOPE}")
    start.providers(env=ENV)

    done = start.run("-c", "from airflow.models.crypto import get_fernet; get_fernet()")

    assert done.returncode != 0
    assert "setting core__fernet_key cannot be resolved" in done.stderr
    assert "Set it there and restart what starts that process, or correct the reference." in done.stderr
