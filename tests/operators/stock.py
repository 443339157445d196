"""An operator as people write them, and the same with references."""

from __future__ import annotations

import inspect

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import BaseOperator

from airflow_config_providers.operators.configure import configured

NOT_DURABLE = {"durable": False} if "durable" in inspect.signature(SparkSubmitOperator.__init__).parameters else {}
"""Arguments of an operator that never follows the job of an earlier try, which Spark's provider does since 6.2."""

SHOWS_OUTPUT = hasattr(SparkSubmitHook, "_submit_log_tail")
"""Whether the error of a failed job has the last lines that it printed."""

STOPPED: list[str] = []
"""The tasks that were killed."""


class StockOperator(BaseOperator):
    """As people write them: fields of any shape, and a function for what ``execute`` does."""

    template_fields = ("payload", "command")

    def __init__(self, *, payload=None, command="", do=None, **kwargs):
        super().__init__(**kwargs)
        self.payload = payload
        self.command = command
        self.do = do

    def execute(self, context):
        return self.do(self, context)

    def go_on(self, context, event):
        return self.do(self, context)

    def on_kill(self):
        STOPPED.append(self.task_id)


@configured
class OurOperator(StockOperator):
    """The same with references."""


class Kept:
    """Hides a value from who looks at the attributes of a task."""

    def __init__(self, value):
        self.value = value


def everything_shown(run, capfd):
    """Return everything that the task sent to its supervisor or printed, except secrets for the masker."""
    told = "".join(repr(m) for m in run.supervisor.messages if type(m).__name__ != "MaskSecret")
    return told + "".join(capfd.readouterr()) + repr(vars(run.task)) + repr(run.error)
