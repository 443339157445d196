"""What the three jobs share: their session, their settings and the path of each table."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql.conf import RuntimeConfig

PREFIX = "spark.flights."


class MissingSettingError(ValueError):
    """A setting that the job requires is missing."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The job's settings, ``spark.flights.*``. They are read one by one and never listed, so none leaks by accident."""

    conf: RuntimeConfig

    def text(self, name: str) -> str:
        """Return the setting ``spark.flights.<name>``."""
        value = self.conf.get(PREFIX + name, "")
        if not value:
            raise MissingSettingError(f"{PREFIX}{name} is not set. Set it in the configuration of the task.")
        return value

    def number(self, name: str) -> float:
        """Return a setting that is a number. An error does not quote its text."""
        value = _number(self.text(name))
        if value is None:
            raise MissingSettingError(f"{PREFIX}{name} is not a number.")
        return value

    def table(self, name: str) -> str:
        """Return the path of a Parquet table below ``spark.flights.lake.dir``."""
        return f"{self.text('lake.dir')}/{name}"


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def session() -> SparkSession:
    """Return the session, which spark-submit has configured, including the name of the application."""
    return SparkSession.builder.getOrCreate()


def progress(line: str) -> None:
    """Print one line of progress."""
    print(f"[flights] {line}", flush=True)
