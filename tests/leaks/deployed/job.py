"""
Shows each secret in each way in which a careless job might, and waits to be looked at meanwhile.

Arguments: how it shall behave, the folder in which it meets the observer, and a secret.
"""

import hashlib
import json
import logging
import os
import sys
import time
import traceback
from pathlib import Path

from pyspark.sql import SparkSession
from spellings import printed

LONGEST_WAIT = 600
HOW, MEETING, SETTINGS, *ARGUMENTS = sys.argv[1:]


def secrets_of(spark, settings):
    found = {key: spark.conf.get(key, None) for key in settings["keys"]}
    found["spark.app.from.file"] = spark.conf.get("spark.app.from.file", None)
    found["environment"] = os.environ.get("APP_TOKEN")
    found |= {f"argument {i}": text for i, text in enumerate(ARGUMENTS)}
    missing = [key for key in settings["keys"] if not found[key]]
    if missing:
        raise SystemExit(f"These secrets did not arrive, so that a run would prove nothing: {missing}")
    return {name: text for name, text in found.items() if text}


def show(name, text, logger):
    logging.warning("logged %s %s", name, text)
    for spelling, written in printed(text):
        print("PRINTED", name, spelling, written)
        print("PRINTED on stderr", name, spelling, written, file=sys.stderr)
        logger.warn(f"by log4j {name} {spelling} {written}")


def show_exceptions(text):
    try:
        try:
            raise KeyError(text)
        except KeyError as error:
            error.add_note(f"note {text}")
            raise ValueError("cannot log in with " + text) from error
    except ValueError:
        traceback.print_exc()


def show_broken(text):
    middle = len(text) // 2
    sys.stdout.flush()
    print(f"BROKEN {text[:middle]}\n{text[middle:]}", flush=True)


def use_in_query(spark, text):
    literal = text.replace("\\", "\\\\").replace("'", "\\'")
    spark.sql(f"select '{literal}' as secret").collect()


def use_on_executors(spark, text):
    spark.sparkContext.parallelize([1], 1).foreach(lambda _: print("ON AN EXECUTOR", text, flush=True))


def meet(spark, secrets):
    """Tell the observer what there is to see, and wait until it has seen it."""
    context = spark.sparkContext
    told = {"ui": context.uiWebUrl, "application": context.applicationId, "how": HOW}
    told |= {"driver": os.getppid(), "job": os.getpid(), "task": context.appName}
    told["values"] = [hashlib.sha256(text.encode()).hexdigest() for text in secrets.values()]
    file = Path(MEETING, f"{context.appName}-{os.getpid()}.ready")
    file.with_suffix(".new").write_text(json.dumps(told))
    file.with_suffix(".new").rename(file)
    deadline = time.monotonic() + LONGEST_WAIT
    while file.exists() and time.monotonic() < deadline:
        time.sleep(0.05)


def main():
    settings = json.loads(Path(SETTINGS).read_text())
    spark = SparkSession.builder.getOrCreate()
    secrets = secrets_of(spark, settings)
    print("SECRETS", len(secrets), sorted(secrets))
    spark.sql("SET").collect()
    if HOW in {"local", "console"}:
        use_in_query(spark, secrets["spark.app.query"])
    if HOW == "standalone":
        use_on_executors(spark, secrets["spark.app.executor"])
    if HOW != "killed":
        logger = spark._jvm.org.apache.logging.log4j.LogManager.getLogger("job")
        for place, text in secrets.items():
            if place == "spark.app.broken":
                show_broken(text)
            else:
                show(place, text, logger)
                show_exceptions(text)
    if HOW != "console":
        meet(spark, secrets)
    if HOW == "standalone":
        raise ValueError({text: place for place, text in secrets.items()})
    spark.stop()


main()
