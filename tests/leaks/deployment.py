"""The Airflow in which the secrets are let loose."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cryptography.fernet import Fernet

from tests.integration.conftest import Airflow
from tests.leaks.canaries import ARGUMENT, CONF, ENVIRONMENT, FILE, Canary, Column

DEPLOYED = Path(__file__).parent / "deployed"
BYTECODE = "bytecode"
"""Where Python keeps what it has compiled: dozens of processes start, and each would compile Airflow anew."""

TESTED = "leaks_test"
"""The DAG that no scheduler runs, but ``airflow dags test``."""

UNEDITED = "leaks_unedited"
ROUNDS = (("leaks_runs", UNEDITED), ("leaks_killed",))
"""The DAGs that the scheduler runs, those that run at the same time together."""


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
        {"leaks_runs": ("local", "standalone"), "leaks_killed": ("killed",), TESTED: ("console",)},
    ),
    DagFile("unedited.py", (Column.UNEDITED,), {UNEDITED: ("local",)}),
)


@dataclass(frozen=True, slots=True)
class LeakyTask:
    """A task that submits for a column, and behaves as ``how`` says."""

    dag_id: str
    column: Column
    how: str

    @property
    def task_id(self) -> str:
        """Give the name that the DAG gives it."""
        return f"{self.column.key}_{self.how}"


class LeakyAirflow:
    """
    An Airflow with a job that shows what it knows, a plugin that records what it sees, and lineage.

    :param home: a folder of its own
    :param master_url: of the standalone cluster
    """

    def __init__(self, home: Path, canaries: Collection[Canary], *, master_url: str) -> None:
        self.home = home
        self.canaries = canaries
        self.columns = list(dict.fromkeys(canary.column for canary in canaries))
        self.airflow = Airflow(home, **_environ(home, master_url))
        self.sources = home / "sources"
        self.meeting = home / "meeting"
        for folder in (self.sources, self.meeting, home / "plugins"):
            folder.mkdir()

    @property
    def tasks(self) -> list[LeakyTask]:
        """Give the tasks of all DAGs."""
        return [
            LeakyTask(dag_id, column, how)
            for file in DAG_FILES
            for dag_id, hows in file.dags.items()
            for how in hows
            for column in file.columns
            if column in self.columns
        ]

    @property
    def dags(self) -> list[str]:
        """Give the DAGs."""
        return list(dict.fromkeys(task.dag_id for task in self.tasks))

    @property
    def secret_folders(self) -> list[Path]:
        """Give where the secrets stand because they were put there."""
        return [self.airflow.secrets, self.airflow.dags, self.sources, self.home / BYTECODE]

    def write(self) -> None:
        """Write the job, the plugin and the DAGs."""
        for name in ("job.py", "spellings.py", "submission.py"):
            shutil.copyfile(DEPLOYED / name, self.sources / name)
        shutil.copyfile(DEPLOYED / "recorder.py", self.home / "plugins/recorder.py")
        (self.sources / "settings.json").write_text(json.dumps({"keys": [slot.key for slot in CONF]}))
        for file in DAG_FILES:
            if columns := [column for column in file.columns if column in self.columns]:
                settings = self._settings(file, columns)
                source = (DEPLOYED / file.name).read_text()
                (self.airflow.dags / f"leaks_{file.name}").write_text(f"SETTINGS = {settings!r}\n{source}")

    def _settings(self, file: DagFile, columns: Sequence[Column]) -> dict[str, Any]:
        return {
            "columns": [column.key for column in columns],
            "conf": {**SPARK, **_folders(self.home), "spark.eventLog.dir": str(self.airflow.events)},
            "dags": dict(file.dags),
            "job": str(self.sources / "job.py"),
            "job_settings": str(self.sources / "settings.json"),
            "meeting": str(self.meeting),
            "modules": [str(self.sources), str(self.home / "plugins")],
            "texts": {column.key: self._texts(column) for column in columns},
        }

    def _texts(self, column: Column) -> dict[str, Any]:
        """Give what stands in the operator of a column: references, templates or the secrets themselves."""
        written = {c.slot: c.slot.text.format(self._written(c)) for c in self.canaries if c.column == column}
        return {
            "conf": {slot.key: written[slot] for slot in CONF},
            "env_vars": {"APP_TOKEN": written[ENVIRONMENT]},
            "argument": written.get(ARGUMENT),
            "properties_file": self._properties_file(column, written[FILE]) if FILE in written else None,
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
        file = self.sources / f"{column.key}.properties"
        escaped = text.replace("\\", "\\\\").encode("ascii", "backslashreplace").decode().replace("\\xfc", "\\u00fc")
        file.write_text(f"{FILE.key}={escaped}\n")
        return str(file)

    def store(self) -> None:
        """Put the variables and connections of the stock operator into Airflow's database, over REST."""
        for canary in self.canaries:
            if canary.column == Column.VARIABLE:
                self.airflow.post("/api/v2/variables", {"key": canary.name, "value": canary.value})
            if canary.column == Column.CONNECTION:
                entry = {"connection_id": canary.name, "conn_type": "generic", "password": canary.value}
                self.airflow.post("/api/v2/connections", entry)


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


QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""What a JVM that lives for seconds should not spend on becoming fast."""


def _folders(home: Path) -> dict[str, str]:
    return {
        "spark.driver.extraJavaOptions": f"{QUICK_JAVA} -Djava.io.tmpdir={home}/tmp",
        "spark.executor.extraJavaOptions": QUICK_JAVA,
        "spark.local.dir": f"{home}/tmp",
    }


def _environ(home: Path, master_url: str) -> dict[str, str]:
    return {
        "AIRFLOW__CORE__FERNET_KEY": Fernet.generate_key().decode(),
        "AIRFLOW__CORE__DAGBAG_IMPORT_TIMEOUT": "180",
        "AIRFLOW__CORE__PARALLELISM": "2",
        "AIRFLOW__CORE__MAX_TEMPLATED_FIELD_LENGTH": "100000",
        "AIRFLOW__CONFIG_PROVIDERS__APPLY_TO": "spark",
        "AIRFLOW__DAG_PROCESSOR__DAG_FILE_PROCESSOR_TIMEOUT": "180",
        "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps(
            {"type": "file", "log_file_path": f"{home}/openlineage.json", "append": True}
        ),
        "AIRFLOW__OPENLINEAGE__INCLUDE_FULL_TASK_INFO": "True",
        "AIRFLOW__OPENLINEAGE__SPARK_INJECT_PARENT_JOB_INFO": "True",
        "AIRFLOW__OPENLINEAGE__SPARK_INJECT_TRANSPORT_INFO": "True",
        "AIRFLOW_CONN_SPARK_CLUSTER": json.dumps({"conn_type": "spark", "host": master_url}),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPYCACHEPREFIX": f"{home}/{BYTECODE}",
        "SPARK_LAUNCHER_OPTS": QUICK_JAVA,
    }
