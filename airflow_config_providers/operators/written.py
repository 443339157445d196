"""The references that the author of a DAG wrote, told from those that data brought when templates were filled in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Self

from jinja2 import Environment, TemplateError
from jinja2.ext import Extension

from airflow_config_providers.core.nested import map_leaves
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import scan
from airflow_config_providers.operators.chosen_paths import reads
from airflow_config_providers.operators.marks import Marks
from airflow_config_providers.operators.nested_texts import Text

Render = Callable[[Environment], Any]
"""Fills in one template with the environment that it is given."""


@dataclass(frozen=True, slots=True)
class FilledIn:
    """
    What a template became.

    :param value: the result; of a native template any object
    :param written: the strings in it that hold references, if the author wrote all of them in the string
    :param marked: the result with its marks
    :param marks: what the template was marked with; None where no reference is the author's
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
        return cls(value, tuple(text for text in _texts(value) if scan(text)), is_literal=True)

    def is_written(self) -> bool:
        """Return whether the author wrote every reference in the result."""
        return len(self.written) == len(_references(self.value))

    @property
    def goes_up(self) -> bool:
        """Whether a reference in the result would be the author's but for a step up that data brought."""
        return self.marks is not None and self.marks.goes_up

    def parsed(self, parse: Callable[[Any], Any]) -> FilledIn:
        """
        Return what ``parse`` makes of the result.

        A parser may undo an escape, and so make a reference of data that held none.
        """
        value = parse(self.value)
        if self.is_literal:
            return FilledIn.of_author(value)
        learnt = _attempt(self.marks, lambda: parse(self.marked)) if self.marks else None
        return learnt.told_of(value) if learnt else FilledIn(value)


@dataclass(frozen=True, slots=True)
class _Learnt:
    """
    What a template became with marks.

    :param value: the result without them
    :param texts: the strings in it, and whether the author wrote the references in each
    """

    value: Any
    texts: tuple[tuple[str, bool], ...]
    marked: Any
    marks: Marks

    def told_of(self, value: Any) -> FilledIn:
        """Return what this tells of ``value``, which the same template became without marks."""
        texts = _texts(value)
        is_same = self.value is value or self.value == value
        if not is_same or [text for text, _ in self.texts] != texts:
            return FilledIn(value)
        pairs = zip(texts, self.texts, strict=True)
        written = tuple(text for text, (_, is_written) in pairs if is_written and scan(text))
        return FilledIn(value, written, self.marked, self.marks)

    def told_of_another(self, value: Any) -> FilledIn:
        """Return the same of a value that may differ, as that of a clock does, but in no reference."""
        told = self.told_of(value)
        is_written = all(is_written for text, is_written in self.texts if scan(text))
        if told.written or not is_written or _references(value) != _references(self.value):
            return told
        return FilledIn(value, tuple(text for text in _texts(value) if scan(text)), self.marked, self.marks)


def filled_in(
    render: Render, environment: Environment, *, learn: Render | None = None, template: str | None = None
) -> FilledIn:
    """
    Fill in a template, and find out which references in the result its author wrote.

    A template that may look at the marks is filled in without them, and that is the result. If it holds a reference,
    the template is filled in again with marks, only to learn whose it is.

    :param environment: what Airflow fills in templates with
    :param learn: fills in the template that second time, with as few effects as may be; None for ``render``
    :param template: its source; None if ``render`` reads it from a file
    """
    if template is not None and _is_literal(template, environment):  # most are, and marks take 20 times as long
        return FilledIn.of_author(render(environment))
    marks = Marks(environment)
    if found := _attempt(marks, lambda: render(marks.environment)):
        return found.told_of(found.value)
    value = render(environment)
    if not marks.may_be_seen or not _references(value):
        return FilledIn(value)
    seen = Marks(environment, may_be_seen=True)
    found = _attempt(seen, lambda: (learn or render)(seen.environment))
    return found.told_of_another(value) if found else FilledIn(value)


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


def _changes_source(extension: Extension) -> bool:
    kind = type(extension)
    return kind.preprocess is not Extension.preprocess or kind.filter_stream is not Extension.filter_stream


class _Silent:
    """A task instance that pushes no XCom."""

    def __init__(self, instance: Any) -> None:
        self._instance = instance

    def __getattr__(self, name: str) -> Any:
        return getattr(self._instance, name)

    def __repr__(self) -> str:
        return repr(self._instance)

    def xcom_push(self, *args: Any, **kwargs: Any) -> None:
        """Push nothing."""


def without_pushes(context: Any) -> Any:
    """Return ``context`` with a task instance that pushes no XCom."""
    changed = copy(context)
    changed.update({name: _Silent(context[name]) for name in ("ti", "task_instance") if name in context})
    return changed


def _attempt(marks: Marks, make: Callable[[], Any]) -> _Learnt | None:
    """Return what ``make`` gives; None where it fails, because its error may show the marks."""
    texts: list[tuple[str, bool]] = []
    try:
        marked = make()
        value = marks.without(marked, found=lambda *text: texts.append(text)) if marks.are_needed else marked
    except Exception:  # noqa: BLE001 - what has no marks raises it again
        return None
    return _Learnt(value, tuple(texts), marked, marks)


def _references(value: Any) -> list[list[str]]:
    """Return the references of each string that has any; sorted, because a set has no order."""
    found = ([text[start:end] for start, end, *_ in scan(text)] for text in _texts(value))
    return sorted(references for references in found if references)


def _texts(value: Any) -> list[str]:
    found: list[str] = []
    map_leaves(value, lambda leaf: found.append(leaf) if isinstance(leaf, str) else None)
    return found


class Templates:
    """
    Fills in the templates in the fields of one operator, and remembers which strings hold the author's references.

    :param authors: the author's strings by their ids; None where all that was not filled in before are the author's
    :param former: what filled them in before: its results are data, but for the references that were the author's

    A copy, pickled or not, remembers nothing: it is about other strings.
    """

    __slots__ = ("_authors", "_data", "_former", "_going_up", "_written")

    def __init__(self, authors: Mapping[int, str] | None = None, former: Templates | None = None) -> None:
        self._authors = authors
        self._former = former
        self._data: dict[int, str] = {}
        self._going_up: set[int] = set()
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
        Return what ``template`` becomes, as it is without this package.

        :param learn: as in ``filled_in``
        :param is_file: whether ``template`` is the path of a file with the template
        """
        source = None if is_file else template
        is_authors = self.is_authors(template)
        found = (
            filled_in(render, environment, learn=learn, template=source)
            if is_authors
            else FilledIn(render(environment))
        )
        self._written |= {id(text): (text, found) for text in found.written}
        if isinstance(found.value, str) and not found.written:
            self._data[id(found.value)] = found.value
            self._going_up |= {id(found.value)} if found.goes_up else set()
        return found.value

    def is_authors(self, text: str) -> bool:
        """Return whether the author wrote ``text``, templates and all."""
        if self._former is not None and id(text) in self._former._data:
            return False
        is_result = self._former is not None and self._former.is_written(text)
        return self._authors is None or is_result or id(text) in self._authors

    def is_written(self, text: str) -> bool:
        """Return whether ``text`` was filled in and holds references of the author alone."""
        return id(text) in self._written and id(text) not in self._data

    def goes_up(self, text: str) -> bool:
        """Return whether ``text`` would be the author's but for a step up that data brought."""
        return id(text) in self._data and id(text) in self._going_up

    def result(self, text: str) -> FilledIn:
        """Return what ``text`` was filled in as."""
        return self._written[id(text)][1] if self.is_written(text) else FilledIn(text)


class WrittenReferences:
    """
    Knows the strings in an operator's fields whose references are all the author's.

    Permission to trigger a run, or to write what a task returns, does not therefore grant permission to read secrets.
    A template may fill in the path and the key of a reference, and no further reference.

    :param texts: the strings, and where each is
    """

    __slots__ = ("_texts",)

    def __init__(self, texts: Iterable[Text]) -> None:
        self._texts = {text.label: text.text for text in texts}

    def with_texts(self, texts: Iterable[Text]) -> WrittenReferences:
        """Return these and those in ``texts``."""
        more = WrittenReferences(texts)
        more._texts = {**self._texts, **more._texts}
        return more

    def cover(self, text: Text) -> bool:
        """Return whether the author wrote every reference in ``text``."""
        return not scan(text.text) or self._texts.get(text.label) == text.text


def brought_problem(name: str, *, template: str = "", goes_up: bool = False) -> str:
    """
    Say that the string called ``name`` got a reference, or a step up, when its template was filled in.

    :param template: as its author wrote it; only the names that it uses are told
    :param goes_up: whether it is a step up
    """
    used = _used(template)
    by = f"a template filled in ({used})" if used else "a template filled in"
    if goes_up:
        return (
            f"{printable(name)}: a step '..' in the path of a reference came in with what {by}, or goes up from a "
            f"directory that it left empty. A template may fill in what is below the directory that the author wrote. "
            f"Write the whole path in the DAG or the file, or set [config_providers] run_config_references."
        )
    return (
        f"{printable(name)}: a reference came in with what {by}. Permission to give that does not grant permission to "
        f"read secrets: write the reference in the DAG or the file, or set [config_providers] run_config_references."
    )


def _used(template: str) -> str:
    try:
        names = {".".join(keys) for keys in reads(Environment().parse(template))}  # noqa: S701 - renders nothing
    except TemplateError:
        return ""
    return printable(", ".join(sorted(names)))
