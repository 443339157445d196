"""Distinguishes references that the author of a DAG wrote from those that templates have inserted from data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self

from jinja2 import Environment, TemplateError, nodes
from jinja2.ext import Extension
from jinja2.nativetypes import NativeEnvironment

from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import scan
from airflow_config_providers.job.nested_texts import strings

if TYPE_CHECKING:
    from airflow_config_providers.job.template_marks import Marks

Render = Callable[[Environment], Any]
"""Renders one template with the given environment."""

_KNOWN_ENVIRONMENTS: Final = ("airflow", "jinja2")
"""The packages whose environments do nothing to a string in which there is nothing to fill in."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class FilledIn:
    """
    The result of a template.

    :param value: the result; any object for a native template
    :param written: the strings in it whose references were all written by the author
    :param marked: the result with its marks
    :param marks: the marks of the template; None if no reference is the author's
    :param is_literal: whether there was nothing to fill in, so that all of it is the author's
    """

    value: Any
    written: tuple[str, ...] = ()
    marked: Any = field(default=None, repr=False)
    marks: Marks | None = None
    is_literal: bool = False

    @classmethod
    def of_author(cls, value: Any) -> Self:
        """Return ``value`` as something in which nothing was filled in."""
        return cls(value, _referring(value), is_literal=True)

    def is_written(self) -> bool:
        """Return whether the author wrote every reference in the result."""
        return len(self.written) == len(_references(self.value))

    @property
    def is_redirected(self) -> bool:
        """Whether a reference in the result would be the author's except for a step up, or a ``?``, from data."""
        return self.marks is not None and self.marks.is_redirected

    def parsed(self, parse: Callable[[Any], Any]) -> FilledIn:
        """
        Return the result after ``parse``.

        A parser can undo an escape, and so turn data into a reference.
        """
        value = parse(self.value)
        if self.is_literal:
            return FilledIn.of_author(value)
        learnt = _attempt(self.marks, lambda: parse(self.marked)) if self.marks else None
        return learnt.applied_to(value) if learnt else FilledIn(value)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class _Learnt:
    """
    The result of a template with marks.

    :param value: the result without marks
    :param texts: the strings in it, each with whether the author wrote its references
    """

    value: Any
    texts: tuple[tuple[str, bool], ...]
    marked: Any
    marks: Marks

    def applied_to(self, value: Any) -> FilledIn:
        """Return ``value``, the result of the same template without marks, with what is known of its references."""
        texts = list(strings(value))
        is_same = self.value is value or self.value == value
        if not is_same or [text for text, _ in self.texts] != texts:
            return FilledIn(value)
        pairs = zip(texts, self.texts, strict=True)
        written = tuple(text for text, (_, is_written) in pairs if is_written and scan(text))
        return FilledIn(value, written, self.marked, self.marks)

    def applied_to_another(self, value: Any) -> FilledIn:
        """Return the same for a value that can differ, like that of a clock, except in its references."""
        found = self.applied_to(value)
        is_written = all(is_written for text, is_written in self.texts if scan(text))
        if found.written or not is_written or _references(value) != _references(self.value):
            return found
        return FilledIn(value, _referring(value), self.marked, self.marks)


def filled_in(
    render: Render, environment: Environment, *, learn: Render | None = None, template: str | None = None
) -> FilledIn:
    """
    Return the result of a template, and which references in it the author wrote.

    A template that can read the marks is rendered without them for the result. If that has a reference, the template
    is rendered again with marks, only to determine whose it is.

    :param environment: the environment with which Airflow renders templates
    :param learn: renders the template the second time, with as few effects as possible; None for ``render``
    :param template: its source; None if ``render`` reads it from a file
    """
    if template is not None and _is_literal(template, environment):  # most are, and marks take 20 times as long
        return FilledIn.of_author(render(environment))
    from airflow_config_providers.job.template_marks import Marks  # noqa: PLC0415 - most tasks have no templates

    marks = Marks(environment)
    if found := _attempt(marks, lambda: render(marks.environment)):
        return found.applied_to(found.value)
    value = render(environment)
    if not marks.may_be_seen or not _references(value):
        return FilledIn(value)
    seen = Marks(environment, may_be_seen=True)
    found = _attempt(seen, lambda: (learn or render)(seen.environment))
    return found.applied_to_another(value) if found else FilledIn(value)


def _is_literal(template: str, environment: Environment) -> bool:
    """Return whether ``environment`` finds nothing to fill in."""
    signs = (
        environment.variable_start_string,
        environment.block_start_string,
        environment.comment_start_string,
        environment.line_statement_prefix,
        environment.line_comment_prefix,
    )
    return not any(sign and sign in template for sign in signs) and not any(
        map(_changes_source, environment.extensions.values())
    )


def unchanged(template: str, environment: Environment) -> str | None:
    """
    Return what Jinja makes of a string with nothing to fill in, without compiling it, as a new string.

    :return: None if Jinja, or the environment of a deployment, could make something else of it
    """
    is_known = type(environment).__module__.partition(".")[0] in _KNOWN_ENVIRONMENTS
    if not is_known or "\n" in template or "\r" in template or isinstance(environment, NativeEnvironment):
        return None
    return f"{template} "[:-1] if _is_literal(template, environment) else None


def _changes_source(extension: Extension) -> bool:
    kind = type(extension)
    return kind.preprocess is not Extension.preprocess or kind.filter_stream is not Extension.filter_stream


class _Silent:
    """A task instance that does not push XComs."""

    def __init__(self, instance: Any) -> None:
        self._instance = instance

    def __getattr__(self, name: str) -> Any:
        return getattr(self._instance, name)

    def __repr__(self) -> str:
        return repr(self._instance)

    def xcom_push(self, *args: Any, **kwargs: Any) -> None:
        """Push nothing."""


def without_pushes(context: Any) -> Any:
    """Return ``context`` with a task instance that does not push XComs."""
    changed = copy(context)
    changed.update({name: _Silent(context[name]) for name in ("ti", "task_instance") if name in context})
    return changed


def _attempt(marks: Marks, make: Callable[[], Any]) -> _Learnt | None:
    """Return the result of ``make``; None if it fails, because its error could show the marks."""
    texts: list[tuple[str, bool]] = []
    try:
        marked = make()
        value = marks.without(marked, found=lambda *text: texts.append(text)) if marks.are_needed else marked
    except Exception:  # noqa: BLE001 - rendering without marks raises it again
        return None
    return _Learnt(value, tuple(texts), marked, marks)


def _references(value: Any) -> list[list[str]]:
    """Return the references of each string that has any, sorted, because a set has no order."""
    found = ([text[start:end] for start, end, *_ in scan(text)] for text in strings(value))
    return sorted(references for references in found if references)


def _referring(value: Any) -> tuple[str, ...]:
    return tuple(text for text in strings(value) if scan(text))


class Templates:
    """
    Renders the templates in the fields of one operator, and remembers which strings have references of the author.

    :param authors: id -> the author's string; None if all strings that were not rendered before are the author's
    :param former: the object that rendered them before; its results are data, except for references of the author

    A copy, pickled or not, remembers nothing, since it has other strings.
    """

    __slots__ = ("_authors", "_data", "_former", "_redirected", "_written")

    def __init__(self, authors: Mapping[int, str] | None = None, former: Templates | None = None) -> None:
        self._authors = authors
        self._former = former
        self._data: dict[int, str] = {}
        self._redirected: set[int] = set()
        self._written: dict[int, tuple[str, FilledIn]] = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> Templates:
        return Templates()

    def __reduce__(self) -> tuple[type[Templates], tuple[()]]:
        return Templates, ()

    def fill_in(
        self,
        template: str,
        render: Render,
        environment: Environment,
        *,
        learn: Render | None = None,
        is_file: bool = False,
    ) -> Any:
        """
        Return the same result of ``template`` as without this package.

        :param learn: as in ``filled_in``
        :param is_file: whether ``template`` is the path of a file with the template
        """
        if self.is_authors(template):
            found = filled_in(render, environment, learn=learn, template=None if is_file else template)
        else:
            found = FilledIn(render(environment))
        return self._remembered(found)

    def kept(self, template: str, result: str) -> Any:
        """Return ``result``, which is that of a ``template`` with nothing to fill in."""
        return self._remembered(FilledIn.of_author(result) if self.is_authors(template) else FilledIn(result))

    def _remembered(self, found: FilledIn) -> Any:
        self._written |= {id(text): (text, found) for text in found.written}
        if isinstance(found.value, str) and not found.written:
            self._data[id(found.value)] = found.value
            self._redirected |= {id(found.value)} if found.is_redirected else set()
        return found.value

    def is_authors(self, text: str) -> bool:
        """Return whether the author wrote ``text``, including its templates."""
        if self._former is not None and id(text) in self._former._data:
            return False
        is_result = self._former is not None and self._former.is_written(text)
        return self._authors is None or is_result or id(text) in self._authors

    def is_written(self, text: str) -> bool:
        """Return whether ``text`` is the result of a template, and all its references are the author's."""
        return id(text) in self._written and id(text) not in self._data

    def is_redirected(self, text: str) -> bool:
        """Return whether ``text`` would be the author's except for a step up, or a ``?``, that came from data."""
        return id(text) in self._data and id(text) in self._redirected

    def result(self, text: str) -> FilledIn:
        """Return the result of the template that became ``text``."""
        return self._written[id(text)][1] if self.is_written(text) else FilledIn(text)


def brought_problem(name: str, *, template: str | None = "", is_redirected: bool = False) -> str:
    """
    Return the error that the template ``name`` has inserted a reference, a step up or a ``?`` from data.

    :param template: the template as its author wrote it; the message quotes only the names that it uses. None for a
        string that no template made
    :param is_redirected: whether it has inserted a step up or a ``?``
    """
    by = "the result of a template"
    if template is None:
        by += (
            " in a file, or from what another task returned or a task or its group is mapped over, also through a "
            "function of .map()"
        )
    elif used := _used(template):
        by += f" ({used})"
    if is_redirected:
        return (
            f"{printable(name)}: a step '..' or a '?' in the path of a reference came from {by}, or a step goes up "
            f"from a directory that it left empty. A template may only insert what is below the directory that the "
            f"author wrote, and no '?', which chooses a version. Write the whole path in the DAG or the file, or set "
            f"[config_providers] run_config_references."
        )
    return (
        f"{printable(name)}: a reference came from {by}. Permission to choose its input does not grant permission to "
        f"read secrets: write the reference in the DAG or the file, or set [config_providers] run_config_references."
        f"{_AS_IN_SPLIT if template and _has_signs(template) else ''}"
    )


_AS_IN_SPLIT: Final = (
    " If the template only looks for '..' or '?' in its input, as in u.split('?'), let a macro of the DAG do that."
)


def _has_signs(template: str) -> bool:
    """Return whether a string in an expression of ``template`` has a sign that is marked alone, and so looks other."""
    try:
        strings = [one.value for one in Environment().parse(template).find_all(nodes.Const)]  # noqa: S701 - as above
    except TemplateError:
        return False
    return any(sign in text for text in strings if isinstance(text, str) for sign in ("..", "?"))


def returned_problem(name: str) -> str:
    """Return the error that the function in the field of ``name`` has returned a reference."""
    return (
        f"{printable(name)}: a reference came from the function in this field. What it returns counts as data, since "
        f"it can read the input of a run. Write the reference as a string in the field, where a template may choose "
        f"its path and key, or set [config_providers] run_config_references."
    )


def parameter_problem(name: str, parameter: str) -> str:
    """Return the error that ``dag.param(parameter)`` has inserted a reference."""
    return (
        f"{printable(name)}: a reference came from the parameter '{printable(parameter)}' of the DAG, through "
        f"dag.param() or an argument of @dag. A run can choose it, so it counts as data, and so does its default. "
        f"Write the reference as a string in the field, where a template may choose its path and key, or set "
        f"[config_providers] run_config_references."
    )


def inserted_problem(name: str) -> str:
    """Return the error that the template ``name`` has inserted a string that Spark, Hadoop or Databricks replaces."""
    return (
        f"{printable(name)}: a string that Spark, Hadoop or Databricks would replace by another key, an environment "
        f"variable, a system property or a secret came from the result of a template. Permission to choose its input "
        f"does not grant permission to read them: write the whole string in the DAG or the file, or set "
        f"[config_providers] run_config_references."
    )


def _used(template: str) -> str:
    from airflow_config_providers.job.template_paths import reads  # noqa: PLC0415 - for a message only

    try:
        names = {".".join(keys) for keys in reads(Environment().parse(template))}  # noqa: S701 - renders nothing
    except TemplateError:
        return ""
    return printable(", ".join(sorted(names)))
