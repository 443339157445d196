"""``airflow config-providers doctor``, in a real deployment."""

from __future__ import annotations

import json
import os
import socket
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli.conftest import Cli

CANARY = "c4nary-of-the-doctor"


def connected(**extra: str) -> dict[str, str]:
    written = {"conn_type": "config_providers", "login": CANARY, "password": CANARY, "extra": extra}
    return {"AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT": json.dumps(written)}


def rows_of(cli: Cli, *words: str, **environ: str):
    done = cli.airflow("config-providers", "doctor", *words, "--output", "json", environ=environ)
    return done, json.loads(done.out)


def test_only_the_checks_that_are_named_are_made(cli: Cli):
    done, rows = rows_of(cli, "--only", "store,connection", "--only", "records")

    assert [row["check"] for row in rows] == ["store", "store", "connection", "records"]
    assert {tuple(row) for row in rows} == {("check", "severity", "what", "way_out")}
    assert done.code == 0


def test_a_database_that_is_migrated_is_fine(cli: Cli):
    _, rows = rows_of(cli, "--only", "store")

    assert [row["severity"] for row in rows] == ["ok", "ok"]
    assert rows[1]["what"] == "Airflow's database is migrated."


def test_dags_with_dynamic_configuration_are_counted_and_not_variables(cli: Cli):
    cli.json("alter --dag flights --add-config spark.app.a=1")

    _, rows = rows_of(cli, "--only", "store")

    assert rows[0]["what"] == "Airflow's database answers; it has dynamic configuration of 1 DAG."


def test_a_database_that_can_only_be_read_is_an_error(cli: Cli, tmp_path):
    copy = tmp_path / "airflow.db"
    change(cli, f"vacuum into '{copy}'")
    with copy.open("r+b") as file:  # root can write any file, but SQLite writes none of a later version
        file.seek(18)
        file.write(b"\x03\x01")
    environ = {"AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{copy}"}
    done = cli.deployment.airflow("config-providers", "doctor", "--only", "store", "--output", "json", **environ)
    failed = json.loads(done.out)[-1]

    assert done.code == 1
    assert failed["severity"] == "error"
    assert failed["what"].startswith("Airflow's database can be read, but not written: ")


def test_a_database_that_was_not_migrated_is_an_error_with_the_command(cli: Cli, tmp_path):
    environ = {"AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{tmp_path}/empty.db"}
    done = cli.deployment.airflow("config-providers", "doctor", "--only", "store", "--output", "json", **environ)

    assert done.code == 1
    assert json.loads(done.out)[0]["severity"] == "error"


def test_a_warning_ends_with_0_and_an_error_with_1(cli: Cli):
    warned, rows = rows_of(cli, "--only", "connection")
    failed, others = rows_of(cli, "--only", "connection", "--conn-id", "nowhere")

    assert (warned.code, rows[0]["severity"]) == (0, "warning")
    assert (failed.code, others[0]["severity"]) == (1, "error")
    assert others[0]["way_out"] == ("airflow connections add nowhere --conn-type config_providers --conn-extra ...")


def test_the_table_is_for_people(cli: Cli):
    done = cli("doctor --only records")

    assert done.out.split()[:4] == ["check", "|", "severity", "|"]
    assert "Tries leave records in Airflow." in done.out


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("--only provider", "--only: there is no check 'provider', did you mean 'providers'?"),
        ("--timeout 0", "--timeout must be more than 0 seconds."),
        ("--timeout inf", "--timeout must be at most 86400 seconds."),
    ],
)
def test_wrong_arguments_are_refused(cli: Cli, words: str, problem: str):
    done = cli(f"doctor {words}")

    assert done.code == 2
    assert problem in done.errors[0]


@pytest.fixture
def config(cli: Cli) -> Path:
    """The file ``airflow.cfg`` of the deployment, which the first command of Airflow's that is a process writes."""
    path = cli.deployment.home / "airflow.cfg"
    if not path.exists():
        cli.deployment.airflow("config", "get-value", "core", "executor")
    return path


@pytest.mark.parametrize(("seconds", "waits"), [(-3600, True), (3600, False)], ids=["before", "after"])
def test_a_process_that_began_before_airflow_cfg_was_changed_waits_for_a_restart(
    cli: Cli, config: Path, seconds: int, waits: bool
):
    began = datetime.fromtimestamp(config.stat().st_mtime + seconds, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
    insert = "insert into job (id, job_type, state, start_date, latest_heartbeat) values (4711, 'DagProcessorJob', "
    change(cli, f"{insert}'running', '{began}', '{now}')")
    try:
        _, rows = rows_of(cli, "--only", "apply_to")
    finally:
        change(cli, "delete from job where id = 4711")

    assert [row["severity"] for row in rows] == ["warning" if waits else "ok"]
    assert rows[0]["way_out"] == ("Restart the DAG processor." if waits else "")


def test_apply_to_says_of_which_processes_it_knows_when_they_began(cli: Cli, config: Path):
    """Workers of Celery are none of them, although they are what a change of the settings waits for."""
    _, rows = rows_of(cli, "--only", "apply_to")

    assert rows[0]["what"] == "apply_to is empty; no scheduler, DAG processor or triggerer waits for a restart."


def change(cli: Cli, sql: str) -> None:
    import sqlite3

    with closing(sqlite3.connect(cli.deployment.home / "airflow.db", timeout=60)) as database:
        database.execute(sql)
        database.commit()


def closed_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


VAULT = {"config.providers": "v", "config.providers.v.class": "vault"}


@pytest.mark.parametrize(
    "extra",
    [
        pytest.param(
            {
                **VAULT,
                "config.providers.v.param.token": CANARY,
                "config.providers.v.param.url": "http://127.0.0.1:{port}",
            },
            id="Vault is away",
        ),
        pytest.param({**VAULT, "config.providers.v.param.tokn": CANARY}, id="unknown parameter"),
        pytest.param(
            {**VAULT, "config.providers.v.param.url": f"https://{CANARY}@nowhere.invalid", "x": CANARY}, id="bad URL"
        ),
        pytest.param({"config.providers": "v", "config.providers.v.class": "file", "propertys": CANARY}, id="fields"),
        pytest.param({"properties": f"config.providers=v\nconfig.providers.v.param.x=\\u{CANARY}"}, id="properties"),
        pytest.param({"config.providers": {"password": CANARY}}, id="no string"),
    ],
)
def test_no_output_shows_a_secret_even_if_everything_fails(cli: Cli, tmp_path, extra):
    (tmp_path / "base.properties").write_text(f"spark.app.password={CANARY}\nspark.a=\\u{CANARY}\n")
    (tmp_path / "base.yaml").write_text(f"spark.app.password: [{CANARY}]\n")
    (tmp_path / "policies.yaml").write_text(f"policies:\n- name: a\n  class: {{x: {CANARY}}}\n")
    port = str(closed_port())
    filled = {key: text.replace("{port}", port) if isinstance(text, str) else text for key, text in extra.items()}
    environ = {
        **connected(**filled),
        "AIRFLOW__CORE__FERNET_KEY": CANARY,
        "AIRFLOW__CONFIG_PROVIDERS__PASSWORD_ENCODER_SECRET": CANARY,
        "AIRFLOW__CONFIG_PROVIDERS__PASSWORD_ENCODER_OLD_SECRET": CANARY,
        "AIRFLOW__CONFIG_PROVIDERS__PASSWORD_ENCODER_ITERATIONS": "0",
        "AIRFLOW__CONFIG_PROVIDERS__DYNAMIC_ENABLED": "perhaps",
        "AIRFLOW__CONFIG_PROVIDERS__CONFIG_FILES": f"{tmp_path}/base.properties,{tmp_path}/base.yaml",
        "AIRFLOW__CONFIG_PROVIDERS__POLICIES_FILE": f"{tmp_path}/policies.yaml",
        "AIRFLOW__CONFIG_PROVIDERS__RECORDS_PATH": "nosuch://bucket/records",
        "PATH": os.environ["PATH"],
    }
    done = cli.airflow("config-providers", "doctor", "--output", "json", environ=environ)

    failed = {row["check"] for row in json.loads(done.out) if row["severity"] == "error"}
    assert failed >= {"settings", "encryption", "files", "records"}
    assert failed & {"connection", "providers"}
    assert done.code == 1
    assert CANARY not in done.out + done.err


def test_a_connection_that_is_no_json_shows_no_part_of_it(cli: Cli):
    environ = {"AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT": f'{{"conn_type": "config_providers", "extra": "{CANARY}'}
    done, rows = rows_of(cli, "--only", "connection,providers", **environ)

    assert {row["severity"] for row in rows} == {"error"}
    assert CANARY not in done.out + done.err


@pytest.mark.slow
def test_no_line_of_the_log_shows_a_secret(cli: Cli):
    """In a process of its own, whose standard error has what Airflow and the libraries log."""
    params = {
        "config.providers.v.param.token": CANARY,
        "config.providers.v.param.url": f"http://127.0.0.1:{closed_port()}",
    }
    environ = {**connected(**VAULT, **params), "AIRFLOW__LOGGING__LOGGING_LEVEL": "DEBUG"}
    done = cli.deployment.airflow("config-providers", "doctor", "--only", "connection,providers", **environ)

    assert done.code == 1
    assert CANARY not in done.out + done.err
