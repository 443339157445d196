"""Checks the files of this package's secrets backend."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from airflow_config_providers.airflow_compat import conf
from airflow_config_providers.core.diagnosis import Diagnosing, Diagnosis, fine
from airflow_config_providers.doctor.examination import Site
from airflow_config_providers.providers import airflow_secrets

_SETTINGS: Final = {("secrets", "backend"): False, ("workers", "secrets_backend"): True}
"""The section and the option that name a backend -> whether it is that of workers."""


def check(site: Site) -> Iterator[Diagnosis]:
    """
    Yield what is found about each file of connections, variables and settings; no reference is resolved.

    :raises ProviderDefinitionError: a backend cannot be created
    """
    named = [is_worker for name, is_worker in _SETTINGS.items() if conf.get(*name, fallback="")]
    backends = [airflow_secrets.configured_backend(of_worker=is_worker) for is_worker in named]
    ours = [backend for backend in backends if isinstance(backend, Diagnosing)]
    for backend in ours:
        yield from backend.diagnose()
    if not ours:
        yield fine("Airflow uses no secrets backend of this package.")
