"""Runs ``audit leaks`` in a deployment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from tests.cli.conftest import Cli, Ended

VALUE: Final = "c4nary-Pa$$w0rd/of+the=audit"


class Audit:
    """
    A deployment with a secret ``password``, a folder of logs and a file that names references.

    :param master: Spark's master for the searches
    """

    def __init__(self, cli: Cli, folder: Path, master: str = "local[2]") -> None:
        self._cli = cli
        self._master = master
        self.folder = folder
        self.logs = folder / "logs"
        self.secrets = folder / "secrets"
        self.encoder_secret = "the-secret-of-the-encoder"
        for made in (self.logs, self.secrets):
            made.mkdir()
        (self.secrets / "password").write_text(VALUE)
        self.names("password")

    def reference(self, key: str) -> str:
        return f"${{dir:{self.secrets}:{key}}}"

    def names(self, *keys: str) -> None:
        lines = [f"spark.app.{number}={self.reference(key)}\n" for number, key in enumerate(keys)]
        (self.folder / "references").write_text("# what the audit searches for\n" + "".join(lines))

    def __call__(self, *words: str, records: bool = False, paths: bool = True) -> Ended:
        given = () if records else ("--references", str(self.folder / "references"), "--no-records")
        return self._search(*([str(self.logs)] * paths), *given, *words)

    def _search(self, *words: str) -> Ended:
        extra = {
            "config.providers": "dir",
            "config.providers.dir.class": "directory",
            "config.providers.dir.param.allowed.paths": str(self.secrets),
        }
        connection = json.dumps({"conn_type": "config_providers", "extra": extra})
        return self._cli.airflow(
            *("config-providers", "audit", "leaks", *words, "--master", self._master),
            environ={
                "AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT": connection,
                "AIRFLOW__CONFIG_PROVIDERS__PASSWORD_ENCODER_SECRET": self.encoder_secret,
            },
        )

    def unnamed(self, *words: str) -> Ended:
        """Search without references."""
        (self.folder / "references").unlink()
        return self._search(str(self.logs), "--no-records", *words)

    def rows(self, *words: str, code: int = 1, records: bool = False) -> list[Any]:
        done = self(*words, "--output", "json", records=records)
        assert done.code == code, done.err
        return [json.loads(line) for line in done.out.splitlines()]
