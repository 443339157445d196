"""Operators that are not for Spark, and have a program in a template field."""

from __future__ import annotations

import pytest
from airflow.providers.standard.operators.bash import BashOperator

from airflow_config_providers.job.operator_specs import PROGRAMS, spec_or_default
from airflow_config_providers.operators.configure import configured
from tests.operators.conftest import CANARY


class OwnBashOperator(BashOperator):
    """One of a user's own."""


@pytest.fixture
def bash(dag, connections):
    return lambda **kwargs: configured(OwnBashOperator)(task_id="bash", dag=dag, **kwargs)


def test_a_reference_in_a_command_is_refused(bash, no_leak, password, tmp_path):
    run = no_leak(bash(bash_command=f"echo {password} > {tmp_path}/ran"))

    assert "bash_command: the values of its references would be readable by others" in str(run.error)
    assert not (tmp_path / "ran").exists()


def test_a_reference_in_a_command_is_refused_before_its_secret_is_read(bash, run_task, password, secrets_dir):
    (secrets_dir / "db-password").unlink()
    run = run_task(bash(bash_command=f"echo {password}"))

    assert "bash_command: the values of its references would be readable by others" in str(run.error)


@pytest.mark.parametrize("value", ["$(touch {0}/ran)", "a; touch {0}/ran", "`touch {0}/ran`", "a\ntouch {0}/ran"])
def test_a_value_is_never_a_part_of_the_program(bash, run_task, password, secrets_dir, tmp_path, value):
    (secrets_dir / "db-password").write_text(value.format(tmp_path))
    run = run_task(bash(bash_command=f"echo {password}", allow_exposed_arguments=True))

    assert "bash_command: a value has characters that would change the meaning" in str(run.error)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("sql", [["select 1", "select '{0}'"], ("select '{0}'",)], ids=["list", "tuple"])
def test_a_reference_in_one_of_several_queries_is_refused(dag, connections, no_leak, password, sql):
    kind = pytest.importorskip("airflow.providers.common.sql.operators.sql").SQLExecuteQueryOperator
    queries = type(sql)(query.format(password) for query in sql)
    run = no_leak(configured(kind)(task_id="query", dag=dag, sql=queries, conn_id="absent"))

    assert "the values of its references would be readable by others" in str(run.error)


def test_a_value_is_passed_through_the_environment(bash, no_leak, password, tmp_path):
    run = no_leak(bash(bash_command=f'echo "$PASSWORD" > {tmp_path}/ran', env={"PASSWORD": password}))

    assert run.state == "success", run.error
    assert (tmp_path / "ran").read_text() == f"{CANARY}\n"


@pytest.fixture
def preview(bash, monkeypatch):
    """Render a command as ``airflow tasks render`` does, and give the lines of ``effective_config``."""
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__DYNAMIC_ENABLED", "False")  # there is no database here

    def render(**kwargs):
        task = bash(**kwargs)
        task.render_template_fields({"ti": object(), "run_id": "r"})
        return task.effective_config

    return render


def test_a_preview_says_that_a_run_refuses_a_reference_in_a_command(preview, password):
    (line,) = preview(bash_command=f"echo {password}")

    assert line.startswith("! bash_command: the values of its references would be readable by others")


def test_a_preview_accepts_a_reference_in_a_command_that_may_be_readable(preview, password):
    assert preview(bash_command=f"echo {password}", allow_exposed_arguments=True) == []


@pytest.mark.parametrize("path", PROGRAMS)
def test_each_field_with_a_program_is_one_of_the_operator(path):
    module, _, name = path.rpartition(".")
    provider = module.split(".")[2]
    kind = getattr(pytest.importorskip(module, reason=f"pip install apache-airflow-providers-{provider}"), name)

    assert spec_or_default(kind).words == (PROGRAMS[path],)
    assert PROGRAMS[path] in kind.template_fields


def stand_in(path):
    module, _, name = path.rpartition(".")
    return type(name, (), {"__module__": module})


@pytest.mark.parametrize(
    ("names", "words"),
    [
        pytest.param(("SSHOperator", "SQLExecuteQueryOperator"), ("command", "sql"), id="of both"),
        pytest.param(("SSHOperator", "DockerOperator"), ("command",), id="the same field of both"),
        pytest.param((), (), id="of none"),
    ],
)
def test_a_class_with_several_bases_has_the_programs_of_each(names, words):
    bases = [stand_in(path) for name in names for path in PROGRAMS if path.endswith(f".{name}")]

    assert spec_or_default(type("Custom", tuple(bases), {})).words == words
