"""The names under which dynamic configuration is stored in Airflow's variables."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from airflow_config_providers.dynamic.airflow_store import VariableStore, airflow_session

if TYPE_CHECKING:
    from sqlalchemy.orm import Session


def stored_names(prefix: str, begin: Callable[[], AbstractContextManager[Session]] = airflow_session) -> list[str]:
    """
    Return the names of the variables that begin with ``prefix``, in order, without reading values.

    :raises ProviderUnavailableError: the database is unavailable
    """
    return VariableStore(begin=begin).names(prefix)
