"""Variables and connections in Airflow's database, from a command line and from a server, in processes of their own."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from airflow.sdk.execution_time import comms
from cryptography.fernet import Fernet

from tests.limits import PATIENT_AIRFLOW
from tests.servers import quick_python

FILL = """
from airflow import settings
from airflow.models import Connection, Variable
from airflow.models.base import Base

Base.metadata.create_all(settings.engine)
with settings.Session() as session:
    session.add(Connection(conn_id="db", conn_type="postgres", host="h", login="u", password="db-pw", port=5432))
    session.commit()
Variable.set("stored", "from the database")
Variable.set("document", '{"credentials": {"password": "nested"}, "n": 1.10}')
"""

ASK = """
import json
from airflow_config_providers.core.registry import ProviderRegistry
from airflow_config_providers.core.transformer import ConfigTransformer
from airflow_config_providers.exceptions import ConfigProvidersError
from airflow_config_providers.providers import airflow_secrets

def ask(function, name):
    try:
        return function(name)
    except ConfigProvidersError as error:
        return type(error).__name__

definitions = {
    "config.providers": "variable,connection",
    "config.providers.variable.class": "airflow_variable",
    "config.providers.variable.param.allowlist.pattern": "stored|document|missing",
    "config.providers.connection.class": "airflow_connection",
    "config.providers.connection.param.allowlist.pattern": "db",
}
references = {
    "whole": "${variable:stored}",
    "nested": "${variable:document:credentials.password}",
    "number": "${variable:document:n}",
    "field": "${connection:db:password}",
    "uri": "${connection:db:uri}",
    "missing": "${variable:missing}",
}
with ProviderRegistry(deployment=True).open(definitions) as providers:
    print(json.dumps({
        "stored": ask(airflow_secrets.variable, "stored"),
        "environment": ask(airflow_secrets.variable, "environment"),
        "missing": [ask(airflow_secrets.variable, "missing"), ask(airflow_secrets.connection, "missing")],
        "resolved": dict(ConfigTransformer(providers).transform(references).data),
    }))
"""


def run(script: str, home: Path, **environ: str) -> str:
    ours = {"AIRFLOW_HOME": str(home), "AIRFLOW_VAR_ENVIRONMENT": "from the environment"}
    done = quick_python.run("-c", script, env={**os.environ, **ours, **environ})
    done.check_returncode()
    return done.stdout


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An Airflow with a database that holds some things."""
    home = tmp_path_factory.mktemp("airflow")
    run(FILL, home)
    return home


@pytest.mark.slow
@pytest.mark.parametrize(
    "process", [pytest.param({}, id="command line"), pytest.param({"_AIRFLOW_PROCESS_CONTEXT": "server"}, id="server")]
)
def test_outside_of_tasks_the_database_is_asked(home: Path, process: dict[str, str]) -> None:
    found = json.loads(run(ASK, home, **process).splitlines()[-1])

    assert found == {
        "stored": "from the database",
        "environment": "from the environment",
        "missing": [None, None],
        "resolved": {
            "whole": "from the database",
            "nested": "nested",
            "number": "1.10",
            "field": "db-pw",
            "uri": "postgres://u:db-pw@h:5432",
            "missing": "${variable:missing}",
        },
    }


@pytest.mark.slow
def test_a_database_that_cannot_be_asked_is_not_taken_for_missing(tmp_path: Path) -> None:
    script = ASK.partition("with ProviderRegistry")[0] + "print(ask(airflow_secrets.variable, 'x'))"

    assert run(script, tmp_path).splitlines()[-1] == "ProviderUnavailableError"


@pytest.mark.slow
def test_a_connection_that_another_key_has_encrypted_is_not_taken_for_missing(tmp_path: Path) -> None:
    script = ASK.partition("with ProviderRegistry")[0] + "print(ask(airflow_secrets.connection, 'db'))"
    before, after = (Fernet.generate_key().decode() for _ in range(2))
    run(FILL, tmp_path, AIRFLOW__CORE__FERNET_KEY=before)

    assert run(script, tmp_path, AIRFLOW__CORE__FERNET_KEY=after).splitlines()[-1] == "ProviderUnavailableError"


TASK = """
from airflow.sdk import DAG, task
from airflow_config_providers.exceptions import ProviderUnavailableError
from airflow_config_providers.providers.airflow_secrets import stored_variable

@task
def ask():
    try:
        print("found", stored_variable("stored"), stored_variable("missing"))
    except ProviderUnavailableError as error:
        print("refused", error)

with DAG("asking", schedule=None):
    ask()
"""


FERNET_KEY = "AIRFLOW__CORE__FERNET_KEY"


def airflow(home: Path, *arguments: str, key: str) -> str:
    environ = {"AIRFLOW_HOME": str(home), "AIRFLOW__CORE__LOAD_EXAMPLES": "False", FERNET_KEY: key}
    done = quick_python.run("-m", "airflow", *arguments, env={**os.environ, **PATIENT_AIRFLOW, **environ})
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """An Airflow with a DAG that asks for variables, and the key that has encrypted them."""
    home, key = tmp_path_factory.mktemp("encrypted"), Fernet.generate_key().decode()
    (home / "dags").mkdir()
    (home / "dags/asking.py").write_text(TASK)
    airflow(home, "db", "migrate", key=key)
    run(FILL, home, **{FERNET_KEY: key})
    return home, key


@pytest.mark.slow
def test_a_task_gets_what_the_key_of_the_api_server_decrypts(encrypted: tuple[Path, str]) -> None:
    home, key = encrypted

    assert "found from the database None" in airflow(home, "dags", "test", "asking", key=key)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(comms, "GetVariableKeys"), reason="A task can ask for names since Airflow 3.3")
def test_a_task_does_not_take_what_another_key_has_encrypted_for_missing(encrypted: tuple[Path, str]) -> None:
    said = airflow(encrypted[0], "dags", "test", "asking", key=Fernet.generate_key().decode())

    assert "refused Airflow's Execution API could not return variable 'stored' (it cannot be decrypted)." in said


@pytest.mark.slow
def test_a_preview_finds_the_connection_that_only_the_database_has(home: Path) -> None:
    script = """
from airflow_config_providers.job.providers import ProvidersConnection

print(*(ProvidersConnection(conn_id).is_defined() for conn_id in ("db", "absent")))
"""
    assert run(script, home).splitlines()[-1] == "True False"
