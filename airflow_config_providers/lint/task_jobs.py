"""The jobs of the tasks in a DAG, as ``lint`` checks them."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final

from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.core.nested import ITEMS
from airflow_config_providers.core.templates import is_known_only_in_run
from airflow_config_providers.core.text import grouped
from airflow_config_providers.core.variable import scan
from airflow_config_providers.exceptions import ConfigException, problems_of
from airflow_config_providers.job.authored_job import NO_OPTIONS, JobOptions
from airflow_config_providers.job.deployed_task import deployed_options, is_configured
from airflow_config_providers.job.exposed_values import unresolved_arguments
from airflow_config_providers.job.fields import FieldPath, JobFields
from airflow_config_providers.job.mapped_task import shared_arguments
from airflow_config_providers.job.nested_texts import NestedString, field_of, in_order, unstorable_arguments
from airflow_config_providers.job.operator_specs import OperatorSpec, class_of, spec_of
from airflow_config_providers.lint.entry import WrittenEntry, WrittenJob
from airflow_config_providers.lint.finding import SourcePlace
from airflow_config_providers.spark.layer_files import mapping_layer

_WITH_NAME = (ast.FunctionDef, ast.AsyncFunctionDef)

_PACKAGE: Final = __name__.partition(".")[0]
_PASSING_ON: Final = "airflow.providers.standard.operators.trigger_dagrun.TriggerDagRunOperator"


class SourceLines:
    """
    Finds lines by reading the source, which is never run.

    :param source: the text of a DAG file; one that is no Python has no lines
    """

    def __init__(self, source: str | bytes) -> None:
        try:
            nodes = list(ast.walk(ast.parse(source)))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            nodes = []
        self._tasks, self._mappings, self._makers = (
            grouped((name, node) for node in nodes for name in names(node))
            for names in (_task_names, _named_in_mapping, _made_classes)
        )
        self._literals = grouped(literal for node in nodes for literal in _literals(node))
        self._of_nodes: dict[ast.AST, dict[str, int]] = {}

    def of_task(self, task_id: str, kind: str = "") -> int | None:
        """
        Return the line where the task is created; None if it is not known.

        :param kind: the name of its class: if no place has the id as a literal, the task is taken to come from the
            only call of that class without one, as in a loop
        """
        node = self._node(task_id, kind)
        return None if node is None else node.lineno

    def of_literal(self, task_id: str, *names: str, kind: str = "") -> int | None:
        """
        Return the line where a key or an argument of the task is written.

        :param names: the key and the arguments that can have it, the most exact first
        :param kind: as for ``of_task``
        :return: the line of the task if none of the names is written there, or once in the file
        """
        node = self._node(task_id, kind)
        below = {} if node is None else self._below(node)
        if line := next((below[name] for name in names if name in below), None):
            return line
        once = [lines[0] for name in names[:1] if len(lines := self._literals.get(name, [])) == 1]
        return once[0] if once else self.of_task(task_id, kind)

    def _node(self, task_id: str, kind: str) -> ast.expr | ast.stmt | None:
        tasks, own = self._tasks, task_id.rpartition(".")[2]
        found = tasks.get(task_id) or tasks.get(own) or self._mappings.get(own) or self._makers.get(kind, [])
        return found[0] if len(found) == 1 and isinstance(found[0], ast.expr | ast.stmt) else None

    def _below(self, node: ast.AST) -> dict[str, int]:
        if node not in self._of_nodes:
            lines = self._of_nodes[node] = {}
            for below in ast.walk(node):
                for name, line in _literals(below):
                    lines.setdefault(name, line)
        return self._of_nodes[node]


def _task_names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, _WITH_NAME) and node.decorator_list:
        yield node.name
    elif isinstance(node, ast.Call):
        for keyword in node.keywords:
            if keyword.arg == "task_id" and isinstance(keyword.value, ast.Constant):
                yield str(keyword.value.value)


def _named_in_mapping(node: ast.AST) -> Iterator[str]:
    """Yield the id in a mapping of arguments, as for ``Operator(**arguments)``."""
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and key.value == "task_id" and isinstance(value, ast.Constant):
                yield str(value.value)


def _made_classes(node: ast.AST) -> Iterator[str]:
    """Yield the name of the class that a call makes a task of, if the id of the task is not a literal in the call."""
    if not isinstance(node, ast.Call) or [*_task_names(node)]:
        return
    made = node.func
    if isinstance(made, ast.Attribute) and made.attr == "partial":
        made = made.value
    if isinstance(made, ast.Call) and len(made.args) == 1:  # configured(Operator)
        made = made.args[0]
    if isinstance(made, ast.Name | ast.Attribute):
        yield made.id if isinstance(made, ast.Name) else made.attr


def _literals(node: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the keys of a mapping, and the arguments of a call, each with its line."""
    if isinstance(node, ast.Dict):
        for key in node.keys:
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, key.lineno
    elif isinstance(node, ast.Call):
        yield from ((keyword.arg, keyword.value.lineno) for keyword in node.keywords if keyword.arg)


def _handles_references(kind: type) -> bool:
    """Return whether a class that is not configured has references for a reason: it watches them or passes them on."""
    return any(
        base.__module__.startswith(f"{_PACKAGE}.") or f"{base.__module__}.{base.__qualname__}" == _PASSING_ON
        for base in kind.__mro__
    )


class _TaskReader:
    """Reads one task of a DAG that was just imported."""

    def __init__(self, task: Any, spec: OperatorSpec, path: str, lines: SourceLines) -> None:
        self._task = task
        self._spec = spec
        self._lines = lines
        known = _known_fields(_fields(task, spec))
        self._refused = list(_refused(known))
        self._fields = _without(known, self._refused)
        self._options = _options(task)
        keeps = self._options.keeps_unresolved
        found = () if task.is_mapped else unresolved_arguments(task, known.names, keeps_unresolved=keeps)
        self._unresolved = list(found)
        self._unstorable = list(unstorable_arguments({name: known.read(name) for name in known.names}))
        self._place = SourcePlace(path, lines.of_task(task.task_id, task.task_type), f"{task.dag_id}.{task.task_id}")

    def job(self) -> WrittenJob:
        options = self._options
        return WrittenJob(
            self._place,
            self._layers(self._fields.layers),
            self._layers(self._fields.clusters),
            tuple(self.texts()),
            tuple(self._files()),
            conn_id=str(options.conn_id),  # a DAG can give arguments of any type
            is_configured=is_configured(self._task),
            takes_any_key=self._spec.takes_any_key,
            is_remote=self._spec.is_remote,
            allows_exposed=bool(options.allows_exposed),
            keeps_unresolved=options.keeps_unresolved,
            refused=tuple(WrittenEntry(key, why, self._at(key, conf.argument)) for conf, key, why in self._refused),
            unresolved=self._arguments(self._unresolved),
            taken_for_values=self._arguments(self._taken_for_values()),
            unstorable=self._arguments(self._unstorable),
            literals=tuple(self._literals()),
        )

    def _arguments(self, found: Iterable[tuple[str, str]]) -> tuple[WrittenEntry, ...]:
        """Return an entry for each argument with the reason why it is a mistake."""
        return tuple(WrittenEntry(name, why, self._at(name)) for name, why in found)

    def _taken_for_values(self) -> Iterable[tuple[str, str]]:
        if is_configured(self._task):
            kind: Any = class_of(self._task)
            with suppress(ConfigException):  # a reference in a key, which the run refuses
                return list(kind._own_execute_problems(self._fields))
        return ()

    def _layers(self, read: Any) -> tuple[tuple[WrittenEntry, ...], ...]:
        with suppress(ConfigException):  # known only in a run
            return tuple(tuple(self._entries(layer)) for layer in read())
        return ()

    def _entries(self, layer: ConfigLayer) -> Iterator[WrittenEntry]:
        for key, text in layer.configs.items():
            origin = layer.origin(key)
            argument = origin.removeprefix("argument ")
            names = (argument,) if argument != origin else (key, origin, _field(origin))
            yield WrittenEntry(key, text, self._at(*names), origin)

    def texts(self) -> Iterator[WrittenEntry]:
        """Yield the strings with references outside the layers."""
        with suppress(ConfigException):  # a reference in a key, which the run refuses
            yield from map(self._text, self._fields.other_texts())

    def _literals(self) -> Iterator[WrittenEntry]:
        with suppress(ConfigException):  # as above
            found = self._fields.texts("env_vars", "application_args")
            yield from (self._text(text) for text in found if not scan(text.text))

    def _text(self, text: NestedString) -> WrittenEntry:
        return WrittenEntry(text.label, text.text, self._at(text.label, _field(text.label)))

    def _files(self) -> Iterator[str]:
        with suppress(ConfigException):
            yield from (one.text for one in self._fields.files() if not is_known_only_in_run(one.text))

    def _at(self, *names: str) -> SourcePlace:
        line = self._lines.of_literal(self._task.task_id, *names, kind=self._task.task_type)
        return replace(self._place, line=line)


def _field(label: str) -> str:
    """Return the argument at the beginning of a label such as ``json['tasks'][0]``."""
    return field_of(label).lstrip("_")


def _fields(task: Any, spec: OperatorSpec) -> JobFields:
    if not task.is_mapped:
        return JobFields.of_operator(task, spec)
    given = shared_arguments(task, spec.argument_names(task.template_fields))
    return JobFields.of_arguments(spec, {**given, **task.partial_kwargs}, task.template_fields)


def _known_fields(fields: JobFields) -> JobFields:
    """Return ``fields`` without what only a run knows, such as the output of another task."""
    return replace(fields, read=lambda name: _known(fields.read(name)))


def _refused(fields: JobFields) -> Iterator[tuple[FieldPath, str, str]]:
    """Yield each key of the Spark configuration whose value no layer can have, with the reason; "" is all of it."""
    for conf in fields.confs:
        found = conf.get(fields.read(conf.field))
        parts = {key: {key: value} for key, value in found.items()} if isinstance(found, Mapping) else {"": found}
        for key, part in parts.items():
            if key or not isinstance(part, str | None):  # a string can be a template that returns a mapping
                problems = problems_of(partial(mapping_layer, ConfigSource.DAG_CONFIG, conf.argument, part))
                yield from ((conf, key, problem) for problem in problems[:1])


def _without(fields: JobFields, refused: Iterable[tuple[FieldPath, str, str]]) -> JobFields:
    changed: dict[str, Any] = {}
    for conf, key, _ in refused:
        before = changed.get(conf.field, fields.read(conf.field))
        kept = {name: value for name, value in conf.get(before).items() if name != key} if key else {}
        changed[conf.field] = conf.put(before, kept)
    return replace(fields, read=lambda name: changed[name] if name in changed else fields.read(name))


def _known(value: Any) -> Any:
    if isinstance(value, Mapping):
        known = {key: item for key, item in value.items() if isinstance(key, str) and (item is None or _is_known(item))}
        return {key: _known(item) for key, item in known.items()}
    if isinstance(value, ITEMS):
        return [_known(item) if _is_known(item) else None for item in in_order(value)]
    return value if _is_known(value) else None


def _is_known(value: Any) -> bool:
    return isinstance(value, (str, int, float, Mapping, *ITEMS))


def _options(task: Any) -> JobOptions:
    if not is_configured(task):
        return NO_OPTIONS
    if task.is_mapped:
        return deployed_options(task)
    return JobOptions(
        config_conn_id=task.config_conn_id,
        unresolved=task.unresolved,
        allow_exposed_arguments=task.allow_exposed_arguments,
    )


def parts(dags: Collection[Any], path: str, source: bytes) -> tuple[list[WrittenJob], list[WrittenEntry]]:
    """
    Return the jobs of ``dags``, which the file at ``path`` with the text ``source`` has made, and other strings.

    A task is a job if it is configured, or if its operator could be. Of other tasks, the strings with references are
    returned; the origin of each is the class of the task.
    """
    lines = SourceLines(source)
    jobs: list[WrittenJob] = []
    others: list[WrittenEntry] = []
    for task in (task for dag in dags for task in dag.tasks):
        kind = class_of(task)
        spec = spec_of(kind)
        if spec is not None or is_configured(task):
            jobs.append(_TaskReader(task, spec or OperatorSpec(), path, lines).job())
        elif not _handles_references(kind):
            found = _TaskReader(task, OperatorSpec(), path, lines).texts()
            others += (replace(text, origin=kind.__name__) for text in found)
    return jobs, others
