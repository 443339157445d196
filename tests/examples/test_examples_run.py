"""Each example DAG parses, and runs with real Airflow and real spark-submit."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from dags_examples.demo.pipeline import json_rows
from dags_examples.demo.workspace import EXAMPLES, Workspace, make_secret, unpack_flights
from tests.examples.runs import places_of, rendered_fields, run
from tests.limits import PATIENT_AIRFLOW
from tests.servers import quick_python
from tests.spark.audit.leaks.clean import false_alarms, searched
from tests.spark.audit.records.past import Past

pytestmark = pytest.mark.integration

LIST_DAGS = f"""
import json
from airflow.dag_processing.dagbag import DagBag
bag = DagBag({str(EXAMPLES)!r})
print("DAGS", json.dumps([sorted(bag.dags), bag.import_errors]))
"""


def test_the_examples_parse_and_nothing_else_is_taken_for_a_dag(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "work")
    workspace.create()
    environment = {**workspace.environment(secrets_dir=workspace.secrets), **PATIENT_AIRFLOW}
    parsed = quick_python.run("-c", LIST_DAGS, env=environment, cwd=workspace.root)

    assert parsed.returncode == 0, parsed.stderr
    [line] = [line for line in parsed.stdout.splitlines() if line.startswith("DAGS ")]
    dags = [
        "audit_configuration",
        "audit_logs",
        "flights_delay_report",
        "flights_vault",
        "mapped_reports",
        "quickstart",
        "resolve_in_driver",
    ]
    dags += ["stream_counts", "stream_counts_driver"]
    assert json.loads(line.removeprefix("DAGS ")) == [dags, {}]


def providers(**extra: str) -> str:
    return json.dumps({"conn_type": "config_providers", "extra": extra})


@pytest.fixture(scope="module")
def quickstart(workspace: Workspace, tmp_path_factory: pytest.TempPathFactory) -> tuple[int, str]:
    file = tmp_path_factory.mktemp("hello") / "hello.properties"
    file.write_text("token=twenty-one-characters\n")
    definition: Mapping[str, str] = {
        "config.providers": "file,env",
        "config.providers.file.class": "file",
        "config.providers.file.param.allowed.paths": str(file),
        "config.providers.env.class": "env",
        "config.providers.env.param.allowlist.pattern": "HELLO_.*",
    }
    return run(
        workspace,
        ["dags", "test", "quickstart"],
        HELLO_NAME="everybody",
        AIRFLOW_VAR_HELLO_FILE=str(file),
        AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT=providers(**definition),
    )


@pytest.mark.slow
def test_the_quickstart_gives_both_values_to_its_job(quickstart: tuple[int, str]) -> None:
    code, output = quickstart

    assert code == 0
    assert "hello ${env:HELLO_NAME}, your token has 21 characters" in output


@pytest.mark.slow
def test_the_quickstart_shows_references(quickstart: tuple[int, str], workspace: Workspace) -> None:
    [fields] = rendered_fields(workspace, "quickstart")

    assert any(line.startswith("spark.hello.name = ${env:HELLO_NAME} ") for line in fields["effective_config"])


@pytest.mark.slow
def test_the_quickstart_leaves_its_token_nowhere(quickstart: tuple[int, str], workspace: Workspace) -> None:
    assert places_of("twenty-one-characters", workspace) == []


@pytest.fixture(scope="module")
def resolve_in_driver(workspace: Workspace, tmp_path_factory: pytest.TempPathFactory) -> tuple[int, str]:
    file = tmp_path_factory.mktemp("hello") / "hello.properties"
    file.write_text("token=only-the-driver-reads-it\n")
    definition: Mapping[str, str] = {
        "driver.config.providers": "mounted",
        "driver.config.providers.mounted.class": "file",
        "driver.config.providers.mounted.param.allowed.paths": str(file),
    }
    return run(
        workspace,
        ["dags", "test", "resolve_in_driver"],
        AIRFLOW_VAR_HELLO_FILE=str(file),
        AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT=providers(**definition),
    )


@pytest.mark.slow
def test_the_driver_gets_the_value_and_shows_the_reference(
    resolve_in_driver: tuple[int, str], workspace: Workspace
) -> None:
    code, output = resolve_in_driver
    [fields] = rendered_fields(workspace, "resolve_in_driver")

    assert code == 0
    assert re.search(r"hello driver, your token \$\{mounted:\S+:token\} has 24 characters", output)
    assert any(line.startswith("spark.hello.token = ${mounted:") for line in fields["effective_config"])
    assert places_of("only-the-driver-reads-it", workspace) == []


MONTHS = {1: 27_004, 6: 28_243, 12: 28_135}
"""Month -> its flights, of those that the example reports."""


@pytest.fixture(scope="module")
def signing_key(workspace: Workspace) -> str:
    return make_secret(workspace.secrets, "report-signing-key")


@pytest.fixture(scope="module")
def mapped_reports(workspace: Workspace, signing_key: str) -> tuple[int, str]:
    unpack_flights(workspace.root / "raw")
    keep_reported_months(workspace.root / "raw/flights.csv")
    return run(workspace, ["dags", "test", "mapped_reports"])


def keep_reported_months(file: Path) -> None:
    """Leave a fourth of the flights, which each job reads."""
    header, *flights = file.read_text().splitlines(keepends=True)
    file.write_text("".join([header, *(flight for flight in flights if int(flight.split(",", 2)[1]) in MONTHS)]))


@pytest.mark.slow
@pytest.mark.parametrize(("month", "flights"), MONTHS.items())
def test_a_mapped_task_signs_its_count_with_the_key(
    mapped_reports: tuple[int, str], workspace: Workspace, signing_key: str, month: int, flights: int
) -> None:
    assert mapped_reports[0] == 0
    [row] = json_rows(workspace.root / f"counts/month={month}")

    expected = hmac.new(signing_key.encode(), f"{month}:{flights}".encode(), hashlib.sha256).hexdigest()
    assert row == {"month": month, "flights": flights, "signature": expected}


@pytest.mark.slow
def test_every_mapped_task_shows_its_own_month_and_the_reference(
    mapped_reports: tuple[int, str], workspace: Workspace
) -> None:
    shown = [fields["effective_config"] for fields in rendered_fields(workspace, "mapped_reports")]

    months = [line.split("   #")[0] for lines in shown for line in lines if line.startswith("spark.count.month ")]
    keys = [line.split("   #")[0] for lines in shown for line in lines if line.startswith("spark.count.signing.key ")]
    assert months == ["spark.count.month = 1", "spark.count.month = 6", "spark.count.month = 12"]
    assert keys == [f"spark.count.signing.key = ${{mounted:{workspace.secrets}:report-signing-key}}"] * 3


@pytest.mark.slow
def test_the_mapped_tasks_leave_their_key_nowhere(
    mapped_reports: tuple[int, str], workspace: Workspace, signing_key: str
) -> None:
    assert places_of(signing_key, workspace) == []


@pytest.mark.slow
def test_an_audit_finds_no_typical_value_in_the_logs_and_the_data_of_the_flights(
    mapped_reports: tuple[int, str], workspace: Workspace
) -> None:
    results = searched(workspace.root)

    assert sum(one.found.octets for one in results) > 1_000_000
    assert false_alarms(results) == []


def audited(folder: Path, workspace: Workspace) -> tuple[int, str]:
    definition = {
        "config.providers": "mounted",
        "config.providers.mounted.class": "directory",
        "config.providers.mounted.param.allowed.paths": str(folder / "secrets"),
    }
    return run(
        workspace,
        ["dags", "test", "audit_logs"],
        AIRFLOW_VAR_AUDIT_HOME=str(folder),
        AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT=providers(**definition),
    )


@pytest.fixture
def audit_home(tmp_path: Path) -> Path:
    for name in ("secrets", "logs"):
        (tmp_path / name).mkdir()
    (tmp_path / "secrets" / "token").write_text("a-token-of-the-audit")
    (tmp_path / "logs" / "task.log").write_text("nothing\n")
    return tmp_path


@pytest.mark.slow
def test_the_weekly_audit_succeeds_if_nothing_is_found(audit_home: Path, workspace: Workspace) -> None:
    code, output = audited(audit_home, workspace)

    assert code == 0
    assert "1 file with 8 bytes searched (1 read now): no leaks." in output
    assert "Nothing found." in (audit_home / "leaks.html").read_text()


@pytest.mark.slow
def test_the_weekly_audit_fails_if_a_value_is_in_a_log(audit_home: Path, workspace: Workspace) -> None:
    (audit_home / "logs" / "task.log").write_text("first\nthe token is a-token-of-the-audit\n")

    code, output = audited(audit_home, workspace)

    assert code != 0
    assert f"{audit_home}/logs/task.log:2: ${{mounted:{audit_home}/secrets:token}} (plain, " in output
    assert places_of("a-token-of-the-audit", workspace) == []


@pytest.mark.slow
def test_the_weekly_audit_of_the_configuration_writes_its_pages(tmp_path: Path, workspace: Workspace) -> None:
    past = Past(tmp_path / "tries")
    for day, memory in enumerate(("4g", "8g"), 1):
        past({"spark.executor.memory": memory}, run=f"r{day}", day=day)
    policies = "policies: [{name: small, class: bounds, params: {spark.executor.memory: {max: 4g}}}]"
    (tmp_path / "tomorrow.yaml").write_text(policies)

    code, output = run(
        workspace,
        ["dags", "test", "audit_configuration"],
        AIRFLOW_VAR_AUDIT_HOME=str(tmp_path),
        AIRFLOW__CONFIG_PROVIDERS__RECORDS_PATH=str(past.folder),
    )

    assert code == 0, output
    assert "1 of 2 runs of tasks would have been stopped." in output
    assert "50.0 % of all runs of tasks would have been stopped." in (tmp_path / "policies.html").read_text()
    assert "<td>spark.executor.memory</td>" in (tmp_path / "history.html").read_text()
    assert (tmp_path / "history.parquet").is_file()
    assert "No task is known to have an older value." in (tmp_path / "references.html").read_text()
