"""What the author of a DAG wrote into a mapped task, told from what another task gives it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath
from typing import Any, Final

from airflow.sdk.definitions.param import DagParam

from airflow_config_providers.core.nested import map_leaves

_PATHS: Final = ("config_files", "properties_file", "application_file")
"""The fields with paths of files."""


def authors_texts(operator: Any) -> dict[int, str] | None:
    """
    Return the author's strings by their ids; None where all that Airflow fills in are the author's.

    Airflow takes data for templates: what ``expand_kwargs`` maps over, and what an operator copies when it is made.

    :param operator: one instance of a mapped task, or a task that is not mapped
    """
    task = _written_task(operator)
    if task is None or not task.is_mapped:
        return None
    given = task._get_specified_expand_input().value
    literals = list(_literals(given))
    if len(literals) == (len(given) if isinstance(given, Mapping | Sequence) else None):
        return None
    found: dict[int, str] = {}
    map_leaves([*_defaults(operator), task.partial_kwargs, literals], lambda leaf: _keep(leaf, found))
    return found


@dataclass(frozen=True, slots=True)
class Author:
    """
    What neither the run of a task nor another task chose.

    :param params: the names of the parameters that have the values of their author
    :param is_alone: whether the run gave nothing at all
    :param paths: the paths that are no templates: literals, and what functions and other objects of the author gave
    """

    params: Collection[str] = ()
    is_alone: bool = False
    paths: Collection[str] = ()


def authors_params(operator: Any, context: Mapping[str, Any]) -> Author:
    """
    Return the parameters that have the values of their author, and what else no run chose.

    Airflow writes what a run gives over the author's defaults, so an operator notes these when the DAG is read.
    """
    task = _written_task(operator)
    if task is None:
        return Author()
    given, run = context.get("params") or {}, getattr(context.get("dag_run"), "conf", None) or {}
    paths = _made_paths(task, operator, run)
    if authors_texts(operator) is not None and _may_map_params(task):
        return Author(paths=paths)
    written = {} if task.is_mapped else operator.written_params
    params = {name for name, value in given.items() if name not in run or (name in written and written[name] == value)}
    return Author(params, not run, paths)


def _may_map_params(task: Any) -> bool:
    """Return whether another task may give the parameters of a mapped one."""
    given = task._get_specified_expand_input().value
    return not isinstance(given, Mapping) or "params" in given


def _made_paths(task: Any, operator: Any, run: Mapping[str, Any]) -> set[str]:
    """Return the paths that objects of the author became."""
    read = task.partial_kwargs.get if task.is_mapped else partial(getattr, task)
    made = [list(_made(read(field, None), getattr(operator, field, None), run)) for field in _PATHS]
    found: dict[int, str] = {}
    map_leaves(made, lambda leaf: _keep(leaf, found))
    return set(found.values())


def _made(written: Any, became: Any, run: Mapping[str, Any]) -> Iterator[Any]:
    if isinstance(written, list | tuple) and isinstance(became, list | tuple):
        for item, value in zip(written, became, strict=False):
            yield from _made(item, value, run)
    elif isinstance(written, PurePath):
        if became in (str(written), [str(written)]):  # a template would be filled in, and may take what a run gives
            yield became
    elif _is_made_by_author(written, run):
        yield became


def _is_made_by_author(written: Any, run: Mapping[str, Any]) -> bool:
    """Return whether an object in a field gives what its author chose: it reads no result, and no run gave it."""
    if isinstance(written, DagParam):
        return written._name not in run
    references = getattr(written, "iter_references", tuple)
    return callable(written) or (hasattr(written, "resolve") and not tuple(references()))


def _written_task(operator: Any) -> Any:
    """Return the task as it is in its DAG; None where it is in none."""
    dag = operator.get_dag()
    return dag.task_dict.get(operator.task_id) if dag else None


def _defaults(operator: Any) -> Iterator[Any]:
    """Give the default arguments of the DAG and of each group around the task."""
    yield operator.get_dag().default_args
    group = operator.task_group
    while group is not None:
        yield group.default_args
        group = group.parent_group


def _literals(given: Any) -> Iterator[Any]:
    """Give what stands in the DAG itself, of the argument of ``expand_kwargs`` or of the arguments of ``expand``."""
    if isinstance(given, Mapping):
        yield from (value for value in given.values() if isinstance(value, Mapping | Sequence))
    elif isinstance(given, Sequence):
        yield from (item for item in given if isinstance(item, Mapping))


def _keep(leaf: object, found: dict[int, str]) -> None:
    if isinstance(leaf, str):
        found[id(leaf)] = leaf
