"""Bounds for file paths that come from templates: the directories that their author wrote."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Final, cast

from jinja2 import Environment, meta, nodes
from jinja2.filters import FILTERS
from jinja2.tests import TESTS

from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import scan
from airflow_config_providers.job.mapped_task import AuthorsChoices
from airflow_config_providers.spark.layer_files import AllowedDirectories

_OF_THE_DEPLOYMENT: Final = frozenset(
    {
        *("var", "conn", "macros", "ds", "ds_nodash", "ts", "ts_nodash", "ts_nodash_with_tz", "logical_date"),
        *("data_interval_start", "data_interval_end", "prev_data_interval_start_success"),
        *("prev_data_interval_end_success", "prev_start_date_success", "prev_end_date_success"),
    }
)
"""What a template can use without letting a run choose: data of the deployment and of the author, and dates."""

_NAMES: Final = {
    "dag": frozenset(
        {"dag_id", "description", "fileloc", "filepath", "folder", "owner", "relative_fileloc", "timezone"}
    ),
    "task": frozenset({"dag_id", "label", "node_id", "task_id"}),
}
"""What it can read of the DAG and of the task; other attributes lead to parameters, or to results of other tasks."""

_LEFT: Final = (
    "is not inside {directory}, with which the template of its path begins, after following links. A run may only "
    "choose a file in that directory: choose another file, or ask the author to change the template."
)
_NOWHERE: Final = (
    "is chosen by input of a run, but its author named no directory. Begin the template of its path with a directory, "
    "such as /etc/spark/{{ params.team }}.properties, or list the directory in [config_providers] config_paths."
)
_ELSEWHERE: Final = (
    "is not inside a directory of [config_providers] config_paths, after following links: {entries}. Move it there, or "
    "ask the deployment owner to add its directory."
)


def bounds_of_deployment(config_paths: tuple[str, ...]) -> tuple[AllowedDirectories, ...]:
    """Return the bounds for every properties file; empty for anywhere."""
    entries = ", ".join(map(_described, config_paths))
    return (AllowedDirectories(config_paths, _ELSEWHERE.format(entries=entries)),) if config_paths else ()


def _described(entry: str) -> str:
    """Return an entry of the setting with a note if it looks wrong."""
    name = f"'{printable(entry)}'"
    if scan(entry):
        return name
    if not os.path.isabs(entry):  # noqa: PTH117 - works for any string
        return f"{name} (relative: write the whole path)"
    return name if os.path.isdir(entry) else f"{name} (not a directory)"  # noqa: PTH112 - as above


@dataclass(frozen=True, slots=True)
class PathTemplate:
    """
    The path of a properties file as its author wrote it.

    :param text: the template; None if the whole path came from data
    :param environment: the environment with which Airflow renders templates
    :param fill_in: renders a part of the template
    :param author: what no run has chosen
    """

    text: str | None
    environment: Environment
    fill_in: Callable[[str | nodes.Template], str]
    author: AuthorsChoices

    def bounds(self, path: str, config_paths: tuple[str, ...]) -> tuple[AllowedDirectories, ...]:
        """
        Return the bounds for the file.

        :param path: the result of the template
        :param config_paths: the setting; empty for no such bound
        """
        directories = list(self._directories())
        if not (config_paths or directories or self._is_authors(path)):
            if (leading := self._leading_literal(path)) is None:
                return (AllowedDirectories((), _NOWHERE),)
            directories = [leading]
        bounds = (AllowedDirectories((one,), _LEFT.format(directory=printable(one))) for one in directories)
        return (*bounds_of_deployment(config_paths), *bounds)

    def _is_authors(self, path: str) -> bool:
        """Return whether a path without an author's directory was chosen by the author or the deployment."""
        if self.text is None:
            return path in self.author.paths
        written = self.environment.parse(self.text)
        constants = {node.value for node in written.find_all(nodes.Const) if isinstance(node.value, str)}
        texts = {node.data for node in written.find_all(nodes.TemplateData)}
        return path in constants | texts or self._is_of_deployment(self.text)

    def _directories(self) -> Iterator[str]:
        parts = list(self._parts())
        if all(is_literal for is_literal, _ in parts):
            return
        beginnings = [parts[0][1] if parts[0][0] else ""]
        if not self._is_of_deployment(self.text or ""):
            beginnings.append(self.fill_in(self._leading(parts)))
        yield from filter(None, map(_directory, dict.fromkeys(beginnings)))

    def _leading_literal(self, path: str) -> str | None:
        """Return the directory in the literal with which ``path`` begins; None if it begins with something else."""
        written, mark = self.environment.parse(self.text or ""), str(secrets.randbits(96))
        literals = _mark(written, mark)
        try:
            marked = self.fill_in(written)
        except Exception:  # noqa: BLE001 - a template that reads the marks; its error would show them
            return None
        pattern = re.compile(rf"{mark}([0-9]+):")
        first = pattern.match(marked)
        if first is None or pattern.sub("", marked) != path:
            return None
        literal = literals[int(first[1])]
        directory = _directory(f"{literal}/" if path.startswith(f"{literal}/") else literal)
        return directory if directory and path.startswith(directory) else None

    def _leading(self, parts: list[tuple[bool, str]]) -> str:
        """Return the beginning of the template that no run can change."""
        return "".join(part for _, part in takewhile(lambda part: part[0] or self._is_of_deployment(part[1]), parts))

    def _parts(self) -> Iterator[tuple[bool, str]]:
        """Yield the strings and expressions of the template, up to its first block, which is yielded as empty."""
        expression = ""
        for _, kind, source in self.environment.lex(self.text or ""):
            if kind in {"block_begin", "comment_begin", "raw_begin", "linestatement_begin"}:
                yield False, ""
                return
            if kind == "data":
                yield True, source
                continue
            expression += source
            if kind == "variable_end":
                yield False, expression
                expression = ""

    def _is_of_deployment(self, template: str) -> bool:
        """Return whether no run and no other task has a part in the result of ``template``."""
        written = self.environment.parse(template)
        if any(meta.find_referenced_templates(written)) or self._may_filter_by_context(written):
            return False
        found = list(reads(written))
        names = undeclared_names(written) | {"params", "dag_run", *_NAMES} | self.environment.globals.keys()
        return all(self._may_read(name, keys) for name, *keys in found if name in names)

    def _may_read(self, name: str, keys: list[str]) -> bool:
        """Return whether a name, and the successive keys that are read from it, lead to nothing of a run."""
        key = keys[0] if keys else None
        if name == "params":
            return self.author.is_alone or key in self.author.params
        if name == "dag_run":
            return self.author.is_alone and key == "conf"
        if name in _NAMES and key == "params":
            return self._may_read("params", keys[1:])
        if name in _NAMES:
            return key in _NAMES[name] or (name == "dag" and self.author.is_alone)
        if name in self.environment.globals:
            return not _gets_context(self.environment.globals[name], keys)
        return name in _OF_THE_DEPLOYMENT

    def _may_filter_by_context(self, written: nodes.Template) -> bool:
        """Return whether the template could use a custom filter or test that reads the context."""
        known = [*FILTERS.values(), *TESTS.values()]
        own = [
            use
            for use in (*self.environment.filters.values(), *self.environment.tests.values())
            if _gets_context(use) and use not in known
        ]
        return bool(own) and any(True for _ in written.find_all((nodes.Filter, nodes.Test)))


def _gets_context(used: object, keys: Collection[str] = ()) -> bool:
    """Return whether Jinja passes its context to ``used``, to its call, or to what the keys lead to."""
    found = used
    for key in (None, *keys):
        found = getattr(found, key, None) if key else found
        if hasattr(found, "jinja_pass_arg") or (callable(found) and hasattr(type(found).__call__, "jinja_pass_arg")):
            return True
    return False


def undeclared_names(written: nodes.Template) -> set[str]:
    """Return the names that a template does not set itself, without the functions of Jinja."""
    generator = meta.TrackingCodeGenerator(cast("Environment", written.environment))
    generator.optimizer = None  # which visits each part of a chain once for each part around it
    generator.visit(written)
    return generator.undeclared_identifiers


def reads(written: nodes.Template) -> Iterator[tuple[str, ...]]:
    """Yield each name in a template, with the successive constant keys that are read from it."""
    seen = set[int]()
    for node in written.find_all((nodes.Getattr, nodes.Getitem, nodes.Name)):  # what is read from a node precedes it
        if id(node) not in seen:
            steps = _steps(node)
            seen.update(map(id, steps))
            if isinstance(name := steps[-1], nodes.Name):
                keys = map(_key, reversed(steps[:-1]))
                yield (name.name, *takewhile(lambda key: isinstance(key, str), keys))


def _steps(node: nodes.Node) -> list[nodes.Node]:
    """Return a node, what it is read from, what that is read from, and so on."""
    steps = [node]
    while isinstance(steps[-1], nodes.Getattr | nodes.Getitem):
        steps.append(steps[-1].node)
    return steps


def _key(node: Any) -> Any:
    """Return the key of a ``Getattr`` or a ``Getitem``; None if it is not constant."""
    return getattr(node, "attr", None) or getattr(getattr(node, "arg", None), "value", None)


def _mark(written: nodes.Template, mark: str) -> list[str]:
    """Insert a mark and a number before each literal with a slash, and return the literals in order of number."""
    literals: list[str] = []
    for node in written.find_all((nodes.Const, nodes.TemplateData)):
        name = "data" if isinstance(node, nodes.TemplateData) else "value"
        text = getattr(node, name)
        if isinstance(text, str) and "/" in text:
            setattr(node, name, f"{mark}{len(literals)}:{text}")
            literals.append(text)
    return literals


def _directory(beginning: str) -> str | None:
    """Return the directory in the beginning of a path; None if there is none, or if it is the root."""
    masked = beginning
    for start, end, *_ in scan(beginning):
        masked = masked[:start] + "-" * (end - start) + masked[end:]
    masked = masked.partition("${")[0]
    directory = beginning[: masked.rfind("/") + 1] or "."
    return directory if masked and os.path.normpath(directory).strip("/") else None
