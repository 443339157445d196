"""The command that checks the deployment from where it runs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

from airflow_config_providers import settings
from airflow_config_providers.cli.arguments import seconds, separated
from airflow_config_providers.cli.failing import Finished, WrongArgumentsError, reporting_errors
from airflow_config_providers.cli.output import progress, show
from airflow_config_providers.cli.target import require_here
from airflow_config_providers.core.diagnosis import Severity
from airflow_config_providers.core.text import nearest, printable
from airflow_config_providers.doctor import own_settings, stores, versions
from airflow_config_providers.doctor.examination import Check, PatientCheck, Site, examine
from airflow_config_providers.exceptions import refuse

CHECKS: Final[Mapping[str, Check]] = {
    "versions": versions.check_versions,
    "settings": own_settings.check_settings,
    "store": stores.check_store,
    "apply_to": own_settings.check_apply_to,
    "encryption": stores.check_encryption,
    "files": own_settings.check_files,
    "backend": own_settings.check_backend,
    "connection": stores.check_connection,
    "providers": PatientCheck(stores.check_providers),
    "records": stores.check_records,
    "spark": versions.check_spark,
}
"""Name that ``--only`` takes -> check, in the order in which they run."""


@reporting_errors
def doctor(args: Any) -> None:
    """Report what is right and wrong with the deployment, and exit with 1 if something is an error."""
    require_here("doctor")
    checks, site = _chosen(args.only), _site(args)
    with progress(len(checks), of="checks") as tick:
        found = list(examine(checks, site, tick=tick))
    show([one.row() for one in found], args.output)
    if any(one.diagnosis.severity is Severity.ERROR for one in found):
        raise Finished(1)


def _site(args: Any) -> Site:
    patience = seconds(args)
    conn_id = args.conn_id or settings.config_conn_id()
    return Site(conn_id, bool(args.conn_id), dict(os.environ), patience)


def _chosen(texts: Sequence[str] | None) -> Mapping[str, Check]:
    names = separated(texts)
    problems = [
        f"--only: there is no check '{printable(name)}'{nearest(name, CHECKS) or '.'} Known are: {', '.join(CHECKS)}."
        for name in names
        if name not in CHECKS
    ]
    refuse(WrongArgumentsError, problems)
    return {name: check for name, check in CHECKS.items() if not names or name in names}
