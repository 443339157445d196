"""What a deployment keeps outside of its settings: its providers, its dynamic configuration, and its records."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from shlex import quote
from typing import Any, Final, Protocol

from airflow_config_providers import settings
from airflow_config_providers.airflow_compat import conf
from airflow_config_providers.core.concurrency.timed_calls import call_each
from airflow_config_providers.core.diagnosis import Diagnosis, doubt, fault, fine, of_problem
from airflow_config_providers.core.keys import CONFIG_PROVIDERS, is_reserved
from airflow_config_providers.core.reload import RELOAD_ACTION_KEYS
from airflow_config_providers.core.text import counted, printable
from airflow_config_providers.doctor.examination import Site, failures
from airflow_config_providers.dynamic import document
from airflow_config_providers.dynamic.airflow_store import VariableStore
from airflow_config_providers.dynamic.document import DEPLOYMENT, PREFIX, documents, owner_of
from airflow_config_providers.dynamic.store import ConfigStore, Listing
from airflow_config_providers.exceptions import ProviderDefinitionError, problems_of
from airflow_config_providers.job.providers import CONN_TYPE, Definitions, deployment_registry, meant_field, uri_hint
from airflow_config_providers.job.records.files import RecordFiles
from airflow_config_providers.job.records.record import TaskTry
from airflow_config_providers.masker import is_starred
from airflow_config_providers.providers import airflow_secrets
from airflow_config_providers.providers.checks import diagnose_each, rights_of

_MOST: Final = 10
"""How many findings are shown: with another Fernet key, there is one for each DAG."""


class ListedStore(ConfigStore, Listing, Protocol):
    """A store that can list its names."""


def check_documents(store: ListedStore) -> Iterator[Diagnosis]:
    """
    Yield each document that cannot be read, and each that tasks do not read.

    :raises ProviderUnavailableError: the store does not answer
    """
    found = _findings(store, document.documents(store.names(document.PREFIX)))
    yield from islice(found, _MOST)
    if (more := next(found, None)) is not None:  # the gravest come first
        yield replace(more, what="There are more such variables.", way_out="Correct these first, and repeat the check.")


def _findings(store: ConfigStore, names: list[str]) -> Iterator[Diagnosis]:
    """Yield what is wrong with each document. Each is read alone: an error of one hides no other."""
    of_deployment = document.name_of(document.DEPLOYMENT)
    found: dict[str, document.Document] = {}

    def read(name: str) -> None:
        found[name] = document.read(store.read([name])[name].text, name=name)

    for name in dict.fromkeys([*names, of_deployment]):
        yield from map(of_problem, problems_of(partial(read, name)))
    if (listing := found.get(of_deployment)) is not None:
        of_dags = (name for name in names if name != of_deployment)
        yield from (_unlisted(name, of_deployment) for name in of_dags if not listing.lists(name))


def _unlisted(name: str, of_deployment: str) -> Diagnosis:
    return doubt(
        f"Tasks do not read the variable '{printable(name)}', because '{of_deployment}' does not list it.",
        "Change a key of that DAG, which adds it to the list, or restore both variables from the same backup.",
    )


_FIELDS: Final = (CONFIG_PROVIDERS, "properties", "properties_file", *RELOAD_ACTION_KEYS)


def check_connection(site: Site) -> Iterator[Diagnosis]:
    """Yield what is found about the connection itself."""
    found = airflow_secrets.connection(site.conn_id)
    if found is None:
        yield _missing(site)
        return
    shown = printable(site.conn_id)
    if found.conn_type != CONN_TYPE:
        yield doubt(f"Connection '{shown}' has the type '{printable(str(found.conn_type))}'.", f"Make it {CONN_TYPE}.")
    definitions = Definitions(site.conn_id, found).of_tasks()
    yield from _unread(site.conn_id, json.loads(found.extra or "{}"))
    if definitions.get(CONFIG_PROVIDERS, "").strip():
        yield fine(f"Connection '{shown}' can be read.")
    else:
        way_out = uri_hint(found) or f"Add {CONFIG_PROVIDERS} with their names to its extra."
        yield fault(f"Connection '{shown}' defines no provider.", way_out)


def check_providers(site: Site) -> Iterator[Diagnosis]:
    """
    Open each provider, have it sign in where it does, and yield what it says; no secret is read.

    The connection may take the patience of the site, and then each provider.
    """
    read = call_each({"": lambda: _definitions(site)}, patience=site.patience)[""]
    if read.value is None:
        yield from failures(read, site.patience)
        return
    with deployment_registry().on_demand(read.value) as providers:
        for name in sorted(providers.unlisted):
            yield doubt(f"Provider '{printable(name)}' is defined but not listed.", f"Add it to {CONFIG_PROVIDERS}.")
        for diagnoses in diagnose_each(providers, patience=site.patience).values():
            yield from diagnoses


def _definitions(site: Site) -> Mapping[str, Any]:
    """Return the definitions of the providers; none without a connection, which another check reports."""
    found = airflow_secrets.connection(site.conn_id)
    return {} if found is None else Definitions(site.conn_id, found).of_tasks()


def _missing(site: Site) -> Diagnosis:
    what = f"There is no connection '{printable(site.conn_id)}', so no reference can be resolved."
    make = fault if site.is_named else doubt
    return make(
        what, f"airflow connections add {printable(quote(site.conn_id))} --conn-type {CONN_TYPE} --conn-extra ..."
    )


def _unread(conn_id: str, extra: Any) -> Iterator[Diagnosis]:
    """
    Yield the fields of an extra that nothing reads, and those that Airflow hides because of a provider's name.

    The names of fields are shown, never what is in them.
    """
    if not isinstance(extra, dict):
        problem = f"The extra of connection '{printable(conn_id)}' is not a JSON object. Correct it."
        raise ProviderDefinitionError(problem)
    for field in extra:
        if field not in _FIELDS and not is_reserved(field.removeprefix("driver.")):
            hint = meant_field(field)
            what = f"'{printable(field)}' in the extra of '{printable(conn_id)}' is not read{hint or '.'}"
            yield doubt(what, "Correct its name." if hint else "Remove it.")
        elif field.endswith(".class") and is_starred(field):
            yield doubt(
                f"Airflow takes '{printable(field)}' and its parameters in the extra of '{printable(conn_id)}' for "
                f"secrets because of the provider's name, and shows *** in place of paths in references.",
                "Rename the provider, or define it in the field properties.",
            )


def check_store(site: Site) -> Iterator[Diagnosis]:
    """
    Yield whether the database answers, has the tables of this Airflow, can be read by tasks, and can be written.

    :raises ProviderUnavailableError: it does not answer
    """
    store = VariableStore()
    of_dags = [name for name in documents(store.names(PREFIX)) if owner_of(name) != DEPLOYMENT]
    yield fine(f"Airflow's database answers; it has dynamic configuration of {counted(len(of_dags), 'DAG')}.")
    yield from check_documents(store)
    yield _migrations()
    yield from map(of_problem, problems_of(store.require_writable))
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
    if "://" in path and not path.startswith("file://"):
        yield fine(f"Records in '{printable(path)}' can be read from here.")
        return
    yield from _local(path.removeprefix("file://"))


def _local(path: str) -> Iterator[Diagnosis]:
    if not Path(path).exists():
        yield doubt(
            f"There is no directory '{printable(path)}' yet. The first try that leaves a record here creates it.",
            "If it should have records, mount it, or correct records_path.",
        )
        return
    yield fine(f"Records in '{printable(path)}' can be read from here.")
    yield doubt(
        f"'{printable(path)}' is a directory of each machine: workers elsewhere write records that are not read here.",
        "Use shared storage, such as s3://bucket/records, unless all tasks run on this machine.",
    )
    yield from rights_of(path)
