"""The arguments of a mapped task: which the author of the DAG wrote, and which are the same in all instances."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final

from airflow.sdk.definitions.param import DagParam
from airflow.sdk.definitions.template import literal

from airflow_config_providers.foreign import DAG_PARAM, MAPPED, MAPPED_GROUP, STORED_MAPPED, require
from airflow_config_providers.job.nested_texts import field_of, instances, is_at, places, strings

_LITERAL: Final[Any] = type(literal(""))
"""The class of what Airflow puts into a field without rendering it."""

_PATHS: Final = ("config_files", "properties_file", "application_file")
"""The fields with paths of files."""


def authors_texts(operator: Any) -> dict[int, str] | None:
    """
    Return id -> the author's string; None if all strings that Airflow renders are the author's.

    Airflow also renders data: what ``expand_kwargs`` maps over, and what an operator copies when it is created.

    :param operator: an instance of a mapped task, or a task that is not mapped
    """
    task = _written_task(operator)
    if task is None or not task.is_mapped:
        return None
    given = _mapped_over(task)
    literals = list(_literals(given))
    if len(literals) == (len(given) if isinstance(given, Mapping | Sequence) else None):
        return None
    return {id(text): text for text in strings([*_defaults(operator), task.partial_kwargs, literals])}


def unrendered_texts(operator: Any) -> dict[int, str]:
    """
    Return id -> string for the strings in the DAG that Airflow puts into fields as they are.

    They are in ``literal``, and in what the mapped task groups around an operator are mapped over.
    """
    groups = [list(_literals(_group_mapped_over(group))) for group in operator.iter_mapped_task_groups()]
    made = [each.value for each in instances(_LITERAL, _written_arguments(operator))]
    return {id(text): text for text in strings([groups, made])}


def _written_arguments(operator: Any) -> list[Any]:
    """Return what the DAG itself has for the fields: not what another task, or an object, could put there."""
    task = _written_task(operator)
    if task is None:
        return []
    if not task.is_mapped:
        return [getattr(task, name, None) for name in task.template_fields]
    return [*_defaults(operator), task.partial_kwargs, *_literals(_mapped_over(task))]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class AuthorsChoices:
    """
    What was chosen neither by the run of a task nor by another task.

    :param params: the names of the parameters that have their author's values
    :param is_alone: whether the run has no input at all
    :param paths: the paths that are not templates: literals, and results of the author's functions and objects
    """

    params: Collection[str] = ()
    is_alone: bool = False
    paths: Collection[str] = ()


def authors_choices(operator: Any, context: Mapping[str, Any]) -> AuthorsChoices:
    """
    Return the parameters that have their author's values, and what else no run has chosen.

    Airflow overwrites the author's defaults with the input of a run, so an operator saves them when the DAG is parsed.
    """
    task = _written_task(operator)
    if task is None:
        return AuthorsChoices()
    given, run = context.get("params") or {}, getattr(context.get("dag_run"), "conf", None) or {}
    paths = _made_paths(task, operator, run)
    if authors_texts(operator) is not None and _may_map_params(task):
        return AuthorsChoices(paths=paths)
    written = {} if task.is_mapped else operator.written_params
    params = {name for name, value in given.items() if name not in run or (name in written and written[name] == value)}
    return AuthorsChoices(params, not run, paths)


def _mapped_over(task: Any) -> Any:
    """Return the argument of ``expand_kwargs``, or the arguments of ``expand``, of a mapped task."""
    require(MAPPED)
    return task._get_specified_expand_input().value


def _group_mapped_over(group: Any) -> Any:
    require(MAPPED_GROUP)
    return group._expand_input.value


def _may_map_params(task: Any) -> bool:
    given = _mapped_over(task)
    return not isinstance(given, Mapping) or "params" in given


def _made_paths(task: Any, operator: Any, run: Mapping[str, Any]) -> set[str]:
    return set(strings([list(_made(_given(task, field), getattr(operator, field, None), run)) for field in _PATHS]))


def _given(task: Any, field: str) -> Any:
    """Return what the DAG has for a field of all instances of ``task``; None for nothing."""
    return task.partial_kwargs.get(field) if task.is_mapped else getattr(task, field, None)


def parameter_at(label: str, operator: Any) -> str | None:
    """Return the name of the parameter that ``dag.param()`` puts at a place in the fields; None if it puts none."""
    task, field = _written_task(operator), field_of(label)
    if task is None:
        return None
    require(DAG_PARAM)
    found = places(DagParam, _given(task, field), field)
    return next((param._name for place, param in found if is_at(label, place)), None)


def _made(written: Any, became: Any, run: Mapping[str, Any]) -> Iterator[Any]:
    if isinstance(written, list | tuple) and isinstance(became, list | tuple):
        for item, value in zip(written, became, strict=False):
            yield from _made(item, value, run)
    elif isinstance(written, PurePath):
        if str(became) == str(written) or became == [str(written)]:  # a template could contain the input of a run
            yield [str(written)]
    elif _is_made_by_author(written, run):
        yield became


def _is_made_by_author(written: Any, run: Mapping[str, Any]) -> bool:
    """Return whether an object in a field has its author's value: it reads no result, and no run has set it."""
    if isinstance(written, DagParam):
        require(DAG_PARAM)
        return written._name not in run
    references = getattr(written, "iter_references", tuple)
    return callable(written) or (hasattr(written, "resolve") and not tuple(references()))


def _written_task(operator: Any) -> Any:
    """Return the task in its DAG; None if it has no DAG."""
    dag = operator.get_dag()
    return dag.task_dict.get(operator.task_id) if dag else None


def _defaults(operator: Any) -> Iterator[Any]:
    """Yield the default arguments of the DAG and of each task group around the task."""
    yield operator.get_dag().default_args
    group = operator.task_group
    while group is not None:
        yield group.default_args
        group = group.parent_group


def _literals(given: Any) -> Iterator[Any]:
    """Yield what the DAG itself contains of the argument of ``expand_kwargs``, or of the arguments of ``expand``."""
    if isinstance(given, Mapping):
        yield from (value for value in given.values() if isinstance(value, Mapping | Sequence))
    elif isinstance(given, Sequence):
        yield from (item for item in given if isinstance(item, Mapping))


def shared_arguments(task: Any, names: Collection[str]) -> dict[str, Any]:
    """
    Return those of the arguments ``names`` that have the same value in all instances of a stored mapped task.

    As in Airflow, an argument in ``expand`` or ``partial`` overrides the ``default_args``.
    """
    differing = differing_arguments(task) or ()
    defaults = {name: value for name, value in task.dag.default_args.items() if name not in differing}
    return {name: value for name, value in {**defaults, **task.partial_kwargs}.items() if name in names}


def differing_arguments(task: Any) -> list[str] | None:
    """Return the sorted arguments of a stored mapped task that its instances do not share; None if a run decides."""
    require(STORED_MAPPED)
    if task._expand_input_attr != "expand_input":  # only the arguments of a decorated function differ
        return []
    value = task.expand_input.value
    if isinstance(value, Mapping):
        return sorted(value)
    if isinstance(value, list) and all(isinstance(item, Mapping) for item in value):
        return sorted({argument for item in value for argument in item})
    return None
