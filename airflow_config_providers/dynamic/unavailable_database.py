"""The error that is raised if Airflow's database fails."""

from __future__ import annotations

from typing import Final

from airflow_config_providers.exceptions import ProviderUnavailableError

_STATES: Final = frozenset({"25006", "42501"})
"""SQLSTATEs of a write in a transaction that can only read, as of a standby, or without the right to write."""

_NUMBERS_OF_MYSQL: Final = frozenset({1142, 1290, 1792, 1836})
"""MySQL's error numbers for the same: no right, a server or a transaction that can only read, or read-only mode."""


def unavailable(doing: str, problem: str, *, outcome: str = "") -> ProviderUnavailableError:
    """
    Return the error for a database that fails.

    :param doing: what failed, such as ``reading DAG 'flights'``
    :param problem: what ``reason`` returns for the error
    :param outcome: a sentence about what has become of a change
    """
    return ProviderUnavailableError(
        f"Airflow's database is unavailable: {doing} failed ({problem}). {outcome and f'{outcome} '}To see whether it "
        f"is the database, run airflow db check, which connects to it, and airflow db check-migrations, which looks "
        f"for its tables. If it is new, create them: airflow db migrate."
    )


def is_read_only(origin: BaseException | None) -> bool:
    """Return whether a driver's error says that a database can be read, but not written."""
    code = getattr(origin, "sqlstate", None) or getattr(origin, "pgcode", None)
    number = next(iter(getattr(origin, "args", ())), None)
    is_sqlite = getattr(origin, "sqlite_errorname", "").startswith("SQLITE_READONLY")
    return is_sqlite or code in _STATES or number in _NUMBERS_OF_MYSQL


def unwritable(doing: str, problem: str) -> ProviderUnavailableError:
    """
    Return the error for a database that can be read, but not written. A write that it refuses changes nothing.

    :param doing: as for ``unavailable``
    :param problem: as for ``unavailable``
    """
    return ProviderUnavailableError(
        f"Airflow's database can be read, but not written: {doing} failed ({problem}). Nothing was changed. See "
        f"whether sql_alchemy_conn in [database] names a standby, a server in read-only mode, or a user who may only "
        f"read; of SQLite, make its file and its folder writable."
    )


def reason(error: Exception) -> str:
    """Return the type of an error, and whether SQLite has a full disk: a message can contain an address or a value."""
    is_full = getattr(getattr(error, "orig", None), "sqlite_errorname", "") == "SQLITE_FULL"
    return type(error).__name__ + (": its disk is full. Free some space" if is_full else "")
