"""What the three jobs share: their session, their settings and the place of each table."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql.conf import RuntimeConfig

PREFIX = "spark.flights."


class MissingSettingError(ValueError):
    """A setting that the job cannot do without was not given."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The job's settings, ``spark.flights.*``: asked for one by one, never listed, so none is printed by accident."""

    conf: RuntimeConfig

    def text(self, name: str) -> str:
        """Give the setting ``spark.flights.<name>``."""
        value = self.conf.get(PREFIX + name, "")
        if not value:
            raise MissingSettingError(f"{PREFIX}{name} is not set. Give it in the configuration of the task.")
        return value

    def number(self, name: str) -> float:
        """Give a setting that is a number. The text itself is kept out of the error."""
        value = _number(self.text(name))
        if value is None:
            raise MissingSettingError(f"{PREFIX}{name} is not a number.")
        return value

    def table(self, name: str) -> str:
        """Give the place of a Parquet table below ``spark.flights.lake.dir``."""
        return f"{self.text('lake.dir')}/{name}"


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def session() -> SparkSession:
    """Give the session that spark-submit configured; it also brought the application's name."""
    return SparkSession.builder.getOrCreate()


def progress(line: str) -> None:
    """Print one line of progress."""
    print(f"[flights] {line}", flush=True)
