"""All checks, by the names that ``--only`` takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from airflow_config_providers.doctor import (
    applied,
    connection,
    encryption,
    files,
    own_settings,
    records,
    spark_here,
    store,
    versions,
)
from airflow_config_providers.doctor.check import Check, PatientCheck

CHECKS: Final[Mapping[str, Check]] = {
    "versions": versions.check,
    "settings": own_settings.check,
    "store": store.check,
    "apply_to": applied.check,
    "encryption": encryption.check,
    "files": files.check,
    "connection": connection.check,
    "providers": PatientCheck(connection.check_providers),
    "records": records.check,
    "spark": spark_here.check,
}
"""Name -> check, in the order in which they run."""
