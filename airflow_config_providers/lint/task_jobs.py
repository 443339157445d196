"""The jobs of the tasks in a DAG, as ``lint`` checks them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from airflow_config_providers.core.layers import ConfigLayer
from airflow_config_providers.core.resolver import Unresolved
from airflow_config_providers.core.templates import is_template
from airflow_config_providers.core.variable import scan
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.job.deployed_task import deployed_options, is_configured
from airflow_config_providers.job.fields import JobFields
from airflow_config_providers.job.mapped_task import shared_arguments
from airflow_config_providers.job.operator_specs import OperatorSpec, spec_of
from airflow_config_providers.job.options import NO_OPTIONS, JobOptions
from airflow_config_providers.lint.entry import WrittenEntry, WrittenJob
from airflow_config_providers.lint.finding import SourcePlace
from airflow_config_providers.lint.source_lines import SourceLines


def jobs(dag: Any, path: str, lines: SourceLines) -> Iterator[WrittenJob]:
    """Yield the job of each task that is configured, or whose operator could be."""
    for task in dag.tasks:
        spec = spec_of(task.operator_class if task.is_mapped else type(task))
        if spec is not None or is_configured(task):
            yield _TaskReader(task, spec or OperatorSpec(), path, lines).job()


class _TaskReader:
    """Reads one task of a DAG that was just imported."""

    def __init__(self, task: Any, spec: OperatorSpec, path: str, lines: SourceLines) -> None:
        self._task = task
        self._spec = spec
        self._lines = lines
        self._fields = _known_fields(_fields(task, spec))
        self._place = SourcePlace(path, lines.of_task(task.task_id), f"{task.dag_id}.{task.task_id}")

    def job(self) -> WrittenJob:
        options = _options(self._task)
        return WrittenJob(
            self._place,
            self._layers(self._fields.layers),
            self._layers(self._fields.clusters),
            tuple(self._texts()),
            tuple(self._files()),
            conn_id=options.conn_id,
            is_configured=is_configured(self._task),
            takes_any_key=self._spec.takes_any_key,
            is_remote=self._spec.is_remote,
            keeps_unresolved=options.when_unresolved is Unresolved.KEEP,
        )

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

    def _texts(self) -> Iterator[WrittenEntry]:
        with suppress(ConfigException):  # a reference in a key, which the run refuses
            for text in self._fields.other_texts():
                yield WrittenEntry(text.label, text.text, self._at(text.label, _field(text.label)))

    def _files(self) -> Iterator[str]:
        with suppress(ConfigException):
            yield from (one.text for one in self._fields.files() if not (scan(one.text) or is_template(one.text)))

    def _at(self, *names: str) -> SourcePlace:
        return replace(self._place, line=self._lines.of_literal(self._task.task_id, *names))


def _field(label: str) -> str:
    """Return the argument at the beginning of a label such as ``json['tasks'][0]``."""
    return label.partition("[")[0].lstrip("_")


def _fields(task: Any, spec: OperatorSpec) -> JobFields:
    if not task.is_mapped:
        return JobFields.of_operator(task, spec)
    given = shared_arguments(task, spec.argument_names(task.template_fields))
    return JobFields.of_arguments(spec, {**given, **task.partial_kwargs}, task.template_fields)


def _known_fields(fields: JobFields) -> JobFields:
    """Return ``fields`` without what only a run knows, such as the output of another task."""
    return replace(fields, read=lambda name: _known(fields.read(name)))


def _known(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _known(item) for key, item in value.items() if isinstance(key, str) and _is_known(item)}
    if isinstance(value, list | tuple):
        return [_known(item) if _is_known(item) else None for item in value]
    return value if _is_known(value) else None


def _is_known(value: Any) -> bool:
    return isinstance(value, str | int | float | Mapping | list | tuple)


def _options(task: Any) -> JobOptions:
    if not is_configured(task):
        return NO_OPTIONS
    if task.is_mapped:
        return deployed_options(task)
    return JobOptions(config_conn_id=task.config_conn_id, unresolved=task.unresolved)


def all_jobs(dags: Iterable[Any], path: str, source: bytes) -> list[WrittenJob]:
    """Return the jobs of ``dags``, which the file at ``path`` with the text ``source`` has made."""
    lines = SourceLines(source)
    return [job for dag in dags for job in jobs(dag, path, lines)]
