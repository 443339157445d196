"""The guides that lead here from elsewhere hold what they say: each row of their tables is tried."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from jinja2.sandbox import SandboxedEnvironment

from airflow_config_providers.core import ConfigTransformer, ProviderRegistry, properties
from tests.docs.pages import ROOT, snippets
from tests.docs.test_snippets import run_python, write_files

TEMPLATES = ROOT / "docs" / "how-to" / "move-from-conn-templates.md"
DATABRICKS = ROOT / "docs" / "how-to" / "move-from-databricks.md"

ROW = re.compile(r"^\| `(\{\{[^`]*\}\})` \| `(\$\{[^`]*\})` \|$", flags=re.MULTILINE)
CONNECTION = {
    "conn_type": "postgres",
    "host": "db.example",
    "port": 5432,
    "schema": "flights",
    "login": "ada",
    "password": "p/w+d &=%",
    "extra": {"region": "eu", "license": "42-x"},
}
VARIABLES = {"ENDPOINT": "innocent", "LIMITS": json.dumps({"rows": 10, "tables": {"flights": "big"}})}


def rows(page: Path) -> list[tuple[str, str]]:
    return ROW.findall(page.read_text())


def entries(text: str) -> dict[str, str]:
    return {entry.key: entry.value for entry in properties.parse(text, name="snippet")}


def definitions(page: Path) -> dict[str, str]:
    """The first snippet of the page that defines providers."""
    return next(found for s in snippets(page) if "config.providers" in (found := entries(s.text)))


def render(template: str) -> str:
    """Render as a task does."""
    from airflow.sdk.execution_time.context import ConnectionAccessor, VariableAccessor

    var = {"value": VariableAccessor(deserialize_json=False), "json": VariableAccessor(deserialize_json=True)}
    return SandboxedEnvironment().from_string(template).render(conn=ConnectionAccessor(), var=var)


@pytest.mark.parametrize(("template", "reference"), rows(TEMPLATES))
def test_a_reference_gives_what_its_template_gave(
    template: str, reference: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_DB", json.dumps(CONNECTION))
    for key, value in VARIABLES.items():
        monkeypatch.setenv(f"AIRFLOW_VAR_{key}", value)

    with ProviderRegistry(deployment=True).open(definitions(TEMPLATES)) as providers:
        given = ConfigTransformer(providers).transform({"spark.app.x": reference})

    assert given.unresolved == {}
    assert given.data["spark.app.x"] == render(template)


def test_the_page_of_templates_has_its_table() -> None:
    assert len(rows(TEMPLATES)) >= 10


def test_the_search_for_secrets_in_shell_commands_finds_templates_alone(tmp_path: Path) -> None:
    """The guide's command, run in a folder beside ``dags``."""
    (search,) = [line for s in snippets(TEMPLATES) for line in s.text.splitlines() if line.startswith("grep")]
    written = ["{{ conn.db.password }}", "{{- var.value.x }}", "{{ (conn.db).password }}", "{% set x = conn %}"]
    others = ["{{ ds }}", "{{ connect }}"]
    dags = tmp_path / "dags"
    dags.mkdir()
    (dags / "a.sh").write_text("spark-submit \\\n" + "".join(f"  --conf spark.x={x} \\\n" for x in written + others))
    (dags / "other.py").write_text('"echo {{ conn.db.host }}"')

    found = subprocess.run(["bash", "-c", search], cwd=tmp_path, text=True, check=True, stdout=subprocess.PIPE).stdout

    assert [line.split(":")[:2] for line in found.splitlines()] == [["dags/a.sh", str(n)] for n in (2, 3, 4, 5)]


def test_the_translation_gives_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(DATABRICKS, tmp_path)

    run_python(DATABRICKS)

    shown = [s.text for s in snippets(DATABRICKS) if s.language == "properties" and not s.title]
    assert (tmp_path / "job.properties").read_text() in shown


def test_the_first_row_of_databricks_is_what_the_translation_makes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [(databricks, reference)] = rows(DATABRICKS)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cluster.conf").write_text(f"spark.app.x {databricks}\n")

    run_python(DATABRICKS)

    assert entries((tmp_path / "job.properties").read_text()) == {"spark.app.x": reference}
