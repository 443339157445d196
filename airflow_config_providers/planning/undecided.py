"""The tasks of which only a run knows what changes between two states, because it chooses a layer file."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from jinja2 import Environment, TemplateError, meta, nodes

from airflow_config_providers.core.layers import ConfigLayer, ConfigSource, LayeredConfig
from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.dynamic.admin import no_notes
from airflow_config_providers.job.template_paths import reads, undeclared_names
from airflow_config_providers.planning.changed_files import ChangedFiles
from airflow_config_providers.planning.changes import mark
from airflow_config_providers.planning.state import State
from airflow_config_providers.spark.catalogue import spark_definition


def undecided_tasks(
    tasks: Iterable[ConfigResource], before: State, after: State, files: ChangedFiles
) -> list[ConfigResource]:
    """
    Return those of ``tasks`` of which only a run knows what changes, in order.

    Such a task has a layer file that only a run chooses. Its run could choose another file, or the same one could have
    other keys, or beat what it did not beat: then, what the states show is not what changes. Otherwise, the file has
    the same part in both states.
    """
    chosen = {task: paths for task in sorted(tasks) if (paths := _chosen(task, before, after))}
    if not chosen or before.environ != after.environ:
        return list(chosen)
    differing = _differing(set[str]().union(*chosen.values()), files)
    winners = _Winners(before, after)
    return [
        task
        for task, paths in chosen.items()
        if before.files(task) != after.files(task) or paths & differing or winners.differ_near_files(task)
    ]


def _chosen(task: ConfigResource, before: State, after: State) -> set[str]:
    return {*before.chosen_files(task), *after.chosen_files(task)}


def _differing(paths: Collection[str], files: ChangedFiles) -> set[str]:
    """Return those of ``paths`` with which a run can have another file than before."""
    by_code = set(filter(depends_on_code, paths))
    return files.could_be(paths) | (by_code if by_code and files.have_code else set())


@dataclass(frozen=True, slots=True)
class _Winners:
    """Compares the layers that win in two states. Tasks with equal layers are compared once."""

    before: State
    after: State
    _known: dict[Hashable, bool] = field(default_factory=dict)

    def differ_near_files(self, task: ConfigResource) -> bool:
        """Return whether another layer wins for a key of a task, and a file can beat one of the two."""
        old, new = (state.layers(task, warn=no_notes) for state in (self.before, self.after))
        marks = mark(old), mark(new)
        if marks not in self._known:
            self._known[marks] = marks[0] != marks[1] and _differ_near_files(old, new)
        return self._known[marks]


def _differ_near_files(old: Sequence[ConfigLayer], new: Sequence[ConfigLayer]) -> bool:
    before, after = (LayeredConfig(layers, spark_definition()) for layers in (old, new))
    keys = before.settled.keys() | after.settled.keys()
    pairs = ((_winner(key, before), _winner(key, after)) for key in keys)
    return any(one != other and min(one[0], other[0]) < ConfigSource.DAG_CONFIG for one, other in pairs)


def _winner(key: str, config: LayeredConfig) -> tuple[ConfigSource, str, str | None]:
    """Return the source and the name of the layer that wins for a key, and its value; not its line in a file."""
    layer = config.winner(key) if key in config.settled else None
    return (ConfigSource.DEFAULT_CONFIG, "", None) if layer is None else (layer.source, layer.name, layer.configs[key])


_NOT_OF_CODE: Final = frozenset(
    {
        *("var", "conn", "run_id", "ds", "ds_nodash", "ts", "ts_nodash", "ts_nodash_with_tz"),
        *("logical_date", "data_interval_start", "data_interval_end", "prev_data_interval_start_success"),
        *("prev_data_interval_end_success", "prev_start_date_success", "prev_end_date_success"),
    }
)
"""What Airflow itself tells a template, whatever the code of the DAG is."""

_OF_RUN: Final = frozenset(
    {
        *("conf", "dag_id", "run_id", "run_type", "logical_date", "data_interval_start", "data_interval_end"),
        *("run_after", "start_date", "queued_at", "triggering_user_name"),
    }
)
"""What of ``dag_run`` Airflow itself tells."""

_MACROS: Final = frozenset(
    {
        *("datetime", "timedelta", "dateutil", "time", "uuid", "random", "json", "yaml"),
        *("ds_add", "ds_format", "ds_format_locale", "datetime_diff_for_humans"),
    }
)
"""The macros of Airflow; others are those of plugins."""

_FILTERS: Final = ("ds", "ds_nodash", "ts", "ts_nodash", "ts_nodash_with_tz")
"""The filters of Airflow; others are those of Jinja, or of users."""


def depends_on_code(template: str) -> bool:
    """Return whether code of DAGs has a part in what a run makes of ``template``; also if that is not known."""
    environment = Environment()  # noqa: S701 - it renders nothing
    environment.filters.update(dict.fromkeys(_FILTERS, str))
    try:
        written = environment.parse(template)
        names = undeclared_names(written)
    except (TemplateError, RecursionError):
        return True
    if any(meta.find_referenced_templates(written)) or _has_foreign_filter(written, environment):
        return True
    return any(_is_of_code(name, keys) for name, *keys in reads(written) if name in names)


def _is_of_code(name: str, keys: list[str]) -> bool:
    """Return whether code of DAGs has a part in a name, or in what is read from it with ``keys``."""
    if name == "macros":
        return not keys or keys[0] not in _MACROS
    if name == "dag_run":
        return not keys or keys[0] not in _OF_RUN
    return name not in _NOT_OF_CODE


def _has_foreign_filter(written: nodes.Template, environment: Environment) -> bool:
    used = written.find_all((nodes.Filter, nodes.Test))
    return any(node.name not in {*environment.filters, *environment.tests} for node in used)
