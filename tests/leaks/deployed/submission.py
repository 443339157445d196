"""What each operator of the DAGs is given."""

import sys

from recorder import callback, push
from taskflow import use_spark

SECRET_OF_SQL = "reflect('java.lang.System', 'getProperty', 'spark.app.sql')"
"""How a query gets at a key that Spark hides from ``SET`` and from substitution."""


def arguments(settings, column, how):
    """Return the arguments of an operator whose secrets come from where ``column`` says."""
    given = {
        "task_id": f"{column}_{how}",
        "retries": 0,
        "on_failure_callback": callback,
        "post_execute": push,
    }
    texts = settings["texts"][column]
    conf = {**settings["conf"], **texts["conf"][how]}
    return given | OTHERS.get(how, submitted)(settings, texts, conf, how, given["task_id"])


def submitted(settings, texts, conf, how, task_id):
    words = [how, settings["meeting"], settings["job_settings"]]
    return {
        "name": task_id,
        "application": settings["job"],
        "conn_id": "spark_cluster" if how == "standalone" else "spark_default",
        "conf": conf,
        "env_vars": texts["env_vars"],
        "properties_file": texts["properties_file"],
        "application_args": [*words, *([texts["argument"]] if how in {"standalone", "killed"} else [])],
        "verbose": how == "local",
    }


def sql(settings, texts, conf, how, task_id):
    meeting = f"exec {sys.executable} {settings['modules'][0]}/sql_meeting.py {settings['meeting']} {task_id}"
    queries = [
        f"select {SECRET_OF_SQL} /* {texts['sql']} */",
        f"select hex({SECRET_OF_SQL}), url_encode({SECRET_OF_SQL}), to_json(struct({SECRET_OF_SQL})), "
        f"base64(encode({SECRET_OF_SQL}, 'utf-8'))",
        f"select transform(application, digest) using '{meeting}' as (met string) "
        f"from (select '${{spark.app.id}}' as application, sha2({SECRET_OF_SQL}, 256) as digest)",
    ]
    return {"sql": ";\n".join(queries), "conf": {**conf, "spark.sql.catalogImplementation": "in-memory"}}


def jdbc(settings, texts, conf, how, task_id):
    return {
        "spark_conn_id": "spark_default",
        "spark_conf": {
            **conf,
            **settings["metastore"],
            "spark.app.meeting": settings["meeting"],
            "spark.app.task": task_id,
        },
        "spark_py_files": settings["site"],
        "cmd_type": "jdbc_to_spark",
        "jdbc_table": "t",
        "jdbc_conn_id": f"jdbc_{task_id}",
        "jdbc_driver": "org.apache.derby.jdbc.EmbeddedDriver",
        "metastore_table": task_id,
        "save_mode": "overwrite",
        "save_format": "json",
        "verbose": True,
    }


def pyspark(settings, texts, conf, how, task_id):
    return {"config_kwargs": {**conf, "spark.master": "local[1]"}}


def call(decorated, settings, column, how):
    """Call what a decorator has made of ``use_spark``."""
    return decorated(settings["texts"][column]["secret"], settings["meeting"], f"{column}_{how}")


def livy(settings, texts, conf, how, task_id):
    return {"file": "job.py", "name": task_id, "conf": conf, "polling_interval": 1, "deferrable": True}


OTHERS = {"sql": sql, "jdbc": jdbc, "pyspark": pyspark, "deferred": livy}

__all__ = ["arguments", "call", "use_spark"]
