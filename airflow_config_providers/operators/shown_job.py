"""What people see of the job of an operator: its fields, its effective configuration, and the task log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from airflow_config_providers import settings
from airflow_config_providers.core.text import one_line, printable, shortened
from airflow_config_providers.core.variable import scan
from airflow_config_providers.operators.authored import job_notes, own_execute_notes
from airflow_config_providers.spark.substitutions import SUBSTITUTED_BY_SPARK

if TYPE_CHECKING:
    from airflow_config_providers.core.layers import LayeredConfig
    from airflow_config_providers.job.fields import JobFields
    from airflow_config_providers.job.operator_specs import OperatorSpec
    from airflow_config_providers.job.run import JobRun
    from airflow_config_providers.operators.job_operator import JobOperator

_LEFT_TO_DRIVER: Final = ". The driver resolves those of the configuration when the job calls session()"


def show_run(operator: JobOperator, fields: JobFields, run: JobRun, *, notes: Sequence[str] = ()) -> None:
    """Show where the values of ``run`` come from."""
    notes = [*notes, *_notes(operator, fields, run)]
    for note in notes:
        operator.log.warning("%s", note)
    lines = show_job(operator, fields, layered=run.resolved.layered, notes=notes)
    operator.log.info("Effective configuration:\n%s", "\n".join(lines))
    operator.log.info("%s", _resolved_line(run))
    for note in run.resolved.value_doubts():
        operator.log.warning("%s", note)
    operator._try_state.environment = fields.environment()
    operator._try_state.referring_texts = {one.label: one.text for one in fields.texts() if scan(one.text)}


def _notes(operator: JobOperator, fields: JobFields, run: JobRun) -> Iterator[str]:
    yield from job_notes(operator, fields)
    yield from operator._own_notes(fields)
    yield from own_execute_notes(operator, fields)
    if operator._try_state.run.reloads and (reason := operator._obstacle_to_reload()):
        yield f"This job is not restarted when its secrets change: {reason}"
    yield from _unresolved_notes(run)
    yield from place_notes(fields.spec, operator.task_type, run.resolved.layered)


def show_job(
    operator: JobOperator, fields: JobFields, *, layered: LayeredConfig, notes: Sequence[str]
) -> Sequence[str]:
    """Set the fields that people see, and return all lines of ``effective_config``."""
    lines = [*(f"! {one_line(note)}" for note in notes), *layered.lines()]
    show_conf(operator, fields, layered)
    show_lines(operator, lines, rest="see the task log, or raise [core] max_templated_field_length")
    return lines


def show_conf(operator: JobOperator, fields: JobFields, layered: LayeredConfig) -> None:
    """Put the settled configuration into the field that people see."""
    for name, value in fields.shown(layered).items():
        setattr(operator, name, value)


def show_lines(operator: JobOperator, lines: Sequence[str], *, rest: str) -> None:
    """
    Show ``lines`` as ``effective_config``.

    :param rest: where to find those that are too many
    """
    operator.effective_config = shortened(lines, characters=settings.longest_field(), rest=rest)


def _resolved_line(run: JobRun) -> str:
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


def _unresolved_notes(run: JobRun) -> Iterator[str]:
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
