"""
Options for a JVM that lives for seconds, and should not spend them on becoming fast.

``python -m tests.servers.quick_java`` writes Spark's classes to a file as a JVM keeps them in memory: with it, Spark
starts in half the time. A JVM leaves the file alone when it has another class path, or is of another version.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

QUICK_JAVA: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m"
"""
The size of the code cache is Java's own default. With its first compiler alone, Java takes a fifth of that, which
a few hundred queries of Spark fill.
"""
CLASSES: Final = Path(sys.prefix, "spark-classes.jsa")

JOB: Final = """
import sys
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
spark.createDataFrame([(1, "a")], "number INT, text STRING").write.parquet(sys.argv[1], partitionBy="text")
spark.read.parquet(sys.argv[1]).groupBy("text").count().collect()
spark.stop()
"""
"""Uses of Spark what most jobs use."""


def _of_classes() -> str:
    """Return the options for a JVM of Spark; what it has to say about the file goes nowhere."""
    return f'-Xlog:disable "-XX:SharedArchiveFile={CLASSES}"' if CLASSES.exists() else ""


QUICK_SPARK: Final = f"{QUICK_JAVA} {_of_classes()}".rstrip()
"""For a JVM whose class path is that of Spark."""

ENVIRONMENT: Final = {
    "SPARK_SUBMIT_OPTS": QUICK_SPARK,
    "SPARK_LAUNCHER_OPTS": QUICK_JAVA,
    "SPARK_DAEMON_JAVA_OPTS": QUICK_JAVA,
}
"""For spark-submit and the driver it becomes, what makes its command, and the Master and the Worker."""


def write_classes(folder: Path) -> None:
    """Run a job, and write the classes that it has used to `CLASSES`."""
    job, written = folder / "job.py", CLASSES.with_suffix(".new")
    job.write_text(JOB)
    options = {**ENVIRONMENT, "SPARK_SUBMIT_OPTS": f'{QUICK_JAVA} -Xlog:disable "-XX:ArchiveClassesAtExit={written}"'}
    command = [Path(sys.executable).with_name("spark-submit"), "--master", "local[1]"]
    command += ["--conf", "spark.eventLog.enabled=true", "--conf", f"spark.eventLog.dir=file://{folder}"]
    subprocess.run([*command, job, folder / "table"], env={**os.environ, **options}, cwd=folder, check=True)
    written.replace(CLASSES)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        write_classes(Path(name))
