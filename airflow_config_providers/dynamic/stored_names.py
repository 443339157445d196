"""The names under which dynamic configuration is stored in Airflow's variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from airflow_config_providers.dynamic.airflow_store import airflow_session
from airflow_config_providers.exceptions import ProviderUnavailableError

if TYPE_CHECKING:
    from sqlalchemy.orm import Session


def stored_names(prefix: str, begin: Callable[[], Session] = airflow_session) -> list[str]:
    """
    Give the names of the variables that begin with ``prefix``, in order; reads no value.

    :raises ProviderUnavailableError: the database cannot be asked
    """
    from airflow.models.variable import Variable  # noqa: PLC0415 - slow to import
    from sqlalchemy import select  # noqa: PLC0415 - slow to import
    from sqlalchemy.exc import SQLAlchemyError  # noqa: PLC0415 - slow to import

    key = Variable.__table__.c.key
    try:
        with begin() as session:
            return sorted(session.scalars(select(key).where(key.startswith(prefix, autoescape=True))))
    except SQLAlchemyError as error:
        problem = type(error).__name__
    raise ProviderUnavailableError(f"Airflow's database cannot be asked ({problem}). Try again later.")
