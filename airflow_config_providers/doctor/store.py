"""Checks Airflow's database, which holds the dynamic configuration."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_config_providers import settings
from airflow_config_providers.core.diagnosis import Diagnosis, doubt, fault, fine
from airflow_config_providers.doctor.check import Site
from airflow_config_providers.dynamic.airflow_store import VariableStore


def check(site: Site) -> Iterator[Diagnosis]:
    """
    Yield whether the database answers, and whether it has the tables of this Airflow.

    :raises ProviderUnavailableError: it does not answer
    """
    stored = VariableStore().names("config_providers")
    yield fine(f"Airflow's database answers; {len(stored)} dynamic configurations are stored.")
    yield _migrations()
    if not settings.dynamic_enabled():
        yield doubt("Tasks do not read dynamic configuration.", "Set [config_providers] dynamic_enabled = True.")


def _migrations() -> Diagnosis:
    from airflow.utils.db import check_migrations  # noqa: PLC0415 - heavy

    try:
        check_migrations(1)  # type: ignore[no-untyped-call]  # Airflow has no types here
    except TimeoutError:
        return fault("Airflow's database has not been migrated to the version of Airflow.", "airflow db migrate")
    return fine("Airflow's database is migrated.")
