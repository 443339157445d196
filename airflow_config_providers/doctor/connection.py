"""Checks the connection that defines the providers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from shlex import quote
from typing import Any, Final

from airflow_config_providers.core.concurrency.timed_calls import call_each
from airflow_config_providers.core.diagnosis import Diagnosis, doubt, fault, fine
from airflow_config_providers.core.keys import CONFIG_PROVIDERS, is_reserved
from airflow_config_providers.core.reload import RELOAD_ACTION_KEYS
from airflow_config_providers.core.text import printable
from airflow_config_providers.doctor.examination import Site, failures
from airflow_config_providers.exceptions import ProviderDefinitionError
from airflow_config_providers.job.providers_connection import (
    CONN_TYPE,
    Definitions,
    deployment_registry,
    meant_field,
    uri_hint,
)
from airflow_config_providers.masker import is_starred
from airflow_config_providers.providers import airflow_secrets
from airflow_config_providers.providers.checks import diagnose_each

_FIELDS: Final = (CONFIG_PROVIDERS, "properties", "properties_file", *RELOAD_ACTION_KEYS)


def check(site: Site) -> Iterator[Diagnosis]:
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
        raise ProviderDefinitionError(f"The extra of connection '{printable(conn_id)}' is not a JSON object.")
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
