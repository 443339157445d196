"""
A process that follows a DAG in a database: ``python -m tests.dynamic.following URL DAG SECRET``.

It prints each new value of ``a``, with the text in the file SECRET, which is used as the value of references, until its
standard input ends.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import create_engine
from sqlalchemy.orm import sessionmaker

from airflow_config_providers.core.alter import ConfigResource, ResourceType
from airflow_config_providers.core.reconfigurable import Reconfigurable, Reconfigurables
from airflow_config_providers.dynamic.admin import ConfigAdmin
from airflow_config_providers.dynamic.airflow_store import VariableStore

ROOT = Path(__file__).parents[2]
INTERVAL = 0.1


class Printing(Reconfigurable):
    """Prints each configuration that it gets."""

    def __init__(self, secret: Path) -> None:
        self.secret = secret

    def reconfigurable_configs(self) -> Sequence[str]:
        return ["a"]

    def validate_reconfiguration(self, configs: Mapping[str, object]) -> None:
        pass

    def reconfigure(self, configs: Mapping[str, object]) -> None:
        print("told", configs.get("a"), self.secret.read_text(), flush=True)


@contextmanager
def started(url: str, dag: str, secret: Path) -> Iterator[Iterator[str]]:
    """Start a process, and yield the lines that it prints, one for each configuration that it gets."""
    command = [sys.executable, "-m", "tests.dynamic.following", url, dag, str(secret)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        lines = (line.removeprefix("told ").strip() for line in process.stdout if line.startswith("told "))
        try:
            yield lines
        finally:
            process.stdin.close()


def main() -> None:
    url, dag, secret = sys.argv[1:]
    resource, members, file = ConfigResource(ResourceType.DAG, dag), Reconfigurables({}), Path(secret)
    members.add(Printing(file))
    admin = ConfigAdmin(VariableStore(begin=sessionmaker(create_engine(url))), followers={resource: members})
    with admin.follow(interval=INTERVAL, fetch=lambda texts: dict.fromkeys(texts, file.read_text())):
        print("told nothing yet", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
