"""What is shown of the error of a DAG file."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_config_providers.lint.dag_files import DagImports, DagReader, import_error, read_all
from airflow_config_providers.lint.dag_process import AirflowProcess
from tests.limits import LONGEST

CANARY = "c4nary-in-a-message"


def trace_of(path: Path, source: str) -> str:
    path.write_text(source)
    try:
        exec(compile(source, str(path), "exec"), {"__name__": "dag"})  # as Airflow, which imports a module
    except Exception:  # noqa: BLE001 - any that the source raises
        return traceback.format_exc()
    raise AssertionError(source)


@pytest.mark.parametrize(
    ("source", "line", "shown"),
    [
        pytest.param("\nimport nope_x", 2, "ModuleNotFoundError: No module named 'nope_x'", id="module"),
        pytest.param("\n\nx = (", 3, "SyntaxError: '(' was never closed", id="syntax"),
        pytest.param("x = 1\ny = z", 2, "NameError: name 'z' is not defined", id="name"),
        pytest.param(
            "from airflow_config_providers.core import ConfigLayer, ConfigSource\n"
            "ConfigLayer(ConfigSource.DAG_CONFIG, 'a dict', {'x': 1})",
            2,
            "ConfigException: a dict: 'x': the value is of type int. Write it as a string.",
            id="ours",
        ),
        pytest.param("import os\nos.nope", 2, "AttributeError: module 'os' has no attribute 'nope'", id="attribute"),
        pytest.param(
            "from os import (\n    nope,\n)", 1, "ImportError: cannot import name 'nope' from 'os'", id="import"
        ),
        pytest.param("dict.fromkeys(x=1)", 1, "TypeError", id="type"),
        pytest.param(
            "from airflow_config_providers.job.operator_specs import require_known\n"
            "class AirflowClusterPolicyError(Exception): ...\n"
            "try:\n    require_known(['spark_sumbit'])\n"
            "except Exception as error:\n    raise AirflowClusterPolicyError(error)",
            4,
            "ConfigException: [config_providers] apply_to: 'spark_sumbit' is not one of",
            id="of our cluster policy",
        ),
    ],
)
def test_an_error_without_values_is_shown_with_its_line(tmp_path: Path, source: str, line: int, shown: str):
    path = tmp_path / "dag.py"

    found = import_error(str(path), trace_of(path, source))

    assert (found.rule.code, found.place.path, found.place.line) == ("CP001", str(path), line)
    assert shown in found.message


@pytest.fixture(scope="module")
def origin() -> Iterator[AirflowProcess]:
    pytest.importorskip("airflow")
    with AirflowProcess({}) as found:
        yield found


@pytest.mark.integration
@pytest.mark.parametrize(
    ("source", "shown"),
    [
        pytest.param("from airflow.sdk import Variable\nVariable.get('{}')", "AIRFLOW_VAR_NAME", id="variable"),
        pytest.param("from airflow.models import Variable\nVariable.get('{}')", "AIRFLOW_VAR_NAME", id="of models"),
        pytest.param("from airflow.sdk import Connection\nConnection.get('{}')", "AIRFLOW_CONN_ID", id="connection"),
        pytest.param(
            "from airflow.sdk import BaseHook\nBaseHook.get_connection('{}')", "AIRFLOW_CONN_ID", id="of a hook"
        ),
    ],
)
def test_what_is_only_in_the_database_of_airflow_is_said_not_to_be_read(
    origin: AirflowProcess, tmp_path: Path, source: str, shown: str
):
    (path := tmp_path / "dag.py").write_text(f"{source.format(CANARY)}  # for a DAG")

    (file,) = read_all([str(path)], source=DagImports([], LONGEST), origin=origin, tick=lambda: None)

    (found,) = file.findings
    assert found.place.line == 2
    assert f"Airflow's database is not read: for this command, set {shown}, with the " in found.message
    assert CANARY not in found.message


NAMED = {
    "variable": "AirflowRuntimeError: VARIABLE_NOT_FOUND: {'message': 'Variable api_token not found'}",
    "variable of models": "KeyError: 'Variable api_token does not exist.'",
    "connection": "AirflowNotFoundException: The conn_id `api_token` isn't defined",
}


@pytest.mark.parametrize("kind", NAMED)
def test_what_the_file_names_in_quotes_is_named_as_the_variable_to_set(tmp_path: Path, kind: str):
    (path := tmp_path / "dag.py").write_text("read('api_token')")
    trace = f'Traceback (most recent call last):\n  File "{path}", line 1, in <module>\n{NAMED[kind]}\n'

    found = import_error(str(path), trace).message

    assert f"for this command, set AIRFLOW_{'CONN' if kind == 'connection' else 'VAR'}_API_TOKEN to any " in found


@pytest.mark.parametrize("kind", NAMED)
def test_a_name_that_the_file_has_from_elsewhere_is_not_shown(tmp_path: Path, kind: str):
    (path := tmp_path / "dag.py").write_text("read('api_' + token)")
    trace = f'Traceback (most recent call last):\n  File "{path}", line 1, in <module>\n{NAMED[kind]}\n'

    assert "api_token" not in import_error(str(path), trace).message.lower()


READS = """
Variable.get('api_token')
Variable.get("region", deserialize_json=True)
models.Variable.get(
    "bucket",
)
BaseHook.get_connection("db").host
Connection.get('lake')
Variable.get("optional", default="x")
Variable.get(f"{region}")
Variable.get("set_here")
"""


def test_what_the_file_reads_besides_is_named_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AIRFLOW_VAR_SET_HERE", "x")
    (path := tmp_path / "dag.py").write_text(READS)
    trace = f'Traceback (most recent call last):\n  File "{path}", line 2, in <module>\n{NAMED["variable"]}\n'

    found = import_error(str(path), trace).message

    others = ["AIRFLOW_CONN_DB", "AIRFLOW_CONN_LAKE", "AIRFLOW_VAR_BUCKET", "AIRFLOW_VAR_REGION"]
    assert found.endswith(f"read so. The file could need these as well: {', '.join(others)}.")


@pytest.mark.slow
@pytest.mark.integration
def test_a_misspelt_family_in_apply_to_is_named_once_for_all_dags_of_a_file(tmp_path: Path):
    pytest.importorskip("airflow")
    (path := tmp_path / "dag.py").write_text(
        "from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator\n"
        "from airflow.sdk import DAG\n"
        "for name in ('x', 'y'):\n"
        "    with DAG(name, schedule=None) as globals()[name]:\n        SparkSubmitOperator(task_id='a')\n"
    )

    with AirflowProcess({"AIRFLOW__CONFIG_PROVIDERS__APPLY_TO": "spark_sumbit"}) as wrong:
        (file,) = read_all([str(path)], source=DagImports([], LONGEST), origin=wrong, tick=lambda: None)

    (found,) = file.findings
    assert "apply_to: 'spark_sumbit' is not one of" in found.message
    assert "did you mean 'spark_submit'? Correct it in airflow.cfg." in found.message


def test_an_error_of_a_whole_file_has_no_line(tmp_path: Path):
    path = tmp_path / "dag.py"

    found = import_error(str(path), f'Traceback (most recent call last):\n  File "{path}", line 0\nSyntaxError: x\n')

    assert found.place.line is None


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(f"raise ValueError('{CANARY}')", id="one line"),
        pytest.param(f"raise ValueError('a\\nImportError: {CANARY}')", id="that looks like a harmless one"),
        pytest.param(f"class ImportError(Exception): ...\nraise ImportError('{CANARY}')", id="of the same name"),
        pytest.param(f"try:\n    raise KeyError('{CANARY}')\nexcept KeyError:\n    import nope_x", id="in a context"),
        pytest.param(f"raise NameError('{CANARY}')", id="of names"),
        pytest.param(f"raise SyntaxError('{CANARY}')", id="of syntax"),
        pytest.param(f"raise ImportError('{CANARY}')", id="of imports"),
        pytest.param(f"exec('{CANARY}')".replace("-", "_"), id="of a name in a string"),
        pytest.param(
            f"import importlib\nimportlib.import_module('{CANARY}')".replace("-", "_"), id="of a module in a string"
        ),
        pytest.param(
            f"from airflow_config_providers.exceptions import ConfigException\nraise ConfigException('{CANARY}')",
            id="of our type",
        ),
        pytest.param(
            "class AirflowClusterPolicyError(Exception): ...\n"
            f"try:\n    raise ValueError('{CANARY}')\n"
            "except ValueError as error:\n    raise AirflowClusterPolicyError(error)",
            id="of another cluster policy",
        ),
        pytest.param(f"raise ImportError('no driver for jdbc:x://u:{CANARY}@h')", id="with a password"),
    ],
)
def test_a_message_that_could_quote_a_secret_is_not_shown(tmp_path: Path, source: str):
    path = tmp_path / "dag.py"

    found = str(import_error(str(path), trace_of(path, source)))

    assert CANARY not in found
    assert CANARY.replace("-", "_") not in found


def test_a_pipe_under_whose_name_code_was_compiled_is_not_read(tmp_path: Path):
    path = tmp_path / "dag.py"
    trace = trace_of(path, f"exec(compile('x', '{tmp_path}/pipe', 'exec'))")
    os.mkfifo(tmp_path / "pipe")

    assert "NameError. Its message is not shown" in import_error(str(path), trace).message


def test_a_name_of_compiled_code_that_no_file_can_have_is_read_as_no_file(tmp_path: Path):
    path = tmp_path / "dag.py"
    trace = trace_of(path, "exec(compile('nope_x', 'a' * 5000, 'exec'))")

    assert "NameError. Its message is not shown" in import_error(str(path), trace).message


@pytest.mark.parametrize("trace", ["", "builtins.SystemExit", "no traceback: \x00", "AirflowDagCycleException: x"])
def test_what_is_no_traceback_is_a_finding_without_line(trace: str):
    assert import_error("dag.py", trace).place.line is None


POLICIES = f"""
from airflow.exceptions import AirflowClusterPolicyViolation

def check():
    raise ValueError("{CANARY}")

def task_policy(task):
    check()

def dag_policy(dag):
    if dag.dag_id == "refused":
        raise AirflowClusterPolicyViolation("{CANARY}")
"""

OF_POLICY = """
from airflow.sdk import DAG
from airflow.providers.standard.operators.empty import EmptyOperator
with DAG("{0}"):
    EmptyOperator(task_id="a")
"""


@pytest.fixture(scope="module")
def with_policies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[AirflowProcess, Path]]:
    """A process of an Airflow with cluster policies, and their file."""
    pytest.importorskip("airflow")
    policies = tmp_path_factory.mktemp("home") / "config" / "airflow_local_settings.py"
    policies.parent.mkdir()
    policies.write_text(POLICIES)
    with AirflowProcess({"AIRFLOW_HOME": str(policies.parents[1])}) as found:
        yield found, policies


@pytest.mark.parametrize(
    ("dag", "policy", "line", "kind"),
    [("failing", "task_policy", 8, "ValueError"), ("refused", "dag_policy", 12, "AirflowClusterPolicyViolation")],
)
def test_an_error_of_another_cluster_policy_names_it_and_how_to_see_the_message(
    with_policies: tuple[AirflowProcess, Path], tmp_path: Path, dag: str, policy: str, line: int, kind: str
):
    """Python calls no policies when it runs a DAG file."""
    (path := tmp_path / "dag.py").write_text(OF_POLICY.format(dag))
    process, policies = with_policies

    with DagReader(DagImports([], LONGEST), process) as reader:
        [found] = reader.read(str(path)).findings

    assert f"the cluster policy {policy} ({policies}:{line}) raised {kind}. Its message is not shown" in found.message
    assert "run 'airflow dags list-import-errors --local' to see it." in found.message
    assert CANARY not in found.message


def test_a_dag_file_that_raises_the_error_of_a_policy_is_no_policy(tmp_path: Path):
    pytest.importorskip("airflow")
    path = tmp_path / "dag.py"
    trace = trace_of(path, "from airflow.exceptions import AirflowClusterPolicyViolation as E; raise E(str(1))")

    message = import_error(str(path), trace).message

    assert "policy raised" not in message
    assert "run the file with Python to see it." in message
