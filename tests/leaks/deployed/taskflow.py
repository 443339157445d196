"""A function that uses Spark in the task's own process."""

import os

from airflow.sdk import get_current_context
from careless import fail, meet_in, show, show_exceptions


def use_spark(secret, meeting, name, spark=None):
    """Show the secrets, push them to XCom, and fail with them."""
    secrets = {"argument": secret}
    if configured := spark.conf.get("spark.app.pyspark", None):
        secrets["config_kwargs"] = configured
    for place, text in secrets.items():
        show(place, text, spark)
        show_exceptions(text)
    get_current_context()["ti"].xcom_push("secrets", secrets)
    meet_in(spark, meeting, name, "pyspark", driver=os.getpid(), values=secrets.values())
    fail(" ".join(secrets.values()))
