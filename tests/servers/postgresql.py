"""A PostgreSQL of Debian's, on a socket in a folder of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError

from tests.limits import LONGEST, eventually

_ACCESS = "local all postgres trust\nlocal all all md5\nhost all all 127.0.0.1/32 md5\n"
"""Only the superuser needs no password. With SCRAM, Java would compute for 20 ms and more before each connection."""


def required_postgresql() -> Path:
    """Return the folder of PostgreSQL's programs, which is not on the PATH in Debian; skip the test without them."""
    found = [Path(path) for path in [shutil.which("initdb")] if path]
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        pytest.skip("PostgreSQL is missing: apt-get install postgresql")
    return found[-1].parent


@contextmanager
def postgresql(programs: Path, port: int | None = None) -> Iterator[str]:
    """
    Run PostgreSQL, which refuses to be root; give the address for its superuser.

    :param port: of this machine, where it listens, too; None for a socket only
    """
    user = {"user": "postgres"} if os.getuid() == 0 else {}
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    try:
        if user:
            shutil.chown(folder, "postgres")
        data = str(folder / "data")
        init = [programs / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "--no-locale", "-E", "UTF8"]
        subprocess.run(init, check=True, capture_output=True, cwd=folder, **user)
        (folder / "data/pg_hba.conf").write_text(_ACCESS)
        serve = [
            programs / "postgres",
            "-D",
            data,
            "-k",
            str(folder),
            "-c",
            f"listen_addresses={'127.0.0.1' if port else ''}",
            "-c",
            "password_encryption=md5",
        ]
        serve += ["-p", str(port)] if port else []
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(serve, cwd=folder, stdout=log, stderr=log, **user)
        try:
            url = f"postgresql+psycopg2://postgres@/postgres?host={folder}" + (f"&port={port}" if port else "")
            wait_for(url)
            yield url
        finally:
            server.send_signal(signal.SIGINT)  # at once, also with clients
            server.wait(LONGEST)
    finally:
        shutil.rmtree(folder)


def wait_for(url: str) -> None:
    """Return when the database answers."""
    engine = create_engine(url)

    def answers() -> bool:
        with suppress(OperationalError), engine.connect() as connection:
            connection.execute(text("SELECT 1"))
            return True
        return False

    assert eventually(answers, every=0.1), "the database does not answer"
    engine.dispose()
