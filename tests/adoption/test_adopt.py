"""``airflow config-providers adopt``: the changed DAGs are imported, and mean the same."""

from __future__ import annotations

import codecs
import json
import os
import shutil
import subprocess
from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache, partial
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from jinja2 import Environment

pytest.importorskip("airflow")

from airflow_config_providers.adoption.adopter import Adoption
from airflow_config_providers.adoption.file_proposal import FileProposal, FileProposer, ProposalRules
from airflow_config_providers.adoption.proof import ENVIRONMENT, Imports, Meaning, _meanings, _reader
from airflow_config_providers.adoption.references import Providers
from airflow_config_providers.adoption.shared_layers import SharedLayer
from airflow_config_providers.cli.adopt import _write, adopt, adopt_with
from airflow_config_providers.cli.failing import reporting_errors
from airflow_config_providers.core.document import read_key
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.lint.dag_process import AirflowProcess
from tests.adoption.proposing import USER
from tests.limits import LONGEST

pytestmark = [
    pytest.mark.slow,
    pytest.mark.integration,
    pytest.mark.skipif(shutil.which("git") is None, reason="needs git"),
]

CANARY = "c4nary-of-adopt"
STOCK = "from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator\n"
FLIGHTS = f'''"""Flights."""
{STOCK}from airflow.sdk import DAG, Variable

OTHER = Variable.get("other")
SHARED = {{"spark.app.user": "{{{{ conn.db.login }}}}", "spark.app.mode": "fast"}}

with DAG("flights", schedule=None):
    SparkSubmitOperator(
        task_id="report",
        application="/opt/report.py",  # the report
        conf={{
            # where the data is
            "spark.app.url": "jdbc:postgresql://{{{{ conn.db.host }}}}/x",
            "spark.app.db.password": "{{{{ conn.db.password }}}}",  # from the connection
            "spark.app.api.token": "{CANARY}",
            "spark.executor.memory": "4g",
            "spark.app.base": "yes",
            "spark.app.limit": Variable.get("limit"),
            "spark.app.day": "{{{{ ds }}}}",
            "spark.app.low": "{{{{ conn.db.login | lower }}}}",
            "spark.app.name": "{{{{ var.value.name }}}}",
        }},
        env_vars={{"TOKEN": "{{{{ var.value.token }}}}"}},
        executor_memory="2g",
        application_args=["{{{{ conn.db.password }}}}"],
    )
    for name in ("a", "b"):
        SparkSubmitOperator(task_id=name, application="x.py", conf=SHARED)
    SparkSubmitOperator.partial(task_id="each", application="x.py", conf={{**SHARED, "spark.app.own": "1"}}).expand(
        application_args=[["1"]]
    )
'''
TRAINS = f"""{STOCK}from airflow.sdk import DAG

with DAG("trains", schedule=None):
""" + "".join(
    f'''    SparkSubmitOperator(
        task_id="t{number}",
        application="x.py",
        conf={{
            "spark.app.first": "1",
            "spark.app.second": "{{{{ conn.db.host }}}}",
            "spark.app.third": "3",
            "spark.app.own": "{number}",
        }},
    )
'''
    for number in range(4)
)
BROKEN = f"""{STOCK}from airflow.sdk import DAG
import no_such_module

SparkSubmitOperator(task_id="x", conf={{"spark.a": "{{{{ conn.db.host }}}}"}})
"""
CUSTOM = f"""{STOCK}from airflow.sdk import DAG

class Own(SparkSubmitOperator):
    def __init__(self, conf, **more):
        super().__init__(conf={{key: value.replace("${{", "x") for key, value in conf.items()}}, **more)

CONF = {{"spark.app.host": "{{{{ conn.db.host }}}}"}}
with DAG("custom", schedule=None):
    Own(task_id="own", application="x.py", conf=CONF)
    SparkSubmitOperator(task_id="stock", application="x.py", conf=CONF)
"""
FILES = {"flights.py": FLIGHTS, "trains.py": TRAINS, "broken.py": BROKEN, "custom.py": CUSTOM}


@dataclass(frozen=True, eq=False)
class Adopted:
    """What the command printed, and a copy of the folder to which the patch was applied."""

    folder: Path
    after: Path
    document: Mapping[str, Any]
    err: str

    @property
    def by_hand(self) -> list[str]:
        return [f"{Path(one['file'] or '').name}:{one['line']}: {one['reason']}" for one in self.document["by_hand"]]

    def text(self, name: str) -> str:
        return (self.after / name).read_text()


def run(folder: Path, origin: AirflowProcess | None = None, **options: Any) -> tuple[int, str, str]:
    """Return the exit code of the command and what it printed; without ``origin``, it starts a process itself."""
    command = adopt if origin is None else reporting_errors(partial(adopt_with, origin))
    usual = {
        "paths": [str(folder)],
        "operators": "apply_to",
        "shared_by": 3,
        "layers_folder": None,
        "connection_provider": "connection",
        "variable_provider": "variable",
        "write": None,
        "timeout": LONGEST,
        "output": "json",
    }
    code, out, err = 0, StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            command(Namespace(**{**usual, **options}))
        except SystemExit as end:
            code = int(end.code or 0)
    return code, out.getvalue(), err.getvalue()


@pytest.fixture(scope="module")
def environ(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    base = tmp_path_factory.mktemp("adopt")
    (base / "base.properties").write_text("spark.app.base=yes\n")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "sqlite:////no/such/folder/airflow.db")
        patched.setenv("AIRFLOW__CONFIG_PROVIDERS__CONFIG_FILES", str(base / "base.properties"))
        patched.setenv("AIRFLOW_VAR_OTHER", "o")
        patched.setenv("AIRFLOW_VAR_LIMIT", "9")
        yield base


@cache
def adopted_with(base: Path, operators: str) -> Adopted:
    folder, after = base / operators / "dags", base / operators / "after"
    folder.mkdir(parents=True)
    for name, text in FILES.items():
        (folder / name).write_text(text)
    code, out, err = run(folder, operators=operators)
    assert code == 0, err
    document = json.loads(out)
    shutil.copytree(folder, after)
    command = ["git", "apply", "--unidiff-zero", "-"]
    subprocess.run(command, cwd=after, input=document["patch"].encode(), check=True)
    return Adopted(folder, after, document, err)


@pytest.fixture(scope="module", params=["apply_to", "classes"])
def adopted(request: pytest.FixtureRequest, environ: Path) -> Adopted:
    return adopted_with(environ, request.param)


@pytest.fixture
def with_classes(environ: Path) -> Adopted:
    return adopted_with(environ, "classes")


@pytest.fixture(scope="module")
def origin(environ: Path) -> Iterator[AirflowProcess]:
    """The process whose copies import what is compared."""
    with AirflowProcess(ENVIRONMENT) as found:
        yield found


@cache
def meanings(folder: Path, layers: Path, origin: AirflowProcess) -> dict[tuple[str, str], Meaning]:
    """Return what the jobs of a folder mean, with the layer files that it names."""
    imports = Imports(folder, LONGEST, lambda: None, origin)
    read = imports.before([str(folder / name) for name in ("flights.py", "trains.py")])
    proposed = {
        f"{layers}/layers/{path.name}": dict(line.split("=", 1) for line in path.read_text().splitlines())
        for path in (folder / "layers").glob("*.properties")
    }
    unescaped = {path: {k: v.replace("\\:", ":") for k, v in one.items()} for path, one in proposed.items()}
    assert [file.findings for file in read] == [(), ()]
    return {task: meaning for file in read for task, meaning in _meanings(file, _reader(unescaped), ())}


def test_the_patched_dags_mean_the_same_apart_from_their_references(adopted: Adopted, origin: AirflowProcess):
    before = meanings(adopted.folder, adopted.folder, origin)
    after = meanings(adopted.after, adopted.folder, origin)

    assert before.keys() == after.keys()
    assert {
        (task[1], key): after[task].configs.get(key)
        for task, meaning in before.items()
        for key in meaning.configs.keys() | after[task].configs.keys()
        if after[task].configs.get(key) != meaning.configs.get(key)
    } == {
        ("report", "spark.app.url"): "jdbc:postgresql://${connection:db:host}/x",
        ("report", "spark.app.db.password"): "${connection:db:password}",
        ("report", "spark.app.limit"): "${variable:limit}",
        **{(name, "spark.app.user"): "${connection:db:login}" for name in ("a", "b", "each")},
        **{(f"t{number}", "spark.app.second"): "${connection:db:host}" for number in range(4)},
    }


def test_environment_variables_get_references_too(adopted: Adopted, origin: AirflowProcess):
    after = meanings(adopted.after, adopted.folder, origin)

    assert "${variable:token}" in after["flights", "report"].texts.values()


def test_comments_and_layout_stay(adopted: Adopted):
    text = adopted.text("flights.py")

    assert "# where the data is" in text
    assert '"spark.app.db.password": "${connection:db:password}",  # from the connection\n' in text


def test_entries_that_always_lose_and_that_every_job_has_are_removed(adopted: Adopted):
    text = adopted.text("flights.py")

    assert '"spark.executor.memory": "4g"' not in text
    assert '"spark.app.base"' not in text


def test_no_secret_is_shown(adopted: Adopted):
    assert CANARY not in json.dumps(adopted.document) + adopted.err
    assert CANARY in adopted.text("flights.py")


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("flights.py:5", "a variable is read whenever the file is parsed"),
        ("flights.py:16", "'spark.app.api.token': a secret is written out"),
        ("flights.py:21", "'spark.app.low': its template does more than a reference can"),
        ("flights.py:22", "'spark.app.name': Spark shows the value of this key"),
        (
            "flights.py:26",
            "application_args: its template reads a connection or a variable. Only conf and env_vars are "
            "changed: in other arguments, others could read the value. Pass a secret under a key of conf",
        ),
        ("broken.py:3", "it cannot be imported, so a change cannot be checked"),
        ("custom.py:None", "with the proposed change, "),
    ],
)
def test_what_stays_by_hand_has_its_reason(adopted: Adopted, place: str, reason: str):
    assert any(one.startswith(f"{place}: {reason}") for one in adopted.by_hand), adopted.by_hand


def test_a_file_that_would_mean_something_else_stays_as_it_is(adopted: Adopted):
    assert adopted.text("custom.py") == CUSTOM


def test_with_classes_the_import_and_its_uses_change(with_classes: Adopted):
    text = with_classes.text("trains.py")

    assert "import ConfiguredSparkSubmitOperator\n" in text
    assert " SparkSubmitOperator" not in text


def test_with_classes_shared_values_move_to_a_layer_file(with_classes: Adopted):
    assert with_classes.document["layers"] == [{"name": "shared-1.properties", "jobs": 4, "keys": 3}]
    assert with_classes.text("trains.py").count("config_files=[") == 4
    assert "spark.app.first" not in with_classes.text("trains.py")


def test_a_layer_file_whose_folder_has_a_quote_in_its_name_is_in_the_patch(origin: AirflowProcess, tmp_path: Path):
    (tmp_path / "trains.py").write_text(TRAINS)
    (tmp_path / "other.py").write_text(CUSTOM)

    code, out, err = run(tmp_path, origin, operators="classes", layers_folder='/lay"ers')

    document = json.loads(out)
    assert [one["name"] for one in document["layers"]] == ["shared-1.properties"], (code, err)
    assert 'config_files=["/lay\\"ers/shared-1.properties"]' in document["patch"]
    assert "+++ b/layers/shared-1.properties" in document["patch"]


def test_values_of_every_job_go_to_the_layer_file_of_the_deployment(environ: Path, tmp_path: Path):
    (tmp_path / "trains.py").write_text(TRAINS)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("AIRFLOW__CORE__DAGS_FOLDER", str(tmp_path))
        code, out, err = run(tmp_path, paths=[])

    document = json.loads(out)
    assert (code, document["layers"]) == (0, [{"name": "shared-1.properties", "jobs": 4, "keys": 2}]), err
    assert "config_files=" not in document["patch"]
    assert any("at the end of config_files" in one for one in document["advice"])


def test_it_writes_into_a_new_folder_and_changes_no_dag(environ: Path, tmp_path: Path):
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "trains.py").write_text(TRAINS)

    code, out, _ = run(tmp_path / "dags", write=str(tmp_path / "new"), output="plain", operators="classes")

    assert (code, out) == (0, "")
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["adopt.patch", "layers", "report.txt"]
    assert (tmp_path / "dags" / "trains.py").read_text() == TRAINS
    assert (tmp_path / "new").stat().st_mode & 0o077 == 0


def test_a_folder_that_exists_is_not_written(tmp_path: Path):
    code, _, err = run(tmp_path, write=str(tmp_path))

    assert code == 2
    assert "exists already" in err


def test_a_folder_whose_name_is_too_long_is_an_error(origin: AirflowProcess, tmp_path: Path):
    (tmp_path / "x.py").write_text("# a DAG for Airflow\n")

    code, _, err = run(tmp_path, origin, write=str(tmp_path / ("a" * 300)))

    assert code > 0
    assert "cannot be written: File name too long. Choose another folder" in err


def test_what_cannot_be_copied_or_lies_elsewhere_does_not_keep_other_files_from_being_adopted(
    origin: AirflowProcess, tmp_path: Path
):
    folder = tmp_path / "dags"
    folder.mkdir()
    (tmp_path / "elsewhere.py").write_text(TRAINS)
    (folder / "trains.py").write_text(TRAINS)
    (folder / "trains.py").chmod(0o400)
    (folder / "link.py").symlink_to("trains.py")
    (folder / "out.py").symlink_to(tmp_path / "elsewhere.py")
    (folder / "gone.py").symlink_to("nowhere.py")
    os.mkfifo(folder / "pipe")
    (folder / "marked.py").write_bytes(codecs.BOM_UTF8 + TRAINS.encode())

    code, out, err = run(folder, origin)

    document = json.loads(out)
    assert code == 0, err
    assert [Path(one["file"]).name for one in document["by_hand"] if one["file"]] == ["marked.py", "out.py"]
    assert [line for line in document["patch"].splitlines() if line.startswith("+++")] == ["+++ b/trains.py"]


def test_a_file_that_imports_through_a_link_out_of_the_folder_is_adopted(origin: AirflowProcess, tmp_path: Path):
    folder = tmp_path / "dags"
    folder.mkdir()
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "common_names.py").write_text("OWNER = 'trains'\n")
    (folder / "common").symlink_to("../shared")
    (folder / "trains.py").write_text(f"from common.common_names import OWNER\n{TRAINS}")

    code, out, err = run(folder, origin)

    assert code == 0, err
    assert "+++ b/trains.py" in json.loads(out)["patch"]


def test_a_deployment_without_a_folder_of_dags_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AIRFLOW__CORE__DAGS_FOLDER", str(tmp_path / "nowhere"))

    code, _, err = run(tmp_path, paths=[])

    assert code == 3
    assert "Correct [core] dags_folder" in err


def test_an_existing_layer_file_keeps_its_name_and_content(origin: AirflowProcess, tmp_path: Path):
    (tmp_path / "layers").mkdir()
    (tmp_path / "layers" / "shared-1.properties").write_text("spark.app.first=9\n")
    (tmp_path / "trains.py").write_text(TRAINS)

    code, out, err = run(tmp_path, origin, operators="classes")

    assert code == 0, err
    assert [layer["name"] for layer in json.loads(out)["layers"]] == ["shared-2.properties"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param(
            f"{STOCK}def make(**more):  # for DAG files\n    return SparkSubmitOperator(\n"
            '        conf={"spark.executor.memory": "1g"}, executor_memory="2g", **more\n    )\n',
            "it creates tasks only for other files",
            id="factory",
        ),
        pytest.param(
            f'{STOCK}from airflow.sdk import DAG\n\nwith DAG("x", schedule=None):\n    SparkSubmitOperator(\n'
            '        task_id="x", conf={"spark.app.base": "yes"}, **{"properties_file": "/of/the/workers"}\n    )\n',
            "with the proposed change, 'spark.app.base' of task 'x' could come from '/of/the/workers', which cannot",
            id="file-of-workers",
        ),
    ],
)
def test_what_cannot_be_checked_stays_as_it_is(origin: AirflowProcess, tmp_path: Path, text: str, reason: str):
    (tmp_path / "x.py").write_text(text)

    code, out, err = run(tmp_path, origin)

    assert code == 0, err
    assert json.loads(out)["patch"] == ""
    assert any(one["reason"].startswith(reason) for one in json.loads(out)["by_hand"]), out


def test_an_entry_stays_if_the_argument_in_its_place_can_render_to_nothing(origin: AirflowProcess, tmp_path: Path):
    (tmp_path / "x.py").write_text(
        f'{STOCK}from airflow.sdk import DAG\n\nwith DAG("x", schedule=None):\n    SparkSubmitOperator(\n'
        '        task_id="x", conf={"spark.executor.memory": "1g"}, executor_memory="{{ params.memory }}"\n    )\n'
    )

    code, out, err = run(tmp_path, origin)

    assert (code, json.loads(out)["patch"]) == (0, ""), err


def test_a_part_of_json_that_need_not_be_a_string_stays_as_it_is(origin: AirflowProcess, tmp_path: Path):
    value = json.loads('{"strict": true}')
    template = Environment(autoescape=True).from_string("{{ var.json.flags.strict }}")
    assert (template.render(var={"json": {"flags": value}}), read_key(value, "strict")) == ("True", "true")
    (tmp_path / "x.py").write_text(
        f'{STOCK}from airflow.sdk import DAG\n\nwith DAG("x", schedule=None):\n    SparkSubmitOperator(\n'
        '        task_id="x",\n        conf={\n            "spark.app.strict": "{{ var.json.flags.strict }}",\n'
        '            "spark.eventLog.enabled": "{{ var.json.flags.strict }}",\n'
        '            "spark.app.token": "{{ conn.db.extra_dejson.token }}",\n        },\n    )\n'
    )

    code, out, err = run(tmp_path, origin)

    added = [line.split('"')[1] for line in json.loads(out)["patch"].splitlines() if line.startswith("+  ")]
    assert (code, added) == (0, ["spark.eventLog.enabled", "spark.app.token"]), out + err
    (left,) = json.loads(out)["by_hand"]
    assert (left["line"], "'spark.app.strict': its template reads a part of JSON" in left["reason"]) == (8, True)


@pytest.mark.parametrize("odd", [f"x = {'-' * 200_000}1", "x = 1\r\n\\\r\n"], ids=["too-deep", "ends-with-a-backslash"])
def test_a_file_that_cannot_be_analyzed_does_not_keep_others_from_being_adopted(
    origin: AirflowProcess, tmp_path: Path, odd: str
):
    (tmp_path / "odd.py").write_bytes(f"# a DAG\n{STOCK}{odd}".encode())
    (tmp_path / "trains.py").write_text(TRAINS)

    code, out, err = run(tmp_path, origin)

    assert code == 0, err
    assert "+++ b/trains.py" in json.loads(out)["patch"]
    reasons = [one["reason"] for one in json.loads(out)["by_hand"] if (one["file"] or "").endswith("odd.py")]
    assert reasons == ["it is no Python that this version can read."]


def proposal_of(text: str) -> FileProposal:
    return FileProposer("x.py", f"{STOCK}{text}", ProposalRules(Providers(), {}, uses_classes=False)).proposal()


CALL = 'SparkSubmitOperator(task_id="x", conf={"spark.app.user": "{{ conn.db.login }}"})'


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f'DAG("x", user_defined_macros={{"conn": C()}})\n{CALL}\n', id="own-conn"),
        pytest.param(f'DAG("x", user_defined_macros=MACROS)\n{CALL}\n', id="unknown-macros"),
        pytest.param(f'DAG("x", user_defined_macros={{**MACROS}})\n{CALL}\n', id="included-macros"),
        pytest.param(f'@dag(jinja_environment_kwargs={{"x": "y"}})\ndef f():\n    {CALL}\n', id="own-syntax"),
        pytest.param(f"x = {CALL}\nOther(env=x.conf)\n", id="used-elsewhere"),
        pytest.param(f"x = {CALL}\nx.conf.clear()\n", id="changed-elsewhere"),
        pytest.param(f"x: Any = {CALL}\nOther(env=x.conf)\n", id="annotated"),
        pytest.param(f"x = {CALL}\ny = x\nOther(env=y.conf)\n", id="alias"),
        pytest.param(f"def f():\n    return {CALL}\nOther(env=f().conf)\n", id="result"),
        pytest.param(f"{CALL}\nOther(env=d.get_task('x').conf)\n", id="task-of-a-dag"),
        pytest.param(f"x = {CALL}\nOther(env=getattr(x, 'conf'))\n", id="getattr"),
        pytest.param(f"spark = {CALL}\nOther(env=spark.conf)\n", id="task-named-spark"),
    ],
)
def test_a_template_that_could_mean_something_else_stays_as_it_is(text: str):
    found = proposal_of(text)

    assert found.edits == ()
    assert ["'spark.app.user': " in one.reason for one in found.by_hand] == [True]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f'DAG("x", user_defined_macros={{"f": f}})\n{CALL}\n', id="other-macros"),
        pytest.param(f"x = {CALL}\nx >> y\ndag_run.conf\n", id="used-as-a-task"),
        pytest.param(f"{CALL}\nf(context['dag_run'].conf, context.get('dag_run').conf, ti.dag_run.conf)\n", id="run"),
        pytest.param(f"{CALL}\ndef f(spark):\n    spark.conf.set('a', 'b')\n", id="session"),
        pytest.param(f"{CALL}\nimport settings\nsettings.conf\n", id="module"),
    ],
)
def test_a_template_with_its_usual_meaning_is_replaced(text: str):
    assert "${connection:db:login}" in proposal_of(text).after


ENTRY = 'conf={"spark.app.own": "{{ conn.db.host }}"}'


def by_hand_of(folder: Path, origin: AirflowProcess | None, text: str, **options: Any) -> tuple[str, list[str]]:
    """Return what is added to a file with a DAG, and why the rest stays by hand."""
    (folder / "x.py").write_text(f"{STOCK}from airflow.sdk import DAG, BaseHook\n{text}")
    code, out, err = run(folder, origin, **options)
    assert code == 0, err
    document = json.loads(out)
    added = [line[1:] for line in document["patch"].splitlines() if line.startswith("+") and line[1] != "+"]
    return "".join(added), [one["reason"] for one in document["by_hand"]]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param('TriggerDagRunOperator(task_id="o", trigger_dag_id="y", conf=SHARED)', id="other-operator"),
        pytest.param("remember(conf=SHARED)", id="function"),
    ],
)
def test_a_mapping_that_is_not_only_for_spark_stays_as_it_is(origin: AirflowProcess, tmp_path: Path, other: str):
    added, reasons = by_hand_of(
        tmp_path,
        origin,
        "from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator\n"
        'SHARED = {"spark.app.user": "{{ conn.db.login }}"}\nSEEN = []\ndef remember(conf):\n    SEEN.append(conf)\n'
        f'with DAG("x", schedule=None):\n    {other}\n    SparkSubmitOperator(task_id="t", conf=SHARED)\n'
        f'    SparkSubmitOperator(task_id="own", {ENTRY})\n',
    )

    assert "spark.app.own" in added
    assert "spark.app.user" not in added
    assert [one.partition(":")[0] for one in reasons] == ["'spark.app.user' of task 't' of DAG 'x'"]


def test_a_union_of_mappings_is_adopted(origin: AirflowProcess, tmp_path: Path):
    added, reasons = by_hand_of(
        tmp_path,
        origin,
        'COMMON = {"spark.app.x": "1"}\nwith DAG("x", schedule=None):\n'
        f'    SparkSubmitOperator(task_id="t", conf=COMMON | {{\n        {USER},\n    }})\n',
    )

    assert (added.strip(), reasons) == ('"spark.app.user": "${connection:db:login}",', [])


@pytest.mark.parametrize(
    ("more", "other", "reason"),
    [
        pytest.param(
            "",
            'TriggerDagRunOperator(task_id="o", trigger_dag_id="y", conf=dict(vars(t)["conf"]))',
            "with the proposed change, task 'o' would get other values through 'spark.app.user'.",
            id="task",
        ),
        pytest.param(
            "", 'd.doc_md = str(vars(t)["conf"])', "with the proposed change, DAG 'x' would get other values", id="dag"
        ),
        pytest.param(
            'MORE = {"spark.app.user": "{{ conn.db.login }}"}\n',
            'SparkSubmitOperator(task_id="o", conf=dict(MORE, **{"spark.app.b": "1"}))\n'
            '    SparkSubmitOperator(task_id="m", conf=MORE)',
            "with the proposed change, 'spark.app.user' of task 'o' would get the reference, too, in a way that",
            id="merged",
        ),
    ],
)
def test_an_entry_that_would_change_something_else_stays_alone(
    origin: AirflowProcess, tmp_path: Path, more: str, other: str, reason: str
):
    added, reasons = by_hand_of(
        tmp_path,
        origin,
        "from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator\n"
        f'{more}with DAG("x", schedule=None) as d:\n'
        '    t = SparkSubmitOperator(task_id="t", conf={"spark.app.user": "{{ conn.db.login }}"})\n'
        f'    SparkSubmitOperator(task_id="own", {ENTRY})\n    {other}\n',
    )

    assert "spark.app.own" in added
    assert "spark.app.user" not in added
    assert any(one.startswith(reason) and one.endswith("This key is left as it is.") for one in reasons), reasons


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f'Op = SparkSubmitOperator\nwith DAG("x"):\n    Op(task_id="t", {ENTRY})\n', id="alias"),
        pytest.param(
            f'from {STOCK.split()[1]} import *\nwith DAG("x"):\n'
            f'    globals()["SparkSubmitOperator"](task_id="t", {ENTRY})\n',
            id="not-by-its-name",
        ),
        pytest.param(
            f'with DAG("x", default_args=dict({ENTRY})):\n    SparkSubmitOperator(task_id="t")\n', id="default"
        ),
        pytest.param(
            'BASE = {}\nBASE |= {"spark.app.own": "{{ conn.db.host }}"}\nwith DAG("x"):\n'
            '    SparkSubmitOperator(task_id="t", conf=dict(BASE))\n',
            id="changed-mapping",
        ),
    ],
)
def test_a_template_that_is_in_no_known_call_is_reported(origin: AirflowProcess, tmp_path: Path, text: str):
    added, reasons = by_hand_of(tmp_path, origin, text)

    assert added == ""
    assert [one.partition(":")[0] for one in reasons] == ["'spark.app.own' of task 't' of DAG 'x'"]


MADE = "its template reads a connection or a variable, and is not one string in the source."
ELSEWHERE = "its template reads a connection or a variable. Only conf and env_vars are changed"


@pytest.mark.parametrize(
    ("argument", "reason"),
    [
        pytest.param('name=f"{X}-{{{{ var.value.y }}}}"', f"6: name: {ELSEWHERE}", id="name"),
        pytest.param('name="{{ var.value.y }}"', f"6: name: {ELSEWHERE}", id="whole-name"),
        pytest.param(
            'application_args=[f"{X}-{{{{ conn.db.host }}}}"]', f"6: application_args: {ELSEWHERE}", id="args"
        ),
        pytest.param('conf={"spark.a": f"{X}-{{{{ conn.db.host }}}}"}', f"6: 'spark.a': {MADE}", id="f-string"),
        pytest.param('conf={"spark.a": "%s-{{ conn.db.host }}" % X}', f"6: 'spark.a': {MADE}", id="percent"),
        pytest.param('conf={"spark.a": f"{{{{ {\'conn.db\'}.host }}}}"}', f"6: 'spark.a': {MADE}", id="inner"),
        pytest.param('conf={"spark.a": made()}', f"6: 'spark.a': {MADE}", id="function"),
        pytest.param("conf=SHARED", f"4: 'spark.a': {MADE}", id="shared"),
        pytest.param('env_vars={"A": f"{X}-{{{{ conn.db.host }}}}"}', f"6: 'A': {MADE}", id="env-vars"),
    ],
)
def test_a_template_that_is_put_together_is_reported_once_where_it_is_written(
    origin: AirflowProcess, tmp_path: Path, argument: str, reason: str
):
    (tmp_path / "x.py").write_text(
        f"{STOCK}from airflow.sdk import DAG\nX = 'x'\n"
        'SHARED = {"spark.a": f"{X}-{{{{ conn.db.host }}}}"}\nmade = lambda: "{{ conn.db.host }}"\n'
        f'with DAG("x"): SparkSubmitOperator(task_id="t", {argument})\n'
    )

    code, out, err = run(tmp_path, origin)

    assert code == 0, err
    (found,) = [f"{one['line']}: {one['reason']}" for one in json.loads(out)["by_hand"]]
    assert found.startswith(reason)


def test_a_template_in_a_step_of_emr_is_not_reported_as_if_the_step_had_a_configuration(
    origin: AirflowProcess, tmp_path: Path
):
    pytest.importorskip("airflow.providers.amazon")
    (tmp_path / "x.py").write_text(
        "from airflow.providers.amazon.aws.operators.emr import EmrAddStepsOperator\nfrom airflow.sdk import DAG\n"
        'with DAG("x"): EmrAddStepsOperator(task_id="t", job_flow_id="j", steps=[{"Args": ["{{ conn.db.host }}"]}])\n'
    )

    code, out, err = run(tmp_path, origin)

    assert code == 0, err
    (found,) = [one["reason"] for one in json.loads(out)["by_hand"]]
    assert "key of conf" not in found
    assert "EmrAddStepsOperator has no Spark configuration that could be changed" in found


CHANGING = """from uuid import uuid4
from airflow.providers.standard.operators.bash import BashOperator
with DAG("x", schedule=None):
    BashOperator(task_id="b", bash_command=f"echo {uuid4()} {{{{ ds }}}}")
    BashOperator(task_id=f"b-{uuid4()}", bash_command="{{ ds }}")
    t = SparkSubmitOperator(
        task_id="t",
        name=f"n-{uuid4()}-{{{{ ds }}}}",
        application_args=[f"{uuid4()}-${{vault:a:b}}"],
        conf={
            "spark.app.user": "{{ conn.db.login }}",
            "spark.app.run": f"{uuid4()}",
        },
    )
"""


def test_what_differs_each_time_a_file_is_imported_does_not_keep_the_rest_from_being_adopted(
    origin: AirflowProcess, tmp_path: Path
):
    added, reasons = by_hand_of(tmp_path, origin, CHANGING)

    assert added.strip() == '"spark.app.user": "${connection:db:login}",'
    assert reasons == []


@pytest.mark.parametrize(
    ("value", "imports"),
    [pytest.param("{DAG.__name__}", 2, id="nothing-differs"), pytest.param("{uuid4()}", 3, id="differs")],
)
def test_the_unchanged_file_is_imported_again_only_if_something_differs(
    origin: AirflowProcess, tmp_path: Path, value: str, imports: int
):
    log = tmp_path / "imports"
    (dags := tmp_path / "dags").mkdir()

    added, _ = by_hand_of(
        dags,
        origin,
        f'from uuid import uuid4\nwith open({str(log)!r}, "a") as file:\n    file.write("x")\nwith DAG("x"):\n'
        f'    SparkSubmitOperator(task_id="t", name=f"{value}", {ENTRY})\n',
    )

    assert "${connection:db:host}" in added
    assert log.read_text() == "x" * imports


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("f\"{uuid4()} {{{{ ds }}}} {vars(t)['conf']}\"", id="in-the-string"),
        pytest.param("f\"{uuid4()} {{{{ ds }}}}\", env=dict(vars(t)['conf'])", id="in-another"),
    ],
)
def test_a_task_that_differs_each_time_does_not_get_a_reference(origin: AirflowProcess, tmp_path: Path, command: str):
    added, reasons = by_hand_of(
        tmp_path, origin, f'{CHANGING}    BashOperator(task_id="o", bash_command={command})\n', operators="classes"
    )

    assert "${connection" not in added
    assert [one for one in reasons if "task 'o' would get other values through 'spark.app.user'" in one], reasons


def test_a_configuration_with_a_value_that_is_missing_is_said_to_be_unknown(
    environ: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("AIRFLOW_CONN_BARE", "postgres://host")

    added, reasons = by_hand_of(
        tmp_path,
        None,
        'with DAG("x"):\n    SparkSubmitOperator(\n        task_id="t",\n'
        '        conf={"spark.app.a": BaseHook.get_connection("bare").password},\n    )\n',
    )

    assert added == ""
    assert any("'spark.app.a' of task 't' cannot be compared" in one for one in reasons), reasons


def test_a_folder_that_cannot_be_filled_is_removed(tmp_path: Path):
    layer = SharedLayer("x" * 300, {}, 3)

    with pytest.raises(ConfigException, match=r"File name too long\. Choose another folder\. Nothing was left"):
        _write(Adoption([], [layer], [], [], tmp_path), tmp_path / "new")

    assert not (tmp_path / "new").exists()


def test_a_file_that_others_import_stays_as_it_is(origin: AirflowProcess, tmp_path: Path):
    (tmp_path / "trains.py").write_text(TRAINS)
    (tmp_path / "more.py").write_text(f"{STOCK}from airflow.sdk import DAG\nfrom trains import SparkSubmitOperator\n")

    code, out, err = run(tmp_path, origin, operators="classes")

    assert (code, json.loads(out)["patch"]) == (0, ""), err
    assert any(one["reason"].startswith("other files import it") for one in json.loads(out)["by_hand"])


PARTLY = f"""{STOCK}from airflow.sdk import DAG

class Own(SparkSubmitOperator):
    def __init__(self, conf, **more):
        super().__init__(conf={{key: value.replace("${{", "x") for key, value in conf.items()}}, **more)

SHARED = {{
    "spark.app.host": "{{{{ conn.db.host }}}}",
    "spark.app.user": "{{{{ conn.db.login }}}}",
}}
with DAG("partly", schedule=None):
    Own(task_id="own", application="x.py", conf={{"spark.app.host": SHARED["spark.app.host"]}})
    SparkSubmitOperator(task_id="shared", application="x.py", conf=SHARED)
    SparkSubmitOperator(
        task_id="files",
        application="x.py",
        conf={{
            "spark.app.base": "yes",
            "spark.app.schema": "{{{{ conn.db.schema }}}}",
        }},
        **{{"properties_file": "/of/the/workers"}},
    )
    SparkSubmitOperator(
        task_id="plain",
        application="x.py",
        conf={{
            "spark.app.a": "1",
            "spark.app.base": "yes",
        }},
    )
"""


def test_of_a_file_what_can_be_proved_is_adopted_and_the_rest_is_reported(origin: AirflowProcess, tmp_path: Path):
    (tmp_path / "partly.py").write_text(PARTLY)

    code, out, err = run(tmp_path, origin)

    assert code == 0, err
    document = json.loads(out)
    changed = [line for line in document["patch"].splitlines() if line.startswith(("+ ", "- "))]
    assert [line.split(":")[0].strip("+- ") + line[0] for line in changed] == [
        '"spark.app.user"-',
        '"spark.app.user"+',
        '"spark.app.schema"-',
        '"spark.app.schema"+',
        '"spark.app.base"-',
    ]
    reasons = sorted(one["reason"] for one in document["by_hand"])
    assert reasons[0].startswith("with the proposed change, 'spark.app.base' of task 'files' could come from '/of/")
    assert reasons[1].startswith("with the proposed change, 'spark.app.host' of task 'own' would differ.")
    assert all(one.endswith("This key is left as it is.") for one in reasons)
    assert document["summary"] == (
        "Adopt: 1 DAG file to change, with 2 references; 1 entry without effect to remove; 0 layer files to add; "
        "2 places to change by hand."
    )


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        pytest.param(
            "class Own(SparkSubmitOperator): ...\n",
            ["Set apply_to = spark_submit in [config_providers], or use --operators classes."],
            id="subclass",
        ),
        pytest.param(
            "from airflow_config_providers.operators.configure import configured\n"
            "Own = configured(SparkSubmitOperator)\n",
            [],
            id="configured",
        ),
    ],
)
def test_the_family_of_a_subclass_is_named_in_the_advice(
    origin: AirflowProcess, tmp_path: Path, text: str, advice: list[str]
):
    (tmp_path / "x.py").write_text(
        f'{STOCK}from airflow.sdk import DAG\n{text}with DAG("x", schedule=None):\n    Own(task_id="t", {ENTRY})\n'
    )

    code, out, err = run(tmp_path, origin)

    assert code == 0, err
    assert json.loads(out)["advice"] == advice


def test_the_provider_of_the_references_is_advised(origin: AirflowProcess, tmp_path: Path):
    (tmp_path / "one.py").write_text(
        STOCK + "from airflow.sdk import DAG\n\n"
        'with DAG("one", schedule=None):\n'
        '    SparkSubmitOperator(task_id="o", conf={"spark.app.db.password": "{{ conn.db.password }}"})\n'
    )

    _, out, _ = run(tmp_path, origin)

    assert (
        "Define the provider 'connection' of class airflow_connection in the connection 'config_providers_default', "
        "unless it is there, and let its allowlist.pattern match the names in the references."
    ) in json.loads(out)["advice"]


@pytest.mark.parametrize(
    ("argument", "is_advised"),
    [
        pytest.param('env_vars={"TOKEN": "{{ conn.db.password }}"}', True, id="env_vars"),
        pytest.param('conf={"spark.app.db.password": "{{ conn.db.password }}"}', False, id="conf"),
    ],
)
def test_the_advice_says_where_references_in_variables_are_refused(
    origin: AirflowProcess, tmp_path: Path, argument: str, is_advised: bool
):
    (tmp_path / "one.py").write_text(
        f"{STOCK}from airflow.sdk import DAG\n\n"
        'with DAG("one", schedule=None):\n'
        f'    SparkSubmitOperator(task_id="o", {argument})\n'
    )

    _, out, _ = run(tmp_path, origin)

    advice = json.loads(out)["advice"]
    assert any("env_vars (one.py). They are refused on YARN" in one for one in advice) is is_advised


def test_every_family_of_a_file_is_named_in_the_advice(origin: AirflowProcess, tmp_path: Path):
    (tmp_path / "x.py").write_text(
        f'{STOCK}from airflow.sdk import DAG, task\n\nwith DAG("x", schedule=None):\n'
        f'    SparkSubmitOperator(task_id="t", {ENTRY})\n\n'
        '    @task.pyspark(config_kwargs={"spark.app.db.password": "{{ conn.db.password }}"})\n'
        "    def count(spark): ...\n\n    count()\n"
    )

    code, out, err = run(tmp_path, origin)

    assert code == 0, err
    assert '"spark.app.db.password": "${connection:db:password}"' in json.loads(out)["patch"]
    assert json.loads(out)["advice"][0].startswith("Set apply_to = pyspark, spark_submit in [config_providers]")


PASSWORD = '"spark.app.db.password": "{{ conn.db.password }}"'


@pytest.mark.parametrize(
    ("text", "place"),
    [
        pytest.param(
            f"X = {{\n    {PASSWORD},\n}}\n"
            'with DAG("x", default_args={"conf": X}):\n    SparkSubmitOperator(task_id="t")\n',
            "4: 'spark.app.db.password' of task 't' of DAG 'x': its template reads",
            id="default",
        ),
        pytest.param(
            'with DAG("x"):\n    SparkSubmitOperator.partial(task_id="t").expand(\n'
            f"        conf=[{{{PASSWORD}}}]\n    )\n",
            "5: 'spark.app.db.password' of task 't' of DAG 'x': its template reads",
            id="mapped",
        ),
        pytest.param(
            "class Own(SparkSubmitOperator): ...\n"
            f'with DAG("x"):\n    Own(\n        task_id="t",\n        conf={{\n            {PASSWORD}\n        }})\n'
            '    SparkSubmitOperator(task_id="o", env_vars={"A": "{{ conn.db.password | lower }}"})\n',
            "8: 'spark.app.db.password' of task 't' of DAG 'x': its template reads",
            id="subclass",
        ),
        pytest.param(
            "from json import loads\nfrom pathlib import Path\n"
            'with DAG("x"):\n    conf = loads(Path(__file__).with_name("x.json").read_text())\n'
            '    SparkSubmitOperator(task_id="t", conf=conf)\n',
            "None: 'spark.app.db.password' of task 't' of DAG 'x': its template reads a connection or a variable, and "
            "is no string in this file",
            id="factory",
        ),
        pytest.param(
            "from airflow.sdk import task\n"
            f"made = lambda: {{\n    {PASSWORD}\n}}\n"
            'with DAG("x"):\n    @task.pyspark(config_kwargs=made())\n    def t(): ...\n    t()\n',
            "5: 'spark.app.db.password' of task 't' of DAG 'x': its template reads",
            id="in no template field",
        ),
    ],
)
def test_a_template_that_stays_is_named_with_its_dag_its_key_and_its_line(
    origin: AirflowProcess, tmp_path: Path, text: str, place: str
):
    (tmp_path / "x.json").write_text(f"{{{PASSWORD}}}")
    (tmp_path / "x.py").write_text(f"{STOCK}from airflow.sdk import DAG\n{text}")

    code, out, err = run(tmp_path, origin, paths=[str(tmp_path / "x.py")])

    assert code == 0, err
    found = [f"{one['line']}: {one['reason']}" for one in json.loads(out)["by_hand"]]
    assert [one for one in found if one.startswith(place)], found
