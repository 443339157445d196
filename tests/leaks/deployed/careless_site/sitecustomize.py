"""
Makes a careless job of the script that ``SparkJDBCOperator`` submits: it shows what it knows, and waits, when it ends.

It stands among the job's Python files, so that Python imports it first.
"""

import atexit
import os
import sys

if "-cmdType" in getattr(sys, "argv", ()) and "-name" not in sys.argv:
    sys.argv += ["-name", "jdbc"]  # without a name, which no operator gives it, the script fails with Spark 4.2


def secrets_of(spark):
    """Return the configuration, and the password from there or from the arguments."""
    found = {"spark_conf": spark.conf.get("spark.app.jdbc", None)}
    found["password"] = spark.conf.get("spark.airflow.jdbc.secret.password", None)
    if "-password" in sys.argv:
        found["password"] = sys.argv[sys.argv.index("-password") + 1]
    return {place: text for place, text in found.items() if text}


def show_all():
    from careless import meet_in, show, show_exceptions
    from pyspark.sql import SparkSession

    spark = SparkSession.getActiveSession()
    if spark is None:
        return
    secrets = secrets_of(spark)
    for place, text in secrets.items():
        show(place, text, spark)
        show_exceptions(text)
    task, folder = spark.conf.get("spark.app.task"), spark.conf.get("spark.app.meeting")
    meet_in(spark, folder, task, "jdbc", driver=os.getppid(), values=secrets.values())


atexit.register(show_all)
