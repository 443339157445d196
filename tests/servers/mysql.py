"""Debian's MySQL, which is MariaDB, or MySQL itself, on a socket in a folder of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sqlalchemy import create_engine, text

from tests.limits import LONGEST, eventually
from tests.servers.postgresql import wait_for

_WITHOUT_WAITING: Final = ["--innodb-flush-log-at-trx-commit=0", "--skip-log-bin"]
"""The server is never killed, so nothing has to be on the disk."""


def mysql_server() -> str | None:
    """Return the path of the server's program; a folder that only root has on the PATH can have it."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin"
    return shutil.which("mariadbd", path=path) or shutil.which("mysqld", path=path)


@contextmanager
def mysql(program: str, port: int | None = None) -> Iterator[str]:
    """
    Run the server, and give the address of its superuser, who needs no password; see `emptied`.

    :param port: of this machine, where it listens, too; None for a socket only
    """
    user = ["--user=mysql"] if os.getuid() == 0 else []
    folder = Path(tempfile.mkdtemp(prefix="my"))
    try:
        if user:
            shutil.chown(folder, "mysql")
        socket, data = folder / "socket", f"--datadir={folder}/data"
        subprocess.run(_initialize(program, [*user, data]), check=True, capture_output=True, cwd=folder)
        networking = [f"--port={port}", "--bind-address=127.0.0.1"] if port else ["--skip-networking"]
        options = [f"--socket={socket}", *networking, "--skip-grant-tables", *_WITHOUT_WAITING]
        serve = [program, "--no-defaults", *user, data, *options]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(serve, cwd=folder, stdout=log, stderr=log)
        try:
            url = f"mysql+pymysql://root@localhost/mysql?unix_socket={socket}"
            assert eventually(socket.exists, every=0.1), "the database does not start"
            wait_for(url)
            yield url
        finally:
            server.terminate()
            server.wait(LONGEST)
    finally:
        shutil.rmtree(folder)


def emptied(url: str, name: str = "airflow") -> str:
    """Empty a database of tests, and give its address. It has the collation that Airflow recommends."""
    engine = create_engine(url)
    with engine.connect() as connection:
        connection.execute(text(f"DROP DATABASE IF EXISTS {name}"))
        connection.execute(text(f"CREATE DATABASE {name} CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci"))
    engine.dispose()
    return url.replace("/mysql?", f"/{name}?")


def _initialize(program: str, options: Sequence[str]) -> list[str]:
    """Return the command that makes the system's tables."""
    if Path(program).name == "mariadbd":
        return ["mariadb-install-db", "--no-defaults", "--skip-test-db", *options]
    return [program, "--no-defaults", "--initialize-insecure", *options]
