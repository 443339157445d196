"""What is kept: the dynamic configuration, its encrypted values, and the records of tries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from airflow_config_providers import settings
from airflow_config_providers.airflow_compat import conf
from airflow_config_providers.core.diagnosis import Diagnosis, doubt, fault, fine, of_problem
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.wording import counted
from airflow_config_providers.doctor.examination import Site
from airflow_config_providers.dynamic.airflow_store import VariableStore
from airflow_config_providers.dynamic.document import DEPLOYMENT, PREFIX, documents, owner_of
from airflow_config_providers.exceptions import problems_of
from airflow_config_providers.job.records.files import RecordFiles
from airflow_config_providers.job.records.record import TaskTry
from airflow_config_providers.providers.file_rights import rights_of


def check_store(site: Site) -> Iterator[Diagnosis]:
    """
    Yield whether the database answers, has the tables of this Airflow, and can be written.

    :raises ProviderUnavailableError: it does not answer
    """
    of_dags = [name for name in documents(VariableStore().names(PREFIX)) if owner_of(name) != DEPLOYMENT]
    yield fine(f"Airflow's database answers; it has dynamic configuration of {counted(len(of_dags), 'DAG')}.")
    yield _migrations()
    yield from map(of_problem, problems_of(VariableStore().require_writable))
    if not settings.dynamic_enabled():
        yield doubt("Tasks do not read dynamic configuration.", "Set [config_providers] dynamic_enabled = True.")


def _migrations() -> Diagnosis:
    from airflow.utils.db import check_migrations  # noqa: PLC0415 - heavy

    try:
        check_migrations(1)  # type: ignore[no-untyped-call]  # Airflow has no types here
    except TimeoutError:
        return fault("Airflow's database has not been migrated to the version of Airflow.", "airflow db migrate")
    return fine("Airflow's database is migrated.")


_SECRET: Final = "[config_providers] password_encoder_secret"  # noqa: S105 - the name of a setting
_FEWEST: Final = 8
"""A random secret of 16 bytes has at least this many different characters, but for one in a million."""

_NEW: Final = "Create one with 'openssl rand -base64 32', and set it for every process of the deployment."


def check_encryption(site: Site) -> Iterator[Diagnosis]:
    """
    Yield whether the secret is set and strong, and whether Airflow encrypts its variables.

    :raises ConfigException: the secret is short, or other settings of the encoder are wrong
    """
    secret = settings.password_encoder_secret()
    if not secret:
        yield doubt(f"{_SECRET} is not set, so no secret can be stored, and records have no hashes of values.", _NEW)
    else:
        yield from _strength(secret)
    if settings.password_encoder_old_secret():
        yield doubt(
            "A rotation has not ended: password_encoder_old_secret is set.",
            "Run 'airflow config-providers encoder rotate', then remove password_encoder_old_secret.",
        )
    if not str(conf.get("core", "fernet_key", fallback="") or "").strip():
        yield fault("Airflow does not encrypt its variables: [core] fernet_key is not set.", "Set it.")


def _strength(secret: str) -> Iterator[Diagnosis]:
    settings.sealing_encoder(secret)
    if len(set(secret)) < _FEWEST:
        yield doubt(f"{_SECRET} has few different characters, so it can be guessed.", _NEW)
    else:
        yield fine(f"{_SECRET} is set, and long enough.")


def check_records(site: Site) -> Iterator[Diagnosis]:
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
