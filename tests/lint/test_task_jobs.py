"""The lines of tasks and literals in the source of a DAG file."""

from __future__ import annotations

import textwrap

import pytest

from airflow_config_providers.lint.task_jobs import SourceLines

SOURCE = textwrap.dedent(
    """\
    SHARED = {
        "spark.shared": "1",
    }
    with DAG("flights"):
        SparkSubmitOperator(
            task_id="report",
            conf={
                "spark.own": "1",
                **SHARED,
            },
            executor_memory="4g",
        )

        @task.pyspark(
            config_kwargs={"spark.decorated": "1"},
        )
        def decorated(spark): ...

        for i in range(3):
            SparkSubmitOperator(task_id=f"t{i}", conf={"spark.own": "2"})
    """
)


@pytest.mark.parametrize(
    ("task", "names", "line"),
    [
        pytest.param("report", ("spark.own", "conf"), 8, id="key"),
        pytest.param("nightly.report", ("spark.own", "conf"), 8, id="task in a group"),
        pytest.param("report", ("spark.executor.memory", "executor_memory"), 11, id="argument"),
        pytest.param("report", ("spark.computed", "conf"), 7, id="key that is not written in the task"),
        pytest.param("report", ("spark.shared", "other"), 2, id="key that is written once in the file"),
        pytest.param("report", ("spark.nowhere",), 5, id="the task itself"),
        pytest.param("decorated", ("spark.decorated",), 15, id="decorated function"),
        pytest.param("t0", ("spark.own",), None, id="not to be decided"),
    ],
)
def test_the_line_of_a_literal(task: str, names: tuple[str, ...], line: int | None):
    assert SourceLines(SOURCE).of_literal(task, *names) == line


@pytest.mark.parametrize("source", ["x = (", "\x00", "(" * 10_000], ids=["syntax", "NUL", "nested"])
def test_what_is_no_python_has_no_lines(source: str):
    assert SourceLines(source).of_task("report") is None


LOOPS = textwrap.dedent(
    """\
    JOBS = [
        {"task_id": "daily", "conf": {"spark.of": "daily"}},
        {
            "task_id": "weekly",
            "conf": {"spark.of": "weekly"},
        },
    ]
    for job in JOBS:
        SparkSubmitOperator(**job)
    for table, options in TABLES.items():
        configured(spark_sql.SparkSqlOperator)(
            task_id=f"load_{table}",
            conf={"spark.loading": "1"},
            **options,
        )
    for name in NAMES:
        LivyOperator.partial(task_id=name, **COMMON).expand(args=ARGS)
    for number in range(2):
        PySparkOperator(task_id=f"first{number}")
        PySparkOperator(task_id=f"second{number}")
    """
)


@pytest.mark.parametrize(
    ("task", "kind", "names", "line"),
    [
        pytest.param("weekly", "SparkSubmitOperator", ("spark.of", "conf"), 5, id="key in a mapping of arguments"),
        pytest.param("weekly", "SparkSubmitOperator", ("spark.computed",), 3, id="mapping of arguments"),
        pytest.param("group.daily", "SparkSubmitOperator", ("spark.of",), 2, id="mapping of a task in a group"),
        pytest.param("monthly", "SparkSubmitOperator", ("spark.of",), 9, id="only call of the class"),
        pytest.param("load_a", "SparkSqlOperator", ("spark.loading", "conf"), 13, id="key in a call of a loop"),
        pytest.param("load_a", "SparkSqlOperator", ("spark.computed", "name"), 11, id="configured class"),
        pytest.param("x", "LivyOperator", ("conf",), 17, id="mapped task"),
        pytest.param("first0", "PySparkOperator", ("config_kwargs",), None, id="two calls of the class"),
        pytest.param("other", "BashOperator", ("env",), None, id="class that the file does not call"),
    ],
)
def test_a_task_of_a_loop_has_the_line_of_its_mapping_or_of_the_only_call_of_its_class(
    task: str, kind: str, names: tuple[str, ...], line: int | None
):
    assert SourceLines(LOOPS).of_literal(task, *names, kind=kind) == line
