"""The error that is raised if Airflow's database fails."""

from __future__ import annotations

from airflow_config_providers.exceptions import ProviderUnavailableError


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


def reason(error: Exception) -> str:
    """Return the type of an error, and whether SQLite has a full disk: a message can contain an address or a value."""
    is_full = getattr(getattr(error, "orig", None), "sqlite_errorname", "") == "SQLITE_FULL"
    return type(error).__name__ + (": its disk is full. Free some space" if is_full else "")
