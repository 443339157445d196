"""What happens with a release of another package that lacks what this one leans on."""

from __future__ import annotations

import os
from functools import wraps

import pytest

from airflow_config_providers.exceptions import UnsupportedVersionError
from airflow_config_providers.foreign import ForeignName, require_rows
from airflow_config_providers.operators.no_retry import LASTING
from tests.servers import quick_python

PROVIDER = "apache-airflow-providers-apache-spark"


class Maker:
    def __init__(self) -> None:
        self._made = 1


class Hook(Maker):
    _declared: int

    @wraps(Maker.__init__)
    def __init__(self) -> None:
        super().__init__()

    def _wrapper(self, *args: str, **kwargs: str) -> None:
        """Take whatever it is given, as a decorator does."""

    _built_in = property(str)

    def _log(self, lines: list[str], *more: str, times: int = 1, **rest: str) -> None:
        """Take parameters of each kind."""


def row(name: str, parameters: tuple[str, ...] | None = None, *, since: str = "") -> ForeignName:
    return ForeignName("airflow.providers.apache.spark.hooks:Hook", name, "what it prints", parameters, since)


@pytest.mark.parametrize(
    "there",
    [
        row("_log"),
        row("_log", ("self", "lines", "times", "more", "rest")),
        row("_made"),
        row("_declared"),
        row("_gone", since="9999.1"),
        row("_wrapper", ("self", "lines")),
        row("_built_in", ("self", "lines")),
    ],
    ids=["method", "parameters", "set by __init__", "declared", "of a newer version", "wrapper", "no code"],
)
def test_what_is_there_is_no_problem(there: ForeignName) -> None:
    require_rows([there], Hook)


def reading() -> str | None:
    return os.environ.get("_A_VARIABLE")


def test_a_variable_that_a_function_reads_is_no_problem() -> None:
    require_rows([row("_A_VARIABLE")], reading)


def test_a_variable_that_a_function_no_longer_reads_is_an_error() -> None:
    with pytest.raises(UnsupportedVersionError, match=r"reading\._ANOTHER \(what it prints\) is missing"):
        require_rows([row("_ANOTHER")], reading)


def test_a_name_that_is_gone_is_an_error_that_says_which_versions_work() -> None:
    with pytest.raises(UnsupportedVersionError) as caught:
        require_rows([row("_log"), row("_gone"), row("_old", since="1.0")], Hook)

    first, second = caught.value.problems
    assert first.startswith("Hook._gone (what it prints) is missing. apache-airflow-providers-apache-spark ")
    assert second.startswith("Hook._old (what it prints) is missing. ")
    assert "Install one that it knows (>=6.0.1,<7)" in first or "(<7,>=6.0.1)" in first


class OfNoDistribution(ForeignName):
    """A name of a package that was copied to where it is, without its version."""

    distribution = "no-such-distribution"


def test_a_name_of_a_newer_version_is_required_if_the_version_is_not_known() -> None:
    with pytest.raises(UnsupportedVersionError) as caught:
        require_rows([OfNoDistribution("pyspark:Hook", "_gone", "what it prints", since="9999.1")], Hook)

    (problem,) = caught.value.problems
    assert problem.startswith(
        "Hook._gone (what it prints) is missing. no-such-distribution of an unknown version is installed, "
    )


def test_other_parameters_are_an_error_that_has_both() -> None:
    with pytest.raises(UnsupportedVersionError, match=r"takes \(self, lines, times, more, rest\) instead of \(self\)"):
        require_rows([row("_log", ("self",))], Hook)


def test_a_task_that_meets_it_is_not_tried_again() -> None:
    assert UnsupportedVersionError in LASTING


RENAMED = """
from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.apache.spark.hooks.spark_sql import SparkSqlHook
from airflow.sdk.bases.operator import BaseOperator
from airflow_config_providers.exceptions import UnsupportedVersionError
from airflow_config_providers.hooks.spark_submit import ConfiguredSparkSubmitHook
from airflow_config_providers.hooks.spark_sql import ConfiguredSparkSqlHook
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator

def renamed(cls, name):
    setattr(cls, name + "_", vars(cls)[name])
    delattr(cls, name)

def tell(make):
    try:
        make()
    except UnsupportedVersionError as error:
        print(error.problems[0].split(" (")[0])

renamed(SparkSubmitHook, "_process_spark_submit_log")
tell(lambda: ConfiguredSparkSubmitHook.of(SparkSubmitHook(), submission=None, run=None))
renamed(SparkSqlHook, "_prepare_command")
tell(lambda: ConfiguredSparkSqlHook.of(SparkSqlHook("select 1"), delivery=None, run=None))
render = "_do_render_template_fields"
for cls in BaseOperator.__mro__:
    if render in vars(cls):
        renamed(cls, render)
tell(lambda: ConfiguredSparkSubmitOperator(task_id="t", application="a.py"))
"""


def test_a_hook_and_an_operator_are_not_made_where_an_override_would_not_be_called() -> None:
    """In a process of its own, where the release that renames a method is made of the one that is installed."""
    environ = {**os.environ, "AIRFLOW_CONN_SPARK_DEFAULT": '{"conn_type": "spark", "host": "local[1]"}'}
    done = quick_python.run("-c", RENAMED, env=environ)

    assert done.stdout.splitlines() == [
        "SparkSubmitHook._process_spark_submit_log",
        "SparkSqlHook._prepare_command",
        "BaseOperator._do_render_template_fields",
    ]
