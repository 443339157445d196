"""The database of the report: an embedded Derby that lets nobody in without a password."""

from __future__ import annotations

import secrets
import subprocess
from pathlib import Path

import pyspark

OWNER = "flights_owner"
USER = "flights_report"
REFUSAL = "08004"
"""Derby's SQL state for a refused login."""


class DatabaseError(RuntimeError):
    """Derby did not do what it was told."""


def create(home: Path, *, java: str, password: str) -> None:
    """
    Make the database ``flights`` in ``home``, and in it the one user who may write reports.

    Creating the owner's credentials first turns Derby's own authentication on, with hashed passwords, for good. Derby
    reads its orders from standard input, so that no password stands in a command.
    """
    owner = secrets.token_hex(16)
    orders = f"""
        connect 'jdbc:derby:flights;create=true;user={OWNER};password={owner}';
        CALL SYSCS_UTIL.SYSCS_CREATE_USER('{OWNER}', {_literal(owner)});
        CALL SYSCS_UTIL.SYSCS_CREATE_USER('{USER}', {_literal(password)});
        CREATE SCHEMA {USER} AUTHORIZATION {USER};
        exit;
    """
    command = [java, f"-Dderby.system.home={home}", "-cp", _classpath(), "org.apache.derby.tools.ij"]
    answer = subprocess.run(command, input=orders, capture_output=True, text=True, check=False, cwd=home)
    # The answer is not shown: an error may quote the order.
    if answer.returncode or "ERROR" in answer.stdout:
        raise DatabaseError(f"Derby did not create its database; its log is {home / 'derby.log'}.")


def refusals(home: Path) -> int:
    """Count the logins that Derby has refused, by its own log."""
    log = home / "derby.log"
    return log.read_text(errors="replace").count(f"Caused by: ERROR {REFUSAL}") if log.exists() else 0


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _classpath() -> str:
    jars = Path(pyspark.__file__).parent / "jars"
    return ":".join(str(jar) for jar in sorted(jars.glob("derby*.jar")))
