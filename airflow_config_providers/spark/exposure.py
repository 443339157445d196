"""What stands where other people can read it, however it reaches Spark."""

from __future__ import annotations

from typing import Final

from airflow_config_providers.core.definition.config_type import ConfigType
from airflow_config_providers.spark.catalogue import spark_definition

FIELDS: Final = ("application", "application_args", "proxy_user", "post_submit_commands")
"""Fields of the operator that stand in a command, which every user of the machine can read."""

_NUMBERS: Final = frozenset({ConfigType.BOOLEAN, ConfigType.INT, ConfigType.LONG, ConfigType.DOUBLE})

_WRITTEN_OUT: Final = frozenset(
    {
        "spark.admin.acls",
        "spark.admin.acls.groups",
        "spark.app.name",
        "spark.archives",
        "spark.driver.defaultExtraClassPath",
        "spark.driver.defaultJavaOptions",
        "spark.driver.extraClassPath",
        "spark.driver.extraJavaOptions",
        "spark.driver.extraLibraryPath",
        "spark.driver.host",
        "spark.driver.memory",
        "spark.executor.defaultExtraClassPath",
        "spark.executor.defaultJavaOptions",
        "spark.executor.extraClassPath",
        "spark.executor.extraJavaOptions",
        "spark.executor.extraLibraryPath",
        "spark.files",
        "spark.jars",
        "spark.jars.ivy",
        "spark.jars.packages",
        "spark.local.dir",
        "spark.metrics.namespace",
        "spark.modify.acls",
        "spark.modify.acls.groups",
        "spark.pyspark.driver.python",
        "spark.pyspark.python",
        "spark.python.daemon.module",
        "spark.python.worker.module",
        "spark.repl.class.uri",
        "spark.repl.local.jars",
        "spark.submit.pyFiles",
        "spark.ui.custom.executor.log.url",
        "spark.ui.store.path",
        "spark.ui.view.acls",
        "spark.ui.view.acls.groups",
        "spark.yarn.dist.archives",
        "spark.yarn.dist.files",
        "spark.yarn.dist.jars",
        "spark.yarn.dist.pyFiles",
    }
)
"""
In Spark's UI or event log, in the command or the log of an executor, or in the command of the driver.

From files, jars and packages Spark derives other keys, the URLs of its file server, and the class path. No redaction
hides the class path: Spark stars what is listed beside a path, not the path. The local directory is an argument of the
``chmod`` that Hadoop starts for each file, and the directory of the UI's store one of the ``rm`` that Spark ends with.
"""

_ENVIRONMENT_OF_EXECUTORS: Final = "spark.executorEnv."
"""The JSON page of a standalone Worker has it."""

_NEEDED_BEFORE_EXECUTORS_CONNECT: Final = ("spark.auth", "spark.network", "spark.port.", "spark.rpc", "spark.ssl")
"""Spark gives these to executors as ``-D`` options."""


def is_exposed(key: str) -> bool:
    """Tell whether Spark itself writes the value of ``key`` into a command or a page. A number is no secret."""
    known = spark_definition().config_keys.get(key)
    if known is not None and known.type in _NUMBERS:
        return False
    if key == "spark.authenticate.secret" or (key.startswith("spark.ssl.") and "Password" in key):
        return False
    written_out_below = (_ENVIRONMENT_OF_EXECUTORS, *_NEEDED_BEFORE_EXECUTORS_CONNECT)
    return key in _WRITTEN_OUT or key.startswith(written_out_below) or key.endswith(".port")
