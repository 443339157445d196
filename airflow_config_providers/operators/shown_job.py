"""What people see of the job of an operator: its fields, its effective configuration, and the task log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from airflow_config_providers import settings
from airflow_config_providers.core.text import one_line, shortened
from airflow_config_providers.core.variable import scan
from airflow_config_providers.job.run_notes import place_notes, resolved_line, unresolved_notes
from airflow_config_providers.operators.authored import job_notes
from airflow_config_providers.operators.overridden_execute import own_execute_notes

if TYPE_CHECKING:
    from airflow_config_providers.core.layers import LayeredConfig
    from airflow_config_providers.job.fields import JobFields
    from airflow_config_providers.job.run import JobRun
    from airflow_config_providers.operators.job_operator import JobOperator


def show_run(operator: JobOperator, fields: JobFields, run: JobRun, *, notes: Sequence[str] = ()) -> None:
    """Show where the values of ``run`` come from."""
    notes = [*notes, *_notes(operator, fields, run)]
    for note in notes:
        operator.log.warning("%s", note)
    lines = show_job(operator, fields, layered=run.resolved.layered, notes=notes)
    operator.log.info("Effective configuration:\n%s", "\n".join(lines))
    operator.log.info("%s", resolved_line(run))
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
    yield from unresolved_notes(run)
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
