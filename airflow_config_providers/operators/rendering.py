"""Renders the fields of an operator, gets the values of their references, and shows the settled configuration."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow_config_providers import settings
from airflow_config_providers.airflow_compat import BaseOperator, resuming_argument, resuming_method
from airflow_config_providers.core.errors import clearing_frames
from airflow_config_providers.core.text import one_line, shortened
from airflow_config_providers.core.variable import scan
from airflow_config_providers.exceptions import ConfigProvidersError
from airflow_config_providers.foreign import TASK_RUNNER, has_supervisor, require
from airflow_config_providers.job import nested_texts
from airflow_config_providers.job.fields import JobFields
from airflow_config_providers.job.nested_texts import with_own_objects
from airflow_config_providers.job.options import listed, refuse_odd_paths
from airflow_config_providers.operators.no_retry import failing_at_once
from airflow_config_providers.operators.resuming import SEALED_VALUES
from airflow_config_providers.operators.reversing import ReversingOperator

if TYPE_CHECKING:
    from airflow_config_providers.core.layers import LayeredConfig
    from airflow_config_providers.job.run import JobRun
    from airflow_config_providers.operators.held_texts import HeldTexts


class RenderingOperator(ReversingOperator):
    """A base of ``ConfiguredOperator``, whose fields show references after they are rendered."""

    @failing_at_once
    @clearing_frames
    @nested_texts.refusing_depth()
    def _do_render_template_fields(
        self, parent: Any, template_fields: Any, context: Any, jinja_env: Any, seen_oids: set[int]
    ) -> None:
        # Mapped tasks call this instead of the public method. It also recurses into the fields of other objects.
        held = self._try_state.held_texts if parent is self else None
        if held is not None:  # code renders what it has set, as @task.bash does
            self._render_again(held, template_fields, context, jinja_env, seen_oids)
            return
        render = partial(super()._do_render_template_fields, parent, template_fields, context, jinja_env, seen_oids)
        if parent is not self:
            render()
            return
        with _outside_log_group(self.log):
            self._render_whole(render, context, jinja_env, skip=frozenset(seen_oids))

    def _render_again(
        self, held: HeldTexts, template_fields: Iterable[str], context: Any, jinja_env: Any, seen_oids: set[int]
    ) -> None:
        """Render what code has set, even to a string that another field has; a value is no template."""
        names = list(template_fields)
        moved = [name for name in names if held.is_set_anew(name, getattr(self, name, None))]
        render = super()._do_render_template_fields
        for some, texts in (([name for name in names if name not in moved], held.texts), (moved, held.values)):
            render(self, some, context, jinja_env, seen_oids.union(map(id, texts)))

    def _render_whole(self, render: Callable[[], None], context: Any, jinja_env: Any, *, skip: Collection[int]) -> None:
        from airflow_config_providers.job.authorship import Authorship

        self.guard_author_methods()
        for name in self.template_fields:
            if (own := with_own_objects(value := getattr(self, name, None), skip)) is not value:
                setattr(self, name, own)
        fields = self._job_fields()
        self._authorship = authorship = Authorship(self._authorship)  # the original of this copy can run again
        before, is_plain = fields.texts(skip=skip), self._renders_plainly()
        authorship.render(self, render, before=before, after=fields.texts, is_plain=is_plain)
        self.config_files = listed(self.config_files)  # what another task returned can be a string
        refuse_odd_paths(self.config_files)
        authorship.determine_bounds(self, self._job_paths(fields), context, jinja_env or self.get_template_env())
        try:
            if self._is_preview(context):
                self._preview_job(context, jinja_env)
            else:
                self._resolve_job(context, jinja_env)
        finally:
            authorship.forget_templates()

    def render_template(
        self, content: Any, context: Any, jinja_env: Any = None, seen_oids: set[int] | None = None
    ) -> Any:
        """Return the result of a template, and track the references in templates of this operator's fields."""
        from airflow_config_providers.job.template_references import without_pushes

        render = super().render_template
        if not self._authorship.is_rendering or not isinstance(content, str):
            return render(content, context, jinja_env, seen_oids)
        if id(content) in (seen_oids or ()):
            return content
        return self._authorship.fill_in(
            content,
            lambda environment: render(content, context, environment, seen_oids),
            jinja_env or self.get_template_env(),
            learn=lambda environment: render(content, without_pushes(context), environment, seen_oids),
            is_file=content.endswith(tuple(self.template_ext)),
        )

    def _renders_plainly(self) -> bool:
        """Return whether each template becomes a string, and no other class changes how."""
        if any(getattr(one, "render_template_as_native_obj", None) for one in (self, self.get_dag())):
            return False
        ways = super().render_template, self._render
        return [getattr(way, "__func__", None) for way in ways] == [BaseOperator.render_template, BaseOperator._render]

    def _is_preview(self, context: Any) -> bool:
        """Return whether ``airflow tasks render`` renders the DAG's own task; a run renders a locked copy."""
        if TASK_RUNNER in sys.modules:
            require(TASK_RUNNER)
        return "ti" in context and not self._lock_for_execution and not has_supervisor()

    def _preview_job(self, context: Any, jinja_env: Any) -> None:
        """Show what would be submitted, with notes about what would fail or differ in a run."""
        from airflow_config_providers.job.run_notes import place_notes

        fields = self._job_fields()
        problems = list(self._job_problems(fields))
        layered, notes = self._job_configuration(fields, context, jinja_env).preview()
        notes = [*problems, *notes, *place_notes(fields.spec, self.task_type, layered)]
        for note in notes:
            self.log.warning("Preview: %s", note)
        self._show_job(fields, layered, notes)

    def _resolve_job(self, context: Any, jinja_env: Any) -> None:
        """Get the values of this run, and show where they come from. Values of an earlier one stay hidden."""
        before, run = self._try_state.run, self._resolved_run(context, jinja_env)
        if before.reverser:  # code renders or runs once more
            run.know(before.reverser)
        else:
            self._know_sealed(run, context, resuming_argument(context.get("ti"), SEALED_VALUES))
        self._try_state.begin(run)
        if run.reverser:
            self._begin_reversal(context)
        self._show_run(run, self._resuming_notes(context, run))

    def _resolved_run(self, context: Any, jinja_env: Any) -> JobRun:
        configuration = self._checked_configuration(context, jinja_env)
        name = resuming_method(context.get("ti"))
        # Another method than execute can be called after the job, too.
        if name is not None and (name != "execute" or self._is_known_method(name)):
            self._try_state.before_submit = partial(self._begin_late, context)
        layered: LayeredConfig | None = None
        try:
            with configuration.settled() as settled:
                layered = settled.layered
                return configuration.run_of(settled, self._verdict_on(configuration, settled.layers, context))
        except ConfigProvidersError as error:
            is_late = name == "execute" and self._try_state.before_submit is not None
            self._keep_refused(context, layered, error.problems, is_late=is_late)
            raise

    def _show_run(self, run: JobRun, notes: Sequence[str] = ()) -> None:
        from airflow_config_providers.job.run_notes import place_notes, resolved_line, unresolved_notes

        fields = self._job_fields()
        notes = [*notes, *self._job_notes(fields), *self._reload_notes(), *unresolved_notes(run)]
        notes += place_notes(fields.spec, self.task_type, run.resolved.layered)
        for note in notes:
            self.log.warning("%s", note)
        self.log.info("Effective configuration:\n%s", "\n".join(self._show_job(fields, run.resolved.layered, notes)))
        self.log.info("%s", resolved_line(run))
        for note in run.resolved.value_doubts():
            self.log.warning("%s", note)
        self._try_state.referring_texts = {one.label: one.text for one in fields.texts() if scan(one.text)}

    def _show_job(self, fields: JobFields, layered: LayeredConfig, notes: Sequence[str]) -> list[str]:
        """Set the fields that people see, and return all lines of ``effective_config``."""
        lines = [*(f"! {one_line(note)}" for note in notes), *layered.lines()]
        self._show_conf(fields, layered)
        self.effective_config = shortened(
            lines,
            characters=settings.longest_field(),
            rest="see the task log, or raise [core] max_templated_field_length",
        )
        return lines

    def _show_conf(self, fields: JobFields, layered: LayeredConfig) -> None:
        """Put the settled configuration into the field that people see."""
        for name, value in fields.shown(layered).items():
            setattr(self, name, value)


@contextmanager
def _outside_log_group(log: Any) -> Iterator[None]:
    """Show errors outside the group ``Pre Execute`` of the task log, which Airflow ends only after rendering."""
    try:
        yield
    except Exception:
        if has_supervisor():
            log.info("::endgroup::")
        raise
