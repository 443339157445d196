"""What a task log says of the references of a task: which stand for a value, and which nobody resolved."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_config_providers.core.resolver import ResolvedConfig
from airflow_config_providers.core.text import printable
from airflow_config_providers.operators.job_providers import JobProviders
from airflow_config_providers.spark.layers import SUBSTITUTED_BY_SPARK


def resolved_line(resolved: ResolvedConfig, *, of_driver: bool) -> str:
    """
    Return the line that tells a reference which stands for a value from a text that looks like one.

    :param of_driver: whether the driver resolves those of the configuration
    """
    found = ", ".join(map(printable, resolved.references)) or "none"
    rest = ". The driver resolves those of the configuration" if of_driver else _kept(resolved)
    return f"Resolved references, each of which stands for its value in this log: {found}{rest}"


def _kept(resolved: ResolvedConfig) -> str:
    """Return a sentence with the references that ``unresolved="keep"`` leaves as texts; those of Spark are not ours."""
    variables = (variable for missing in resolved.unresolved.values() for variable in missing)
    kept = sorted({printable(str(found)) for found in variables if found.provider not in SUBSTITUTED_BY_SPARK})
    return f". Left as they are, because unresolved is 'keep': {', '.join(kept)}" if kept else ""


def unresolved_notes(resolved: ResolvedConfig, providers: JobProviders) -> Iterator[str]:
    """Give a sentence for each reference that Spark gets as it is because there is no connection with providers."""
    for key, missing in resolved.unresolved.items():
        for variable in missing:
            if variable.provider in SUBSTITUTED_BY_SPARK and (conn_id := providers.missing_connection()):
                yield (
                    f"{printable(key)}: {printable(str(variable))} is left to Spark as it is, because there is no "
                    f"connection '{printable(conn_id)}' that defines providers. If a provider is to resolve it, "
                    f"correct config_conn_id, or add the connection."
                )
