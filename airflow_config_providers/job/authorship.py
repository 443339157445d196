"""What in the fields of one operator its author wrote, as opposed to data that templates have inserted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from jinja2 import Environment

from airflow_config_providers import settings
from airflow_config_providers.core.variable import scan
from airflow_config_providers.job.mapped_task import authors_choices, authors_texts, parameter_at, unrendered_texts
from airflow_config_providers.job.nested_texts import NestedString, by_label, field_of, is_at
from airflow_config_providers.job.template_references import (
    FilledIn,
    Render,
    Templates,
    brought_problem,
    filled_in,
    inserted_problem,
    parameter_problem,
    returned_problem,
    unchanged,
    without_pushes,
)
from airflow_config_providers.spark.substitutions import has_inserted, is_substituted

if TYPE_CHECKING:
    from airflow_config_providers.spark.layer_files import AllowedDirectories


class Authorship:
    """
    Follows the templates of an operator's fields during one rendering.

    :param former: what followed the rendering before, if there was one: results of templates are data for the next

    A copy, pickled or not, knows only which references were written when the original was rendered.
    """

    def __init__(self, former: Authorship | None = None) -> None:
        self._templates: Templates = former._templates if former else Templates()
        self.is_rendering = False
        """Whether ``fill_in`` is to be called for each template."""
        self._is_plain = False
        self._unrendered: Mapping[int, str] = {}
        self._functions: frozenset[str] = frozenset()
        self._written: Mapping[str, str] | None = None  # label -> string whose references are all the author's
        self._before: Mapping[str, str] = {}
        self._inserted: Mapping[str, str] = {}
        self._bounds: Mapping[str, tuple[AllowedDirectories, ...]] = {}

    def render(
        self,
        operator: Any,
        render: Callable[[], None],
        *,
        before: Iterable[NestedString],
        after: Callable[[], Iterable[NestedString]],
        is_plain: bool = False,
    ) -> None:
        """
        Render all fields, and determine which references in them the author wrote.

        :param render: renders the fields, with ``fill_in`` for each template
        :param before: the strings in the fields that will be rendered
        :param after: returns the strings in all fields
        :param is_plain: whether ``fill_in`` may skip Jinja for a string with nothing to fill in
        """
        templates = self._templates = Templates(authors_texts(operator), self._templates)
        self._before = by_label(text for text in before if templates.is_authors(text.text))
        self._unrendered = unrendered_texts(operator)
        fields = operator.template_fields
        self._functions = frozenset(name for name in fields if callable(getattr(operator, name, None)))
        try:
            self.is_rendering = not settings.run_config_references()
            self._is_plain = is_plain
            render()
        finally:
            self.is_rendering = False
        texts = list(after())
        self._written = by_label(text for text in texts if templates.is_written(text.text) or self._is_unchanged(text))
        self._inserted = by_label(
            text
            for text in texts
            if not self._is_unrendered(text) and has_inserted(text.text, template=self._before.get(text.label, ""))
        )

    def _is_unchanged(self, text: NestedString) -> bool:
        if self._is_unrendered(text):
            return True
        return self._before.get(text.label) is text.text and self._templates.is_authors(text.text)

    def _is_unrendered(self, text: NestedString) -> bool:
        return self._unrendered.get(id(text.text)) is text.text

    def fill_in(self, template: str, render: Render, environment: Environment, *, learn: Render, is_file: bool) -> Any:
        """Return the result of a template, with parameters as in ``Templates.fill_in``."""
        if self._is_plain and not is_file and (same := unchanged(template, environment)) is not None:
            return self._templates.kept(template, same)
        return self._templates.fill_in(template, render, environment, learn=learn, is_file=is_file)

    def determine_bounds(
        self, operator: Any, paths: Iterable[NestedString], context: Any, environment: Environment
    ) -> None:
        """Determine where each of the files that the author named must be."""
        self._bounds = {}
        if not (paths := list(paths)):
            return
        from airflow_config_providers.job.template_paths import PathTemplate  # noqa: PLC0415 - many jobs have no files

        fill_in = partial(text_of, environment=environment, context=context)
        config_paths, params = settings.config_paths(), authors_choices(operator, context)
        self._bounds = {
            path.label: PathTemplate(self._template_of(path), environment, fill_in, params).bounds(
                path.text, config_paths
            )
            for path in paths
        }

    def _template_of(self, text: NestedString) -> str | None:
        return self._before.get(text.label, self._before.get(field_of(text.label)))

    def bounds(self, label: str) -> tuple[AllowedDirectories, ...]:
        """Return where the file must be that the author named at ``label``; elsewhere, where any file must be."""
        from airflow_config_providers.job.template_paths import bounds_of_deployment  # noqa: PLC0415 - see above

        found = self._bounds.get(label)
        return bounds_of_deployment(settings.config_paths()) if found is None else found

    def forget_templates(self) -> None:
        """Forget the templates and what they became, which can contain plain-text secrets."""
        self._before = {}
        self._inserted = {}

    def is_written(self, text: NestedString) -> bool:
        """
        Return whether the references in ``text`` are written in the DAG and did not come from data.

        So permission to trigger a run, or to write what a task returns, does not grant permission to read secrets. A
        template may insert the path and the key of a reference, but not another reference.
        """
        is_own = self._written is None or not scan(text.text) or self._written.get(text.label) == text.text
        return is_own or settings.run_config_references()

    def became_none(self, text: NestedString) -> bool:
        """Return whether ``text`` is the string ``None`` because its template returned nothing else."""
        return text.text == "None" and self._before.get(text.label, "None") != "None"

    def brought_problems(self, texts: Iterable[NestedString], operator: Any) -> Iterator[str]:
        """Yield an error for each of ``texts``, in the fields of ``operator``, that has a reference from data."""
        yield from (self._brought_problem(text, operator) for text in texts if not self.is_written(text))

    def _brought_problem(self, text: NestedString, operator: Any) -> str:
        if field_of(text.label) in self._functions:
            return returned_problem(text.label)
        template = self._enclosing_template(text.label)
        if template is None and (parameter := parameter_at(text.label, operator)) is not None:
            return parameter_problem(text.label, parameter)
        return brought_problem(text.label, template=template, is_redirected=self._templates.is_redirected(text.text))

    def _enclosing_template(self, label: str) -> str | None:
        """Return the template at ``label``, or the nearest one around it that a list or a dict has come from."""
        found = [place for place in self._before if is_at(label, place)]
        return self._before[max(found, key=len)] if found else None

    def inserted_problems(self, configs: Iterable[tuple[str, NestedString]]) -> Iterator[str]:
        """
        Yield an error for each value into which a template has inserted what Spark or Hadoop would replace.

        :param configs: keys of Spark, and their values
        """
        if not self._inserted or settings.run_config_references():
            return
        for key, text in configs:
            is_inserted = self._inserted.get(text.label) == text.text
            if is_inserted and is_substituted(key, text.text) and not scan(text.text):
                yield inserted_problem(text.label)

    def parsed(self, text: str, parse: Callable[[Any], Any]) -> FilledIn:
        """Return the result of the template that became ``text``, after ``parse``."""
        return self._templates.result(text).parsed(parse)

    def add_written(self, texts: Iterable[NestedString]) -> None:
        """Count ``texts``, which were not in a field when it was rendered, among what the author wrote."""
        if self._written is not None:
            self._written = {**self._written, **by_label(texts)}


def rendered(text: str, *, environment: Environment, context: Any) -> FilledIn:
    """Return the result of a template that the author or the deployment wrote, but not in a field."""
    learn = partial(text_of, text, context=without_pushes(context))
    return filled_in(partial(text_of, text, context=context), environment, learn=learn, template=text)


def text_of(template: Any, environment: Environment, *, context: Any) -> str:
    """Return the result of a template as a string, even in a DAG that renders templates as Python objects."""
    return "".join(map(str, environment.from_string(template).generate(context)))
