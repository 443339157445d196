"""The lines in a task log about its references: those that are resolved, and those that are not."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_config_providers.core.resolver import ResolvedConfig
from airflow_config_providers.core.text import printable
from airflow_config_providers.job.job_providers import JobProviders
from airflow_config_providers.spark.layers import SUBSTITUTED_BY_SPARK


def resolved_line(resolved: ResolvedConfig, *, of_driver: bool) -> str:
    """
    Return the line with the resolved references, to distinguish them from texts that look like references.

    :param of_driver: whether the driver resolves the references in the configuration
    """
    found = ", ".join(map(printable, resolved.references)) or "none"
    rest = ". The driver resolves those of the configuration" if of_driver else _kept(resolved)
    return f"Resolved references, which this log shows in place of their values: {found}{rest}"


def _kept(resolved: ResolvedConfig) -> str:
    """Return a sentence with the references that ``unresolved="keep"`` leaves as they are, except those of Spark."""
    variables = (variable for missing in resolved.unresolved.values() for variable in missing)
    kept = sorted({printable(str(found)) for found in variables if found.provider not in SUBSTITUTED_BY_SPARK})
    return f". Left as they are, because unresolved is 'keep': {', '.join(kept)}" if kept else ""


def unresolved_notes(resolved: ResolvedConfig, providers: JobProviders) -> Iterator[str]:
    """Yield a sentence for each reference that Spark gets unresolved because there is no connection with providers."""
    for key, missing in resolved.unresolved.items():
        for variable in missing:
            if variable.provider in SUBSTITUTED_BY_SPARK and (conn_id := providers.missing_connection()):
                yield (
                    f"{printable(key)}: {printable(str(variable))} is left to Spark as it is, because there is no "
                    f"connection '{printable(conn_id)}' that defines providers. If a provider should resolve it, "
                    f"correct config_conn_id, or add the connection."
                )
