"""``airflow config-providers lint``, called as people call it and as Airflow calls it."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.servers import quick_python

pytest.importorskip("airflow")

import re
from urllib.parse import unquote

import pytest

from airflow_config_providers.cli.lint import REPORTS, lint
from airflow_config_providers.lint.finding import DEAD_OVERRIDE, MALFORMED, RULES, Finding, SourcePlace

CANARY = "c4nary-of-the-command"
UNCHECKED = (
    "Names of providers were not checked: the environment does not define config_providers_default. "
    "Use --providers or --conn-extra.\n"
)
EXTRA = '{"config.providers": "vault", "config.providers.vault.class": "vault"}'


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tmp_path / "base.properties"


@contextmanager
def standard_input(path: Path, text: str) -> Iterator[None]:
    """Let the standard input of this process be a file with ``text``."""
    path.write_text(text)
    before = os.dup(0)
    try:
        with path.open() as file:
            os.dup2(file.fileno(), 0)
        yield
    finally:
        os.dup2(before, 0)
        os.close(before)


def run(capsys: pytest.CaptureFixture[str], *paths: Path, **options: Any) -> tuple[int, str, str]:
    usual = {
        "skip_other_yaml": False,
        "providers": None,
        "conn_extra": None,
        "timeout": 60.0,
        "select": None,
        "ignore": None,
        "output": "plain",
    }
    code = 0
    try:
        lint(Namespace(paths=list(map(str, paths)), **{**usual, **options}))
    except SystemExit as end:
        code = int(end.code or 0)
    done = capsys.readouterr()
    return code, done.out, done.err


def test_no_finding_is_an_empty_report_and_ends_with_0(base: Path, capsys: pytest.CaptureFixture[str]):
    base.write_text("spark.executor.memory=4g\n")

    assert run(capsys, base) == (0, "", "1 file read, no findings.\n")


def test_a_finding_is_a_line_and_ends_with_1(base: Path, capsys: pytest.CaptureFixture[str]):
    base.write_text(f"\nspark.app.password={CANARY}\n")

    code, out, err = run(capsys, base)

    assert (code, err) == (1, "1 file read, 1 finding.\n")
    assert out.startswith(f"{base}:2: CP201 'spark.app.password': a string of {len(CANARY)} characters")
    assert out.count("\n") == 1


def test_keys_are_those_of_the_spark_at_hand(
    base: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    (base.parent / "RELEASE").write_text("Spark 3.5.8 built for Hadoop 3.3.4")
    monkeypatch.setenv("SPARK_HOME", str(base.parent))
    base.write_text("spark.checkpoint.dir=x\n")

    code, out, _ = run(capsys, base)

    assert code == 1
    assert f"{base}:1: CP306 'spark.checkpoint.dir': Spark has this key since 4.0; this Spark is 3.5.8." in out


@pytest.mark.parametrize("output", ["plain", "json", "sarif", "junit"])
def test_no_report_shows_a_secret(base: Path, capsys: pytest.CaptureFixture[str], output: str):
    base.write_text(f"spark.app.password={CANARY}\nspark.executor.memory={CANARY}\nspark.app.x=${{a:-{CANARY}}}\n")

    code, out, _ = run(capsys, base, output=output, conn_extra=EXTRA)

    assert code == 1
    assert {"CP101", "CP201", "CP304"} <= {word for word in ("CP101", "CP201", "CP304") if word in out}
    assert CANARY not in out


def test_a_file_that_cannot_be_read_ends_with_2(base: Path, capsys: pytest.CaptureFixture[str]):
    base.write_bytes(b"\xff")

    code, out, _ = run(capsys, base)

    assert code == 2
    assert "CP003" in out


def test_an_ignored_rule_does_not_fail(base: Path, capsys: pytest.CaptureFixture[str]):
    base.write_text(f"spark.app.password={CANARY}\n")

    assert run(capsys, base, ignore=["cp2"])[0] == 0
    assert run(capsys, base, select=["CP1,CP3"])[0] == 0


def test_providers_come_from_a_file_an_extra_or_standard_input(base: Path, capsys: pytest.CaptureFixture[str]):
    base.write_text("spark.app.x=${other:a:b}\n")
    providers = base.with_name("providers.properties")
    providers.write_text("config.providers=vault\nconfig.providers.vault.class=vault\n")

    assert run(capsys, base) == (0, "", f"1 file read, no findings.\n{UNCHECKED}")
    for given in ({"providers": str(providers)}, {"conn_extra": EXTRA}, {"conn_extra": "-"}):
        with standard_input(base.with_name("extra.json"), EXTRA):
            code, out, _ = run(capsys, base, **given)
        assert (code, "CP102" in out) == (1, True)


def test_a_misspelt_parameter_of_a_provider_is_found(base: Path, capsys: pytest.CaptureFixture[str]):
    base.write_text("")
    code, out, _ = run(capsys, base, conn_extra=EXTRA.replace("}", ', "config.providers.vault.param.adress": "x"}'))

    assert code == 1
    assert out.startswith("--conn-extra: CP107 config.providers.vault.param.adress would be ignored: vault has no such")


@pytest.mark.parametrize("text", ["spark.app.x=${vault:a:b}\n", ""], ids=["a reference", "no reference"])
def test_a_misspelt_parameter_in_the_environment_is_found(
    base: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, text: str
):
    base.write_text(text)
    extra = EXTRA.replace("}", ', "config.providers.vault.param.adress": "x"}')
    connection = f'{{"conn_type": "config_providers", "extra": {extra}}}'
    monkeypatch.setenv("AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT", connection)

    code, out, _ = run(capsys, base)

    assert (code, out.split()[:2]) == (1, ["AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT:", "CP107"])


def test_of_standard_input_no_more_than_1_mib_is_read(base: Path, capsys: pytest.CaptureFixture[str]):
    base.write_text("")
    with standard_input(base.with_name("extra.json"), " " * 1024 * 1024 + EXTRA):
        code, _, err = run(capsys, base, conn_extra="-")

    assert code == 2
    assert "The value of --conn-extra '-' cannot be read: it has more than 1048576 bytes" in err


def test_the_summary_says_that_names_of_providers_were_not_checked(base: Path, capsys: pytest.CaptureFixture[str]):
    base.write_text("spark.app.x=${other:a:b}\n")

    assert run(capsys, base) == (0, "", f"1 file read, no findings.\n{UNCHECKED}")


def test_the_summary_says_so_of_a_reference_in_a_task_that_is_no_job(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """Only the name of a provider would show that it is none of the shell's variables."""
    (tmp_path / "dag.py").write_text(
        "from airflow.sdk import DAG\nfrom airflow.providers.standard.operators.bash import BashOperator\n"
        'with DAG("d", schedule=None):\n    BashOperator(task_id="t", bash_command="x ${vault:apps/db:password}")\n'
    )

    assert run(capsys, tmp_path / "dag.py") == (0, "", f"1 file read, no findings.\n{UNCHECKED}")


@pytest.mark.parametrize(
    ("text", "options"),
    [
        pytest.param("${vault:a:b}", {"conn_extra": EXTRA}, id="defined"),
        pytest.param("4g", {}, id="no reference"),
        pytest.param("${env:HOME}", {}, id="of Spark"),
        pytest.param("${other:a:b}", {"ignore": ["CP102"]}, id="not asked for"),
    ],
)
def test_the_summary_is_silent_about_names_if_there_was_none_to_check(
    base: Path, capsys: pytest.CaptureFixture[str], text: str, options: dict[str, Any]
):
    base.write_text(f"spark.app.x={text}\n")

    assert run(capsys, base, **options) == (0, "", "1 file read, no findings.\n")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        pytest.param({"select": ["CP9"]}, "No rule has the code CP9", id="unknown code"),
        pytest.param({"providers": "a", "conn_extra": "{}"}, "but not both", id="two definitions"),
        pytest.param({"conn_extra": f'{{"x": "{CANARY}"'}, "is not a JSON object", id="extra"),
        pytest.param({"providers": "/no/such/file"}, "cannot be read", id="file of providers"),
        pytest.param({"timeout": 0.0}, "--timeout must be more than 0", id="timeout"),
    ],
)
def test_wrong_arguments_end_with_2(
    base: Path, capsys: pytest.CaptureFixture[str], options: dict[str, Any], problem: str
):
    base.write_text("")

    code, out, err = run(capsys, base, **options)

    assert (code, out) == (2, "")
    assert problem in err
    assert CANARY not in err


def test_a_dags_folder_that_does_not_exist_ends_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("AIRFLOW__CORE__DAGS_FOLDER", str(tmp_path / "nowhere"))

    code, out, err = run(capsys)

    assert (code, out) == (2, "")
    assert "[core] dags_folder" in err


@pytest.mark.integration
def test_secrets_in_the_environment_and_the_arguments_of_a_job_are_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    dag = tmp_path / "flights.py"
    dag.write_text(
        "from airflow.sdk import DAG\n"
        "from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator\n"
        'with DAG("flights", schedule=None):\n'
        '    ConfiguredSparkSubmitOperator(task_id="report", application="x.py",\n'
        f'        env_vars={{"DB_PASSWORD": "{CANARY}", "DB_URL": "x://u:{CANARY}@${{vault:a:b}}"}},\n'
        f'        application_args=["--password={CANARY}", "2026-11-27"])\n'
    )

    code, out, _ = run(capsys, dag, select=["CP201"])

    assert code == 1
    assert [line.split(": CP201 flights.report: ")[1].partition(":")[0] for line in out.splitlines()] == [
        "'env_vars['DB_PASSWORD']'",
        "'env_vars['DB_URL']'",
        "'application_args[0]'",
    ]
    assert CANARY not in out


@pytest.mark.slow
@pytest.mark.integration
def test_it_needs_no_database(tmp_path: Path):
    dags = tmp_path / "dags"
    dags.mkdir()
    (dags / "flights.py").write_text(
        "from airflow.sdk import DAG\n"
        "from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator\n"
        'with DAG("flights", schedule=None):\n'
        '    ConfiguredSparkSubmitOperator(task_id="report", application="x.py",\n'
        f'        conf={{"spark.app.token": "{CANARY}", "spark.x": "${{valut:a:b}}", "spark.executor.memory": "1g"}},\n'
        '        executor_memory="2g")\n'
    )
    environ = {
        **{name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")},
        "AIRFLOW_HOME": str(tmp_path),
        "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{tmp_path}/no/airflow.db",
        "AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT": json.dumps({"conn_type": "config_providers", "extra": EXTRA}),
    }

    done = quick_python.run("-m", "airflow", "config-providers", "lint", "-o", "junit", env=environ, cwd=tmp_path)

    assert done.returncode == 1, done.stderr
    found = [case.get("name", "").split()[0] for case in ElementTree.fromstring(done.stdout).iter("testcase")]
    assert found == ["CP102", "CP201", "CP402"]
    assert CANARY not in done.stdout + done.stderr
    assert not (tmp_path / "airflow.db").exists()


def test_the_module_of_the_command_loads_no_operator():
    script = "import sys, airflow_config_providers.cli.lint; print(*sys.modules)"
    done = quick_python.run("-c", script, env=dict(os.environ))

    assert "airflow_config_providers.lint.linter" in done.stdout.split()
    assert "airflow_config_providers.operators.configured" not in done.stdout.split()
    assert done.args[0] == sys.executable


ODD = "a<b>&\"'\x1b[31m\x00\ufffe\ud800 é.py"
FOUND = [
    Finding(MALFORMED, SourcePlace("dags/a.py", 7, "flights.report"), "It is wrong."),
    Finding(MALFORMED, SourcePlace(ODD), f"'{ODD}' is wrong."),
    Finding(DEAD_OVERRIDE, SourcePlace("base.properties", 3), "It has no effect."),
]
FILES = ["dags/a.py", ODD, "base.properties", "clean.py"]


def sarif() -> Any:
    return json.loads(REPORTS["sarif"](FOUND, FILES))


def test_the_plain_report_has_a_line_for_each_finding():
    assert REPORTS["plain"](FOUND, FILES).split("\n") == list(map(str, FOUND))


def test_json_has_a_row_for_each_finding():
    rows = json.loads(REPORTS["json"](FOUND, FILES))

    assert rows[0] == {
        "file": "dags/a.py",
        "line": 7,
        "code": "CP101",
        "rule": "malformed-reference",
        "severity": "error",
        "task": "flights.report",
        "message": "It is wrong.",
    }
    assert (rows[1]["line"], rows[1]["task"]) == (None, None)


def test_sarif_has_what_the_specification_requires():
    """Sections 3.13.2, 3.13.4, 3.14.6, 3.18.1, 3.19.2, 3.27.11, 3.28, 3.30.5 and 3.49.3 of SARIF 2.1.0."""
    log = sarif()

    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-schema-2.1.0.json")
    (run,) = log["runs"]
    assert run["tool"]["driver"]["name"]
    assert re.fullmatch(r"\d+\.\d+\S*", run["tool"]["driver"]["version"])
    for result in run["results"]:
        assert result["message"]["text"]
        for location in result["locations"]:
            region = location["physicalLocation"].get("region", {"startLine": 1})
            assert region["startLine"] >= 1


def test_each_result_of_sarif_leads_to_its_rule():
    (run,) = sarif()["runs"]
    rules = run["tool"]["driver"]["rules"]

    assert [rule["id"] for rule in rules] == [rule.code for rule in RULES]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in {"error", "warning", "note"}


def test_a_path_in_sarif_is_an_uri(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    places = [SourcePlace(str(tmp_path / "dags" / "a b%.py")), SourcePlace("dags/é.py"), SourcePlace("/elsewhere/x.py")]

    log = json.loads(REPORTS["sarif"]([Finding(MALFORMED, place, "x") for place in places], []))
    found = [one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for one in log["runs"][0]["results"]]

    assert found == ["dags/a%20b%25.py", "dags/%C3%A9.py", "file:///elsewhere/x.py"]
    assert unquote(found[1]) == "dags/é.py"


def test_a_finding_that_is_in_no_file_has_a_place_in_sarif_since_code_scanners_refuse_a_log_without():
    log = json.loads(REPORTS["sarif"]([Finding(MALFORMED, SourcePlace("--conn-extra"), "x")], []))

    (result,) = log["runs"][0]["results"]
    assert result["locations"] == [{"physicalLocation": {"artifactLocation": {"uri": "--conn-extra"}}}]


def test_junit_is_well_formed_with_a_test_for_each_finding_and_each_clean_file():
    text = REPORTS["junit"](FOUND, FILES)
    suites = ElementTree.fromstring(text.encode())

    (suite,) = suites
    cases = {(case.get("classname"), case.get("name")): case for case in suite}
    assert suite.attrib == {"name": "config-providers-lint", "tests": "4", "failures": "2", "errors": "0"}
    assert cases["dags/a.py", "CP101 line 7 flights.report"].find("failure").get("type") == "CP101"
    assert len(cases["clean.py", "lint"]) == 0
    assert cases["base.properties", "CP402 line 3"].find("failure") is None


def test_no_report_of_nothing_fails():
    assert REPORTS["plain"]([], []) == ""
    assert json.loads(REPORTS["json"]([], [])) == []
    assert json.loads(REPORTS["sarif"]([], []))["runs"][0]["results"] == []
    assert ElementTree.fromstring(REPORTS["junit"]([], []).encode()).get("tests") == "0"
