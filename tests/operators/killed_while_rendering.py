"""Kills a task, as Airflow does by a signal, in the middle of the imports of its first rendering."""

import builtins
import os
import signal
import sys

from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator

job = ConfiguredSparkSubmitOperator(task_id="job", application="job.py", conf={"spark.a": "1"})
signal.signal(signal.SIGTERM, lambda *_: job.on_kill())
imported = builtins.__import__


def importing(name, globals_=None, *args, **kwargs):
    if globals_ and globals_.get("__name__") == "airflow_config_providers.job.exposed_values":
        builtins.__import__ = imported
        os.kill(os.getpid(), signal.SIGTERM)
    return imported(name, globals_, *args, **kwargs)


builtins.__import__ = importing
from airflow_config_providers.job import configuration  # noqa: E402, F401 - what is tested

sys.exit(builtins.__import__ is not imported)
