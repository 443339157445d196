"""Every process of a real Airflow reads its connections, variables and settings from files with references in them."""

from __future__ import annotations

import hashlib
import json
import os
import textwrap
from concurrent.futures import ThreadPoolExecutor

import pytest
from cryptography.fernet import Fernet

from dags_examples.demo.search import Search, Secret
from tests.integration.conftest import CANARY, Airflow

pytestmark = [pytest.mark.integration, pytest.mark.slow]

BACKEND = "airflow_config_providers.secrets.config_providers.ConfigProvidersBackend"
WEAK = "weaker-source"

TRIGGER = """
    import asyncio
    import hashlib
    from airflow.sdk import BaseHook, Connection
    from airflow.triggers.base import BaseTrigger, TriggerEvent

    def outcome(ask):
        try:
            return "digest " + hashlib.sha256(ask().password.encode()).hexdigest()
        except Exception as error:
            return error_name(error)

    def error_name(error):
        return next((kind.__name__ for kind in type(error).__mro__ if "AccessDenied" in kind.__name__), repr(error))

    class Ask(BaseTrigger):
        def serialize(self):
            return "probe_trigger.Ask", {}

        async def run(self):
            told = {f"sync {name}": outcome(lambda: BaseHook.get_connection(name)) for name in NAMES}
            for name in NAMES:
                try:
                    connection = await Connection.async_get(name)
                    told[f"async {name}"] = outcome(lambda: connection)
                except Exception as error:
                    told[f"async {name}"] = error_name(error)
            # Airflow notices within 5 s that the process of the task has ended, and fails a task that goes on before.
            await asyncio.sleep(10)
            yield TriggerEvent(told)

    NAMES = ("db", "of_server", "denied")
"""

DAG = """
    import hashlib, json
    from airflow.sdk import BaseOperator, Connection, DAG, Variable
    from probe_trigger import Ask, error_name, outcome

    def digest(text):
        return hashlib.sha256(text.encode()).hexdigest()

    class Worker(BaseOperator):
        def execute(self, context):
            names = ("db", "of_server", "missing", "denied", "denied_by_server", "nowhere")
            told = {name: outcome(lambda: Connection.get(name)) for name in names}
            for name in ("token", "token_of_server", "denied", "denied_by_server", "nowhere"):
                try:
                    told[f"variable {name}"] = "digest " + digest(Variable.get(name, default="the default"))
                except Exception as error:
                    told[f"variable {name}"] = error_name(error)
            print("OUTCOMES", json.dumps(told))
            print("PROBE", Connection.get("db").password)

    class Deferred(BaseOperator):
        def execute(self, context):
            self.defer(trigger=Ask(), method_name="resumed")

        def resumed(self, context, event):
            print("OUTCOMES", json.dumps(event))

    with DAG("asks", schedule=None, description="parsed with " + digest(Variable.get("token"))):
        Worker(task_id="worker") >> Deferred(task_id="deferred")
"""


def digest(value: str) -> str:
    return f"digest {hashlib.sha256(value.encode()).hexdigest()}"


def write_backends(deployment: Airflow) -> None:
    """Write the files of servers and those of workers, which have some names of their own."""
    password, fernet = deployment.seal("db-password", CANARY), deployment.seal("fernet", Fernet.generate_key().decode())
    denied, missing = "${dir:/etc:hostname}", f"${{dir:{deployment.secrets}:nothing}}"
    entries = {
        "db": f"mysql://u:{password}@h",
        "denied": f"mysql://u:{denied}@h",
        "missing": f"mysql://u:{missing}@h",
    }
    extra = {"properties_file": str(deployment.home / "providers.properties")}
    mine = {
        "connections_file_path": {
            **entries,
            "config_providers_default": {"conn_type": "config_providers", "extra": extra},
        },
        "variables_file_path": {"token": f"token {password}", "denied": denied},
    }
    of_server = {
        "connections_file_path": {
            **mine["connections_file_path"],
            "of_server": entries["db"],
            "denied_by_server": entries["denied"],
        },
        "variables_file_path": {**mine["variables_file_path"], "token_of_server": password, "denied_by_server": denied},
    }
    address = deployment.seal("address", deployment.environ.pop("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"))
    settings = {"configs_file_path": {"fernet": fernet, "address": address}}
    (deployment.home / "providers.properties").write_text(
        "config.providers=dir\nconfig.providers.dir.class=directory\n"
        f"config.providers.dir.param.allowed.paths={deployment.secrets}\n"
    )
    for section, files in (("SECRETS", {**of_server, **settings}), ("WORKERS", {**mine, **settings})):
        kwargs = {"providers_file": extra["properties_file"]}
        for name, content in files.items():
            kwargs[name] = str(deployment.home / f"{section.lower()}-{name}.json")
            (deployment.home / f"{section.lower()}-{name}.json").write_text(json.dumps(content))
        option = "BACKEND" if section == "SECRETS" else "SECRETS_BACKEND"
        deployment.environ[f"AIRFLOW__{section}__{option}"] = BACKEND
        deployment.environ[f"AIRFLOW__{section}__{option}_KWARGS"] = json.dumps(kwargs)


@pytest.fixture(scope="module")
def airflow(tmp_path_factory):
    """A deployment after a run, whose secrets are only in sealed files; weaker sources have other values."""
    options = {"AIRFLOW__CORE__FERNET_KEY_SECRET": "fernet", "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_SECRET": "address"}
    deployment = Airflow(tmp_path_factory.mktemp("airflow"), **options)
    deployment.environ.pop("AIRFLOW__CORE__FERNET_KEY", None)
    deployment.environ.pop("AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT")
    deployment.environ |= {f"AIRFLOW_CONN_{name}": f"mysql://u:{WEAK}@h" for name in ("DB", "DENIED", "MISSING")}
    deployment.environ |= {
        "AIRFLOW_VAR_DENIED": WEAK,
        "AIRFLOW__CORE__TEST_CONNECTION": "Enabled",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(deployment.home / "lib"), os.environ.get("PYTHONPATH")])),
    }
    write_backends(deployment)
    (deployment.home / "lib").mkdir()
    (deployment.home / "lib" / "probe_trigger.py").write_text(textwrap.dedent(TRIGGER))
    (deployment.dags / "asks.py").write_text(textwrap.dedent(DAG))
    with deployment:
        deployment.cli("connections", "add", "denied_by_server", "--conn-uri", f"mysql://u:{WEAK}@h")
        deployment.cli("variables", "set", "denied_by_server", WEAK)
        deployment.state = deployment.run("asks")
        yield deployment


def log(airflow: Airflow, task: str) -> str:
    (path,) = airflow.logs.glob(f"dag_id=asks/**/task_id={task}/attempt=1.log")
    return path.read_text()


def outcomes(airflow: Airflow, task: str) -> dict[str, str]:
    events = [json.loads(line)["event"] for line in log(airflow, task).splitlines() if "OUTCOMES" in line]
    return json.loads(events[-1].removeprefix("OUTCOMES "))


def test_the_run_ends_well(airflow):
    assert airflow.state == "success"


def test_a_task_reads_what_the_workers_files_and_then_what_the_servers_files_have(airflow):
    told = outcomes(airflow, "worker")

    assert (told["db"], told["of_server"]) == (digest(CANARY), digest(CANARY))
    assert (told["variable token"], told["variable token_of_server"]) == (digest(f"token {CANARY}"), digest(CANARY))


def test_in_a_task_missing_lets_the_next_source_answer(airflow):
    told = outcomes(airflow, "worker")

    assert told["missing"] == digest(WEAK)
    assert "isn't defined" in told["nowhere"]
    assert told["variable nowhere"] == digest("the default")


@pytest.mark.parametrize("name", ["denied", "denied_by_server"])
@pytest.mark.parametrize("kind", ["", "variable "])
def test_in_a_task_denied_stops_whoever_denies(airflow, kind, name):
    """The environment has a value for the one, Airflow's database for the other, and there is a default."""
    assert outcomes(airflow, "worker")[kind + name] == "AirflowSecretsBackendAccessDenied"


@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_trigger_reads_as_a_task_does(airflow, way):
    told = outcomes(airflow, "deferred")

    assert (told[f"{way} db"], told[f"{way} of_server"]) == (digest(CANARY), digest(CANARY))
    assert told[f"{way} denied"] == "AirflowSecretsBackendAccessDenied"


def test_the_dag_processor_reads_while_it_parses(airflow):
    [(description,)] = airflow.query("select description from dag where dag_id = 'asks'")

    assert description == "parsed with " + digest(f"token {CANARY}").partition(" ")[2]


def test_all_processes_read_a_setting(airflow):
    """Without the key, nobody could read what is encrypted in the database."""
    [(stored,)] = airflow.query("select val from variable where key = 'denied_by_server'")
    key = (airflow.secrets / "fernet").read_bytes()

    assert Fernet(key).decrypt(stored).decode() == WEAK


def test_a_value_is_starred_in_the_task_log(airflow):
    assert "PROBE ***" in log(airflow, "worker")


def test_the_api_server_tests_a_connection_that_stands_in_a_file(airflow):
    body = {"connection_id": "config_providers_default", "conn_type": "config_providers"}
    extra = {"properties_file": str(airflow.home / "providers.properties")}
    told = airflow.post("/api/v2/connections/test", {**body, "extra": json.dumps(extra)})

    assert told == {"status": True, "message": "dir: 1 allowed path"}


CLI = {
    "connection": (["connections", "get", "db", "-o", "json"], 0, CANARY),
    "missing-connection": (["connections", "get", "missing", "-o", "json"], 0, WEAK),
    "no-connection": (["connections", "get", "nowhere"], 1, "Connection not found"),
    "denied-connection": (["connections", "get", "denied"], 1, "connection denied is denied"),
    "variable": (["variables", "get", "token"], 0, f"token {CANARY}"),
    "denied-variable": (["variables", "get", "denied", "--default", WEAK], 1, "variable denied is denied"),
    "test": (["connections", "test", "config_providers_default"], 0, "Connection success"),
}


@pytest.fixture(scope="module")
def commands(airflow):
    """Run all commands, some side by side: each of them takes seconds to start."""
    with ThreadPoolExecutor(3) as pool:
        return dict(zip(CLI, pool.map(lambda case: airflow.cli(*case[0], check=False), CLI.values()), strict=True))


@pytest.mark.parametrize("name", CLI)
def test_the_command_line_tells_and_exits(commands, name):
    _, code, told = CLI[name]
    done = commands[name]
    shown = " ".join((done.stdout + done.stderr).split())

    assert done.returncode == code, shown
    assert told in shown
    assert (WEAK in shown) == (told == WEAK)


def test_nothing_that_is_left_behind_has_the_value(airflow):
    """
    Files, logs, what the processes printed, every table; in a dozen encodings.

    The scheduler prints the log of a LocalExecutor's tasks as the tasks have written it, so without stars.
    """
    search = Search([Secret.of("canary", CANARY)])
    search.tree(airflow.home, leave_out=[airflow.secrets, airflow.home / "scheduler.out"])
    search.database(airflow.home / "airflow.db")
    elsewhere = "".join(line for line in airflow.output("scheduler").splitlines() if "PROBE" not in line)

    assert airflow.query("select count(*) from task_instance where state = 'success'") == [(2,)]
    assert [(finding.place, finding.form) for finding in search.found] == []
    assert CANARY not in elsewhere
