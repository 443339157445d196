"""What of Airflow the command line leans on: how it stores DAGs, how it makes commands, and whom it names."""

from __future__ import annotations

import inspect

import pytest
from airflow.cli import cli_parser
from airflow.cli.cli_config import ARG_OUTPUT
from airflow.cli.simple_table import AirflowConsole, SimpleTable
from airflow.models.serialized_dag import SerializedDagModel
from airflow.sdk import DAG, BaseOperator
from airflow.serialization.serialized_objects import DagSerialization
from rich_argparse import RawTextRichHelpFormatter

from airflow_config_providers.job.authored_job import STORED
from airflow_config_providers.job.deployed_task import deployed_job
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
from airflow_config_providers.spark import named_arguments

VALUES = {name: f"value-of-{name}" for name in named_arguments.SUBMIT.keys}


def stored(dag: DAG):
    """Return ``dag`` as the scheduler and the command line read it from the database."""
    return DagSerialization.from_dict(DagSerialization.to_dict(dag))


def test_named_arguments_are_stored_with_the_dag():
    with DAG("flights", schedule=None) as dag:
        ConfiguredSparkSubmitOperator(task_id="t", application="x.py", **VALUES)

    task = stored(dag).get_task("t")

    (_, named) = deployed_job(task, "t", print).layers
    assert named.configs == {named_arguments.SUBMIT.keys[name]: value for name, value in VALUES.items()}


def test_a_conf_that_airflow_cuts_is_stored_whole():
    with DAG("flights", schedule=None) as dag:
        ConfiguredSparkSubmitOperator(task_id="long", application="x.py", conf={"k": "x" * 5000})
        ConfiguredSparkSubmitOperator(task_id="short", application="x.py", conf={"k": "x"})

    found = stored(dag)

    assert found.get_task("long").conf.startswith("Truncated")
    assert deployed_job(found.get_task("long"), "long", print).layers[0].configs == {"k": "x" * 5000}
    assert found.get_task("short").conf == {"k": "x"}
    assert getattr(found.get_task("short"), STORED, None) is None
    assert deployed_job(found.get_task("short"), "short", print).layers[0].configs == {"k": "x"}


def test_what_is_stored_beside_the_template_fields_is_not_sent_as_rendered():
    operator = ConfiguredSparkSubmitOperator(task_id="t", application="x.py")

    assert not {STORED, "_executor_memory"} & set(operator.template_fields)
    assert "get_serialized_fields" in vars(BaseOperator)


def test_a_mapped_task_is_stored_with_what_is_the_same_and_what_differs():
    with DAG("flights", schedule=None) as dag:
        partial = {"application": "x.py", "conf": {"k": "x" * 5000}, "executor_memory": "1g"}
        ConfiguredSparkSubmitOperator.partial(task_id="lists", **partial).expand(application_args=[["1"]])
        ConfiguredSparkSubmitOperator.partial(task_id="dicts").expand_kwargs([{"application": "x.py"}])

    lists, dicts = stored(dag).get_task("lists"), stored(dag).get_task("dicts")

    assert lists.is_mapped
    assert lists.partial_kwargs.items() >= partial.items()
    assert set(lists.expand_input.value) == {"application_args"}
    assert dicts.expand_input.value == [{"application": "x.py"}]
    assert "effective_config" in lists.template_fields


def test_a_task_tells_its_class():
    with DAG("flights", schedule=None) as dag:
        BaseOperator(task_id="t")

    assert stored(dag).get_task("t").task_type == "BaseOperator"
    assert not stored(dag).get_task("t").is_mapped


def test_stored_dags_are_read_by_their_id():
    assert list(inspect.signature(SerializedDagModel.get_dag).parameters) == ["dag_id", "session"]


def test_help_keeps_lines_and_takes_brackets_for_markup():
    assert issubclass(cli_parser.LazyRichHelpFormatter, RawTextRichHelpFormatter)
    assert cli_parser.LazyRichHelpFormatter.help_markup


@pytest.mark.parametrize("output", ["json", "plain", "table", "yaml"])
def test_outputs_are_those_that_airflow_offers(output: str):
    assert output in ARG_OUTPUT.kwargs["choices"]


def test_a_table_is_as_wide_as_it_is_told():
    console = AirflowConsole(markup=False)
    console.width = 5000
    table = SimpleTable(show_header=True)
    table.add_column("k", overflow="fold")

    assert console.width == 5000
