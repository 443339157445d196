"""The Airflow in which the secrets are let loose."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any, Final

from cryptography.fernet import Fernet

from tests.integration.conftest import Unforked
from tests.leaks.canaries import (
    ARGUMENT,
    CONF,
    DYNAMIC,
    ENVIRONMENT,
    FILE,
    JDBC_PASSWORD,
    OTHERS,
    PYSPARK_ARGUMENT,
    SLOTS,
    SQL,
    SUBMITTED,
    Canary,
    Column,
    Slot,
)
from tests.leaks.databases import create
from tests.servers import quick_java

DEPLOYED = Path(__file__).parent / "deployed"
TESTED = "leaks_test"
"""The DAG that no scheduler runs, but ``airflow dags test``."""

UNEDITED = "leaks_unedited"
ROUNDS = (("leaks_runs", "leaks_others", UNEDITED), ("leaks_killed",))
"""The DAGs that the scheduler runs, those that run at the same time together."""


OTHER_OPERATORS: Final = ("sql", "jdbc", "pyspark", "deferred")


@dataclass(frozen=True, slots=True)
class DagFile:
    """
    A file with DAGs.

    :param name: of the file
    :param columns: who submits in it
    :param dags: DAG -> how its tasks behave
    """

    name: str
    columns: tuple[Column, ...]
    dags: Mapping[str, Sequence[str]]


DAG_FILES: Final = (
    DagFile(
        "dag.py",
        tuple(column for column in Column if column != Column.UNEDITED),
        {
            "leaks_runs": ("local", "standalone"),
            "leaks_others": OTHER_OPERATORS,
            "leaks_killed": ("killed",),
            TESTED: ("console",),
        },
    ),
    DagFile("unedited.py", (Column.UNEDITED,), {UNEDITED: ("local", *OTHER_OPERATORS)}),
)

PRIVATE: Final = (JDBC_PASSWORD, DYNAMIC)
"""What stands in no DAG: not even a reference to it."""

DATABASES: Final = "databases"

CHANGES: Final = "changes.properties"
"""The file with which the configuration is altered, among the sources."""


@dataclass(frozen=True, slots=True)
class LeakyTask:
    """A task that submits for a column, and behaves as ``how`` says."""

    dag_id: str
    column: Column
    how: str

    @property
    def task_id(self) -> str:
        """Return its name in the DAG."""
        return f"{self.column.key}_{self.how}"


class LeakyAirflow:
    """
    An Airflow with a job that shows what it knows, a plugin that records what it sees, and lineage.

    :param home: a folder of its own
    :param master_url: of the standalone cluster
    :param livy_port: of a server on this machine
    :param stock: how the tasks of a stock operator behave, by column; None for all that there are
    """

    def __init__(
        self,
        home: Path,
        canaries: Collection[Canary],
        *,
        master_url: str,
        livy_port: int,
        stock: Mapping[Column, Collection[str]] | None = None,
    ) -> None:
        self.home = home
        self.canaries = canaries
        self._stock = dict.fromkeys(Column, (*SUBMITTED, *OTHER_OPERATORS)) if stock is None else stock
        self.columns = list(dict.fromkeys(canary.column for canary in canaries))
        self.airflow = Unforked(home, **_environ(home, master_url, livy_port))
        self.sources = home / "sources"
        self.meeting = home / "meeting"
        for folder in (self.sources, self.meeting, home / "plugins"):
            folder.mkdir()

    @property
    def tasks(self) -> list[LeakyTask]:
        """Return the tasks of all DAGs."""
        return [
            LeakyTask(dag_id, column, how)
            for file in DAG_FILES
            for dag_id, hows in file.dags.items()
            for how in hows
            for column in file.columns
            if column in self.columns and any(how in slot.hows and column in slot.columns for slot in SLOTS)
            if column.is_ours or how in self._stock.get(column, ())
        ]

    def slots(self, task: LeakyTask) -> dict[Slot, Canary]:
        """Return the slots of a task, which are secret."""
        return {c.slot: c for c in self.canaries if c.column == task.column and task.how in c.slot.hows}

    @property
    def dags(self) -> list[str]:
        """Return the DAGs."""
        return list(dict.fromkeys(task.dag_id for task in self.tasks))

    @property
    def secret_folders(self) -> list[Path]:
        """Return the folders in which secrets are on purpose."""
        return [self.airflow.secrets, self.airflow.dags, self.sources]

    def write(self) -> None:
        """Write the jobs, the plugin and the DAGs."""
        shutil.copytree(DEPLOYED, self.sources, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copyfile(DEPLOYED / "recorder.py", self.home / "plugins/recorder.py")
        (self.sources / "settings.json").write_text(json.dumps(JOB_SETTINGS))
        create(self.home / "derby", DATABASES, self._of(JDBC_PASSWORD), script=self.sources / "databases.sql")
        for canary in self._of(DYNAMIC):
            self._write_properties(CHANGES, DYNAMIC.key, canary.value)
        for file in DAG_FILES:
            if columns := [column for column in file.columns if column in self.columns]:
                settings = self._settings(file, columns)
                source = (DEPLOYED / file.name).read_text()
                (self.airflow.dags / f"leaks_{file.name}").write_text(f"SETTINGS = {settings!r}\n{source}")

    def _of(self, slot: Slot) -> list[Canary]:
        return [canary for canary in self.canaries if canary.slot == slot]

    def _settings(self, file: DagFile, columns: Sequence[Column]) -> dict[str, Any]:
        return {
            "conf": {**SPARK, **_folders(self.home), "spark.eventLog.dir": str(self.airflow.events)},
            "dags": {
                dag_id: [(task.column.key, task.how) for task in self.tasks if task.dag_id == dag_id]
                for dag_id in file.dags
            },
            "job": str(self.sources / "job.py"),
            "job_settings": str(self.sources / "settings.json"),
            "meeting": str(self.meeting),
            "metastore": METASTORE,
            "modules": [str(self.sources), str(self.home / "plugins")],
            "site": ",".join(
                str(self.sources / name) for name in ("careless_site/sitecustomize.py", "careless.py", "spellings.py")
            ),
            "texts": {column.key: self._texts(column) for column in columns},
        }

    def _texts(self, column: Column) -> dict[str, Any]:
        """Return the values in the operator of a column: references, templates or the secrets themselves."""
        own = [c for c in self.canaries if c.column == column and c.slot not in PRIVATE]
        written = {c.slot: c.slot.text.format(self._written(c)) for c in own}
        return {
            "conf": {how: _conf(written, how) for file in DAG_FILES for hows in file.dags.values() for how in hows},
            "env_vars": {"APP_TOKEN": written[ENVIRONMENT]},
            "argument": written.get(ARGUMENT),
            "properties_file": self._properties_file(column, written[FILE]) if FILE in written else None,
            "secret": written.get(PYSPARK_ARGUMENT),
            "sql": written.get(SQL, ""),
        }

    def _written(self, canary: Canary) -> str:
        match canary.column:
            case Column.OURS | Column.UNEDITED:
                return self.airflow.seal(canary.name, canary.value)
            case Column.VARIABLE:
                return f"{{{{ var.value.{canary.name} }}}}"
            case Column.CONNECTION:
                return f"{{{{ conn.{canary.name}.password }}}}"
            case Column.LITERAL:
                return canary.value

    def _properties_file(self, column: Column, text: str) -> str:
        return self._write_properties(f"{column.key}.properties", FILE.key, text)

    def _write_properties(self, name: str, key: str, text: str) -> str:
        file = self.sources / name
        escaped = text.replace("\\", "\\\\").encode("ascii", "backslashreplace").decode().replace("\\xfc", "\\u00fc")
        file.write_text(f"{key}={escaped}\n")
        return str(file)

    def store(self) -> None:
        """Put the variables and connections of the stock operator into Airflow's database, over REST."""
        for canary in self.canaries:
            if canary.column == Column.VARIABLE:
                self.airflow.post("/api/v2/variables", {"key": canary.name, "value": canary.value})
            if canary.column == Column.CONNECTION and canary.slot not in PRIVATE:
                entry = {"connection_id": canary.name, "conn_type": "generic", "password": canary.value}
                self.airflow.post("/api/v2/connections", entry)
            if canary.slot == JDBC_PASSWORD:
                self.airflow.post("/api/v2/connections", _jdbc_connection(canary))


def _conf(written: Mapping[Slot, str], how: str) -> dict[str, str]:
    """Return the secrets in the Spark configuration of tasks that behave as ``how`` says."""
    return {
        slot.key: text for slot, text in written.items() if slot in {*CONF, *OTHERS} and slot.key and how in slot.hows
    }


def _jdbc_connection(canary: Canary) -> dict[str, Any]:
    return {
        "connection_id": f"jdbc_{canary.column.key}_jdbc",
        "conn_type": "jdbc",
        "host": DATABASES,
        "schema": canary.name,
        "login": "app",
        "password": canary.value,
        "extra": json.dumps({"conn_prefix": "jdbc:derby:"}),
    }


JOB_SETTINGS: Final = {"keys": [slot.key for slot in CONF], "other_keys": [FILE.key, DYNAMIC.key]}

METASTORE: Final = {"spark.hadoop.javax.jdo.option.ConnectionURL": "jdbc:derby:memory:metastore;create=true"}

SPARK: Mapping[str, str] = {
    "spark.cores.max": "1",
    "spark.driver.memory": "600m",
    "spark.executor.memory": "512m",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.broadcast.compress": "false",
    "spark.log.level": "WARN",
    "spark.shuffle.compress": "false",
    "spark.ui.port": "0",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "1",
}


def _folders(home: Path) -> dict[str, str]:
    return {
        "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={home}/tmp -Dderby.system.home={home}/derby",
        "spark.executor.extraJavaOptions": quick_java.QUICK_JAVA,
        "spark.local.dir": f"{home}/tmp",
        "spark.sql.warehouse.dir": f"{home}/warehouse",
    }


def _environ(home: Path, master_url: str, livy_port: int) -> dict[str, str]:
    return {
        "AIRFLOW__CORE__FERNET_KEY": Fernet.generate_key().decode(),
        "AIRFLOW__CORE__PARALLELISM": "2",
        "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "60",  # reading a DAG again must not change it
        "AIRFLOW__CORE__MAX_TEMPLATED_FIELD_LENGTH": "100000",
        "AIRFLOW__CONFIG_PROVIDERS__APPLY_TO": "spark",
        "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps(
            {"type": "file", "log_file_path": f"{home}/openlineage.json", "append": True}
        ),
        "AIRFLOW__OPENLINEAGE__INCLUDE_FULL_TASK_INFO": "True",
        "AIRFLOW__OPENLINEAGE__SPARK_INJECT_PARENT_JOB_INFO": "True",
        "AIRFLOW__OPENLINEAGE__SPARK_INJECT_TRANSPORT_INFO": "True",
        "AIRFLOW__CONFIG_PROVIDERS__PASSWORD_ENCODER_SECRET": token_hex(16),
        "AIRFLOW_CONN_LIVY_DEFAULT": json.dumps({"conn_type": "livy", "host": "127.0.0.1", "port": livy_port}),
        "AIRFLOW_CONN_SPARK_CLUSTER": json.dumps({"conn_type": "spark", "host": master_url}),
        "AIRFLOW_CONN_SPARK_SQL_DEFAULT": json.dumps({"conn_type": "spark_sql", "host": "local[1]"}),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONDONTWRITEBYTECODE": "",  # dozens of processes start, and each would compile the same anew
        **quick_java.ENVIRONMENT,
    }
