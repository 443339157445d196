"""The database of the report: an embedded Derby that requires a password."""

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
    """Derby could not execute its orders."""


def create(home: Path, *, java: str, password: str) -> None:
    """
    Create the database ``flights`` in ``home``, with the only user who may write reports.

    Creating the owner's credentials first turns on Derby's own authentication, with hashed passwords, permanently.
    Derby reads its orders from standard input, so that no password is in a command.
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
    # The answer is not shown, because an error could quote the order.
    if answer.returncode or "ERROR" in answer.stdout:
        raise DatabaseError(f"Derby could not create its database. See its log, {home / 'derby.log'}.")


def refusals(home: Path) -> int:
    """Return the number of logins that Derby has refused, according to its log."""
    log = home / "derby.log"
    return log.read_text(errors="replace").count(f"Caused by: ERROR {REFUSAL}") if log.exists() else 0


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _classpath() -> str:
    jars = Path(pyspark.__file__).parent / "jars"
    return ":".join(str(jar) for jar in sorted(jars.glob("derby*.jar")))
