"""Paths of layer files that code of DAGs can change without changing their templates."""

from __future__ import annotations

from typing import Final

from jinja2 import Environment, TemplateError, meta, nodes

from airflow_config_providers.job.chosen_paths import reads, undeclared_names

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
