"""A plan as plain values: one document for programs, tables for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeVar

from airflow_config_providers.core.alter import ConfigResource
from airflow_config_providers.core.layers import ConfigEntry
from airflow_config_providers.core.policy import Moment
from airflow_config_providers.core.text import printable
from airflow_config_providers.deployment.rows import SECRET, Row, as_json
from airflow_config_providers.planning.changes import KeyChange, TaskChange
from airflow_config_providers.planning.plan import Judgement, Plan
from airflow_config_providers.planning.running_jobs import RunningJob

_NAMED: Final = 3
"""How many of the tasks with the same change are named to people."""

_Item = TypeVar("_Item")


def document(plan: Plan) -> Row:
    """Return the whole plan for programs."""
    judged, running = _by_task(plan.judgements, lambda one: one.resource), _by_task(plan.running, lambda one: one.task)
    return {
        "tasks": [
            {
                **_task(change),
                "policies": list(map(_judgement, judged.get(change.task, ()))),
                "running": list(map(_running, running.get(change.task, ()))),
            }
            for change in plan.tasks
        ],
        "policies": [_judgement(one) for one in plan.judgements if one.verdict.at is Moment.ALTER],
        "summary": {
            "tasks": len(plan.tasks),
            **{f"keys_{kind.value}": count for kind, count in plan.counts.items()},
            "restarts": sum(one.restarts for one in plan.running),
            "denied": bool(plan.denials),
        },
    }


def changed_keys(plan: Plan) -> list[Row]:
    """Return a row for each change of a key, with the tasks that have it."""
    changes = [(change.task, _key(key)) for change in plan.tasks for key in change.keys]
    changes += [(change.task, _whole(change)) for change in plan.tasks if not change.keys]
    return [
        {
            "change": row["change"],
            "key": row["key"],
            "before": row["before"],
            "after": row["after"],
            "before_layer": _layer(row, "before"),
            "after_layer": _layer(row, "after"),
            "tasks": _named(tasks),
        }
        for row, tasks in _grouped(changes)
    ]


def verdicts(plan: Plan) -> list[Row]:
    """Return a row for each verdict of a policy, denials first, with the tasks that it is about."""
    judged = [(one.resource, _judgement(one)) for one in plan.judgements]
    plain = [(resource, {**row, "reasons": _without(row["reasons"], resource)}) for resource, row in judged]
    return [{**row, "of": _named(resources)} for row, resources in _grouped(plain)]


def running_tries(plan: Plan) -> list[Row]:
    """Return a row for each running job, with the keys that wait for the next submit."""
    return [{"task": _name(one.task), **_running(one)} for one in plan.running]


def _by_task(items: Iterable[_Item], task_of: Callable[[_Item], ConfigResource]) -> dict[ConfigResource, list[_Item]]:
    found: dict[ConfigResource, list[_Item]] = {}
    for item in items:
        found.setdefault(task_of(item), []).append(item)
    return found


def _grouped(rows: Iterable[tuple[ConfigResource, Row]]) -> list[tuple[Row, list[ConfigResource]]]:
    """Return each different row with the resources that have it."""
    found: dict[str, tuple[Row, list[ConfigResource]]] = {}
    for resource, row in rows:
        found.setdefault(as_json(row), (row, []))[1].append(resource)
    return list(found.values())


def _task(change: TaskChange) -> Row:
    return {
        "dag": change.task.dag_id,
        "task": change.task.task_id,
        "change": _whole(change)["change"],
        "keys": list(map(_key, change.keys)),
    }


def _whole(change: TaskChange) -> dict[str, Any]:
    kind = "added" if change.is_new else "removed" if change.is_removed else "changed"
    return {"change": kind, "key": None, "before": None, "after": None}


def _key(change: KeyChange) -> Row:
    return {
        "key": change.key,
        "change": change.kind.value,
        **_entry(change.before, "before"),
        **_entry(change.after, "after"),
    }


def _entry(entry: ConfigEntry | None, side: str) -> Row:
    if entry is None:
        return {side: None, f"{side}_source": None, f"{side}_origin": None}
    value = SECRET if entry.value is None else entry.value
    return {side: value, f"{side}_source": entry.source.name, f"{side}_origin": entry.origin}


def _layer(row: Row, side: str) -> str | None:
    return f"{row[f'{side}_source']}, {row[f'{side}_origin']}" if row.get(f"{side}_source") else None


def _judgement(one: Judgement) -> Row:
    verdict = one.verdict
    return {
        "policy": verdict.policy,
        "at": verdict.at and verdict.at.value,
        "verdict": "denies as before" if one.is_old else verdict.text,
        "reasons": list(verdict.reasons),
    }


def _without(reasons: Sequence[str], resource: ConfigResource) -> list[str]:
    """Return reasons that are equal for different tasks."""
    return [reason.replace(f" of {resource}", "", 1) for reason in reasons]


def _running(one: RunningJob) -> Row:
    return {
        "run": one.one.run_id,
        "map_index": one.one.map_index,
        "try": one.one.try_number,
        "state": one.state,
        "restarts": one.restarts,
        "waiting": list(one.waiting),
    }


def _named(resources: Sequence[ConfigResource]) -> str:
    others = len(resources) - _NAMED
    names = ", ".join(map(_name, resources[:_NAMED]))
    return f"{names} and {others} more" if others > 0 else names


def _name(resource: ConfigResource) -> str:
    return printable(f"{resource.dag_id}.{resource.task_id}") if resource.task_id else str(resource)
