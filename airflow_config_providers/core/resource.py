"""Resources that can have dynamic configuration."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, TypeVar

from airflow_config_providers.core.text import is_unicode, printable
from airflow_config_providers.exceptions import ConfigException


class ResourceType(IntEnum):
    """Kinds of resource that can have dynamic configuration. The highest number wins."""

    DEFAULT = 1
    DAG = 2
    TASK = 3

    @property
    def phrase(self) -> str:
        """Its name in messages."""
        return {1: "the deployment default", 2: "a DAG", 3: "a task"}[self]


EVERYWHERE: Final = tuple(ResourceType)
"""Where a configuration can be altered unless its definition says otherwise."""

_DOT: Final = "%2E"
"""Replaces a dot of the DAG id in the name of a task, so that two tasks never have the same name."""

_Kind = TypeVar("_Kind", bound=IntEnum)


def member_of(kind: type[_Kind], number: int) -> _Kind:
    """Return the member with this ``number``, so that a member of another enum that equals it is converted."""
    if number in [*kind]:
        return kind(number)
    raise ConfigException(f"Unknown {kind.__name__}. Use one of {', '.join(member.name for member in kind)}.")


@dataclass(frozen=True, slots=True, order=True)
class ConfigResource:
    """
    The owner of a dynamic configuration: the deployment, a DAG, or a task.

    :param name: empty for the deployment default; the DAG id; or ``dag_id.task_id``, with each dot of the DAG id
        written as ``%2E``, as ``of_task`` does
    """

    type: ResourceType
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "type", member_of(ResourceType, self.type))

    @classmethod
    def of_task(cls, dag_id: str, task_id: str) -> ConfigResource:
        """Return the resource of a task; its ids can contain dots."""
        return cls(ResourceType.TASK, f"{dag_id.replace('.', _DOT)}.{task_id}")

    @property
    def dag_id(self) -> str:
        """The DAG id; empty for the deployment default."""
        return self.name.partition(".")[0].replace(_DOT, ".") if self.type is ResourceType.TASK else self.name

    @property
    def task_id(self) -> str:
        """The task id; empty for a DAG and for the deployment default."""
        return self.name.partition(".")[2] if self.type is ResourceType.TASK else ""

    @property
    def problem(self) -> str | None:
        """The problem with the name; None if it is valid."""
        if not is_unicode(self.name):
            return f"'{printable(self.name)}' holds half of a surrogate pair, which is no character. Correct the name."
        if self.type is ResourceType.DEFAULT:
            return "The deployment default has no name. Leave it empty." if self.name else None
        if self.type is ResourceType.DAG:
            return None if self.name else "A DAG is named by its id. Add it."
        if self.dag_id and self.task_id:
            return None
        return f"'{printable(self.name)}' names no task. Write dag_id.task_id."

    def __str__(self) -> str:
        if self.type is ResourceType.DEFAULT:
            return "the deployment default"
        if self.type is ResourceType.DAG:
            return f"DAG '{printable(self.name)}'"
        return f"task '{printable(self.task_id)}' of DAG '{printable(self.dag_id)}'"
