"""``airflow config-providers audit`` in processes of its own, over a folder of logs or of records."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from airflow_config_providers.core.reversal.encodings import ENCODINGS, forms
from tests.limits import LONGEST
from tests.servers import quick_python
from tests.servers.spark_cluster import SparkEnvironment

AUDIT = ("config-providers", "audit")
VALUE = "c4nary-7Qm/Zx+91&Pa$$<w0rd>=of\"the'audit"
QUIET = b"[2026-11-25T08:00:00.000+0000] {taskinstance.py:1} INFO - a line of a log that shows nothing at all\n"


def reading(defaults: Path) -> dict[str, str]:
    """Return the environment of an audit whose Spark reads the ``spark-defaults.conf`` of a folder, and starts fast."""
    file = defaults / "spark-defaults.conf"
    return {"PYSPARK_SUBMIT_ARGS": f"--properties-file {shlex.quote(str(file))} pyspark-shell"}


class AuditCommand:
    """
    A deployment with a secret, and a folder of logs.

    :param folder: for everything
    :param environ: for Spark
    """

    def __init__(self, folder: Path, **environ: str) -> None:
        self.folder = folder
        self.logs, self.secrets, self.temp = folder / "logs", folder / "secrets", folder / "temp"
        for made in (self.logs, self.secrets, self.temp, folder / "airflow"):
            made.mkdir(parents=True, exist_ok=True)
        (self.secrets / "password").write_text(VALUE)
        self.reference = f"${{dir:{self.secrets}:password}}"
        (folder / "references").write_text(f"{self.reference}\n")
        self._environ = {
            **{name: text for name, text in SparkEnvironment.of().variables.items() if not name.startswith("AIRFLOW_")},
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            "AIRFLOW_HOME": str(folder / "airflow"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT": json.dumps(self._connection()),
            "TMPDIR": str(self.temp),
            "SPARK_LOCAL_DIRS": str(self.temp),
            **environ,
        }

    def _connection(self) -> Mapping[str, Any]:
        extra = {
            "config.providers": "dir",
            "config.providers.dir.class": "directory",
            "config.providers.dir.param.allowed.paths": str(self.secrets),
        }
        return {"conn_type": "config_providers", "extra": extra}

    def plant(self, name: str, before: int, form: bytes = VALUE.encode()) -> tuple[str, int]:
        """Write a log with a value after so many quiet lines, and return where it is."""
        (self.logs / name).write_bytes(QUIET * before + form + b"\n" + QUIET)
        return str(self.logs / name), before * len(QUIET)

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start an audit of the logs, in a process that others can look at."""
        return subprocess.Popen(
            [sys.executable, "-m", "airflow", *AUDIT, *self._of_logs(), *words],
            env=self._environ,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *words: str) -> tuple[int, list[Any], str]:
        """Run an audit of the logs; return its exit code, its rows and what it printed on standard error."""
        return self.run_any(*self._of_logs(), *words)

    def run_any(self, *words: str) -> tuple[int, list[Any], str]:
        """Run any audit, and return the same of it."""
        done = quick_python.run("-m", "airflow", *AUDIT, *words, env=self._environ, cwd=self.folder)
        return done.returncode, _rows(done.stdout), done.stderr

    def _of_logs(self) -> tuple[str, ...]:
        references = str(self.folder / "references")
        return "leaks", str(self.logs), "--references", references, "--no-records", "--output", "json"


def ended(process: subprocess.Popen[str]) -> tuple[int, list[Any], str]:
    """Wait for an audit; return its exit code, its rows and what it printed on standard error."""
    out, err = process.communicate(timeout=LONGEST)
    return process.returncode, _rows(out), err


def _rows(out: str) -> list[Any]:
    return [json.loads(line) for line in out.splitlines()]


def places(rows: list[Any]) -> list[tuple[str, int]]:
    """Return file and offset of each leak."""
    return [(row["file"], row["offset"]) for row in rows]


def written_forms() -> list[bytes]:
    """Return the value in each encoding that the search knows."""
    return list(dict.fromkeys(form for form in forms(VALUE, ENCODINGS) if len(form) >= len(VALUE) // 2))
