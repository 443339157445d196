"""Renders the fields of an operator, and gets the values of their references."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow_config_providers.airflow_compat import BaseOperator, resuming_argument
from airflow_config_providers.exceptions import ConfigProvidersError
from airflow_config_providers.foreign import TASK_RUNNER, has_supervisor, require
from airflow_config_providers.job.authorship import Authorship
from airflow_config_providers.job.fields import path_list, refuse_odd_paths
from airflow_config_providers.job.nested_texts import with_own_objects
from airflow_config_providers.job.template_references import without_pushes
from airflow_config_providers.operators.authored import (
    checked_configuration,
    job_configuration,
    job_problems,
    own_execute_notes,
)
from airflow_config_providers.operators.resuming import SEALED_VALUES, Resumption, know_sealed
from airflow_config_providers.operators.shown_job import place_notes, show_job, show_run

if TYPE_CHECKING:
    from airflow_config_providers.core.layers import LayeredConfig
    from airflow_config_providers.job.fields import JobFields
    from airflow_config_providers.job.run import JobRun
    from airflow_config_providers.operators.job_operator import JobOperator
    from airflow_config_providers.operators.try_state import HeldTexts


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Rendering:
    """
    One rendering of ``operator``, after which its fields show references, and its try has their values.

    :param jinja_env: the environment that Airflow was given; None for the one of the operator
    """

    operator: JobOperator
    context: Any
    jinja_env: Any

    def render(self, stock: Any, template_fields: Iterable[str], seen_oids: set[int]) -> None:
        """
        Render the fields of the operator itself, or again those that code has set while they have values.

        :param stock: the operator without what this package adds to it, by ``super()``
        """
        held = self.operator._try_state.held_texts
        if held is not None:  # code renders what it has set, as @task.bash does
            self._render_again(stock, held, template_fields, seen_oids)
            return
        render = partial(self._render, stock, template_fields, seen_oids)
        with _outside_log_group(self.operator.log):
            self._render_whole(render, skip=frozenset(seen_oids), is_plain=self._is_plain(stock))

    def fill_in(self, template: str, render: Callable[..., Any], seen_oids: set[int] | None) -> Any:
        """
        Return the result of a template in a field of the operator, and track its references.

        :param render: renders it without that; it is given the template, a context, an environment, and ``seen_oids``
        """
        operator: Any = self.operator
        return operator._authorship.fill_in(
            template,
            lambda environment: render(template, self.context, environment, seen_oids),
            self.jinja_env or operator.get_template_env(),
            learn=lambda environment: render(template, without_pushes(self.context), environment, seen_oids),
            is_file=template.endswith(tuple(operator.template_ext)),
        )

    def _render(self, stock: Any, template_fields: Iterable[str], seen_oids: set[int]) -> None:
        stock._do_render_template_fields(self.operator, template_fields, self.context, self.jinja_env, seen_oids)

    def _render_again(self, stock: Any, held: HeldTexts, template_fields: Iterable[str], seen_oids: set[int]) -> None:
        """Render what code has set, even to a string that another field has; a value is no template."""
        names = list(template_fields)
        moved = [name for name in names if held.is_set_anew(name, getattr(self.operator, name, None))]
        for some, texts in (([name for name in names if name not in moved], held.texts), (moved, held.values)):
            self._render(stock, some, seen_oids.union(map(id, texts)))

    def _is_plain(self, stock: Any) -> bool:
        """Return whether each template becomes a string, and no other class changes how."""
        operator: Any = self.operator
        if any(getattr(one, "render_template_as_native_obj", None) for one in (operator, operator.get_dag())):
            return False
        ways = stock.render_template, operator._render
        return [getattr(way, "__func__", None) for way in ways] == [BaseOperator.render_template, BaseOperator._render]

    def _render_whole(self, render: Callable[[], None], *, skip: Collection[int], is_plain: bool) -> None:
        operator = self.operator
        operator.guard_author_methods()
        for name in operator.template_fields:
            if (own := with_own_objects(value := getattr(operator, name, None), skip)) is not value:
                setattr(operator, name, own)
        fields = operator._job_fields()
        authorship = Authorship(vars(operator).get("_authorship"))  # the original of this copy can run again
        vars(operator)["_authorship"] = authorship
        before = fields.texts(skip=skip)
        authorship.render(operator, render, before=before, after=fields.texts, is_plain=is_plain)
        operator.config_files = path_list(operator.config_files)  # what another task returned can be a string
        refuse_odd_paths(operator.config_files)
        environment = self.jinja_env or operator.get_template_env()
        authorship.determine_bounds(operator, operator._job_paths(fields), self.context, environment)
        try:
            if self._is_preview:
                self._preview()
            else:
                operator._resolve_job(self.context, self.jinja_env)
        finally:
            authorship.forget_templates()

    @property
    def _is_preview(self) -> bool:
        """Whether ``airflow tasks render`` renders the DAG's own task; a run renders a locked copy."""
        if TASK_RUNNER in sys.modules:
            require(TASK_RUNNER)
        return "ti" in self.context and not self.operator._lock_for_execution and not has_supervisor()

    def _preview(self) -> None:
        """Show what would be submitted, with notes about what would fail or differ in a run."""
        operator = self.operator
        operator._complete_fields()
        fields = operator._job_fields()
        problems = list(job_problems(operator, fields))
        configuration = job_configuration(operator, fields, context=self.context, jinja_env=self.jinja_env)
        layered, notes = configuration.preview()
        of_class = [*place_notes(fields.spec, operator.task_type, layered), *own_execute_notes(operator, fields)]
        notes = [*problems, *notes, *of_class]
        for note in notes:
            operator.log.warning("Preview: %s", note)
        show_job(operator, fields, layered=layered, notes=notes)

    def resolve(self) -> None:
        """Get the values of this run, and show where they come from. Values of an earlier one stay hidden."""
        operator, resumption = self.operator, Resumption.of(self.operator, self.context)
        operator._complete_fields()
        fields = operator._job_fields()
        before, run = operator._try_state.run, self._resolved_run(fields, resumption)
        if before.reverser:  # code renders or runs once more
            run.know(before.reverser)
        else:
            know_sealed(operator, self.context, run, resuming_argument(self.context.get("ti"), SEALED_VALUES))
        operator._try_state.begin(run)
        if run.reverser:
            from airflow_config_providers.operators.reversing import TaskReversal

            TaskReversal(operator).begin(self.context)
        show_run(operator, fields, run, notes=resumption.notes(run))

    def _resolved_run(self, fields: JobFields, resumption: Resumption) -> JobRun:
        configuration = checked_configuration(self.operator, fields, context=self.context, jinja_env=self.jinja_env)
        resumption.prepare()
        layered: LayeredConfig | None = None
        try:
            with configuration.settled() as settled:
                layered = settled.layered
                return configuration.run_of(settled, resumption.verdict_on(configuration, settled))
        except ConfigProvidersError as error:
            from airflow_config_providers.operators.try_records import TryRecords

            records = TryRecords(self.operator, self.context)
            records.keep_refused(layered, error.problems, is_late=resumption.submits_late)
            raise


@contextmanager
def _outside_log_group(log: Any) -> Iterator[None]:
    """Show errors outside the group ``Pre Execute`` of the task log, which Airflow ends only after rendering."""
    try:
        yield
    except Exception:
        if has_supervisor():
            log.info("::endgroup::")
        raise
