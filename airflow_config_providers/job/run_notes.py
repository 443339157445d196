"""What people read about the references of a run, beside its configuration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from airflow_config_providers.core.layers import LayeredConfig
from airflow_config_providers.core.text import printable
from airflow_config_providers.job.operator_specs import OperatorSpec
from airflow_config_providers.job.run import JobRun
from airflow_config_providers.spark.substitutions import SUBSTITUTED_BY_SPARK

_LEFT_TO_DRIVER: Final = ". The driver resolves those of the configuration when the job calls session()"


def resolved_line(run: JobRun) -> str:
    """Return the line with the resolved references, to distinguish them from strings that look like references."""
    references = ", ".join(map(printable, run.resolved.references)) or "none"
    rest = _LEFT_TO_DRIVER if run.is_left_to_driver else _kept(run)
    return f"Resolved references, which this log shows in place of their values: {references}{rest}"


def _kept(run: JobRun) -> str:
    """Return a sentence with the references that ``unresolved="keep"`` leaves as they are, and one with Spark's own."""
    left = {variable for missing in run.resolved.unresolved.values() for variable in missing}
    of_spark = {variable for variable in left if variable.provider in SUBSTITUTED_BY_SPARK}
    whys = {"unresolved is 'keep'": left - of_spark, "no provider has their name": of_spark}
    named = {why: ", ".join(sorted(printable(str(variable)) for variable in kept)) for why, kept in whys.items()}
    return "".join(f". Left as they are, because {why}: {names}" for why, names in named.items() if names)


def place_notes(spec: OperatorSpec, kind: str, layered: LayeredConfig) -> Iterator[str]:
    """Yield a sentence if there are keys, but none reaches the job of an operator of the class ``kind``."""
    if layered.settled and (problem := spec.place_problem(kind)):
        yield problem


def unresolved_notes(run: JobRun) -> Iterator[str]:
    """Yield a sentence for each reference that is left to Spark because no connection defines providers."""
    unresolved = run.resolved.unresolved
    if not unresolved or not run.resolver or run.is_left_to_driver or run.resolver.providers.names():
        return
    providers = run.resolver.providers
    conn_id = printable(providers.conn_id)
    why, way_out = f"there is no connection '{conn_id}' that defines providers", "add the connection"
    if providers.is_defined():
        why, way_out = f"connection '{conn_id}' defines no provider", "define the provider there"
    for key, missing in unresolved.items():
        for variable in missing:
            if variable.provider in SUBSTITUTED_BY_SPARK:
                yield (
                    f"{printable(key)}: {printable(str(variable))} is left to Spark as it is, because {why}. If a "
                    f"provider should resolve it, correct config_conn_id, or {way_out}."
                )
