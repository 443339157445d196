"""Checks where tries leave records of their configuration."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_config_providers import settings
from airflow_config_providers.core.diagnosis import Diagnosis, doubt, fine
from airflow_config_providers.core.text import printable
from airflow_config_providers.doctor.check import Site
from airflow_config_providers.job.record import TaskTry
from airflow_config_providers.job.record_files import RecordFiles
from airflow_config_providers.providers.file_rights import rights_of


def check(site: Site) -> Iterator[Diagnosis]:
    """
    Yield whether records are kept, and whether they can be read from here.

    :raises ProviderUnavailableError: the records in files cannot be read
    """
    if not settings.records_enabled():
        yield doubt("Tries leave no records, so describe --run shows nothing.", "Set records_enabled = True.")
        return
    path = settings.records_path()
    if not path:
        yield fine("Tries leave records in Airflow.")
        return
    RecordFiles(path).tries(TaskTry("doctor", "doctor", "doctor", -1, 1))
    yield fine(f"Records in '{printable(path)}' can be read from here.")
    if "://" not in path or path.startswith("file://"):
        yield from _local(path.removeprefix("file://"))


def _local(path: str) -> Iterator[Diagnosis]:
    yield doubt(
        f"'{printable(path)}' is a directory of each machine: workers elsewhere write records that are not read here.",
        "Use shared storage, such as s3://bucket/records, unless all tasks run on this machine.",
    )
    yield from rights_of(path)
