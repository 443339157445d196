"""All checks, by the names that ``--only`` takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from airflow_config_providers.doctor import (
    connection,
    files,
    own_settings,
    stores,
    versions,
)
from airflow_config_providers.doctor.examination import Check, PatientCheck

CHECKS: Final[Mapping[str, Check]] = {
    "versions": versions.check_versions,
    "settings": own_settings.check_settings,
    "store": stores.check_store,
    "apply_to": own_settings.check_apply_to,
    "encryption": stores.check_encryption,
    "files": files.check,
    "connection": connection.check,
    "providers": PatientCheck(connection.check_providers),
    "records": stores.check_records,
    "spark": versions.check_spark,
}
"""Name -> check, in the order in which they run."""
