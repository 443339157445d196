"""
Shows each secret in each way in which a careless job might, and waits to be looked at meanwhile.

Arguments: how it shall behave, the folder in which it meets the observer, and a secret.
"""

import json
import os
import sys
from pathlib import Path

from careless import meet_in, show, show_exceptions
from pyspark.sql import SparkSession

HOW, MEETING, SETTINGS, *ARGUMENTS = sys.argv[1:]


def secrets_of(spark, settings):
    found = {key: spark.conf.get(key, None) for key in (*settings["keys"], *settings["other_keys"])}
    found["environment"] = os.environ.get("APP_TOKEN")
    found |= {f"argument {i}": text for i, text in enumerate(ARGUMENTS)}
    missing = [key for key in settings["keys"] if not found[key]]
    if missing:
        raise SystemExit(f"These secrets did not arrive, so that a run would prove nothing: {missing}")
    return {name: text for name, text in found.items() if text}


def show_broken(text):
    middle = len(text) // 2
    sys.stdout.flush()
    print(f"BROKEN {text[:middle]}\n{text[middle:]}", flush=True)


def show_in_table(spark, texts):
    """Make Spark cut each value at 20 characters, as it does in every log of a notebook."""
    spark.createDataFrame([(text,) for text in texts], "secret string").show(len(texts))


def use_in_query(spark, text):
    literal = text.replace("\\", "\\\\").replace("'", "\\'")
    spark.sql(f"select '{literal}' as secret").collect()


def use_on_executors(spark, text):
    spark.sparkContext.parallelize([1], 1).foreach(lambda _: print("ON AN EXECUTOR", text, flush=True))


def main():
    settings = json.loads(Path(SETTINGS).read_text())
    spark = SparkSession.builder.getOrCreate()
    secrets = secrets_of(spark, settings)
    print("SECRETS", len(secrets), sorted(secrets))
    spark.sql("SET").collect()
    if HOW in {"local", "console"}:
        use_in_query(spark, secrets["spark.app.query"])
        show_in_table(spark, list(secrets.values()))
    if HOW == "standalone":
        use_on_executors(spark, secrets["spark.app.executor"])
    if HOW != "killed":
        for place, text in secrets.items():
            if place == "spark.app.broken":
                show_broken(text)
            else:
                show(place, text, spark)
                show_exceptions(text)
    if HOW != "console":
        meet_in(spark, MEETING, spark.sparkContext.appName, HOW, driver=os.getppid(), values=secrets.values())
    if HOW == "standalone":
        raise ValueError({text: place for place, text in secrets.items()})
    spark.stop()


main()
