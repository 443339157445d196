"""Kinds of resource that can have dynamic configuration."""

from __future__ import annotations

from enum import IntEnum


class ResourceType(IntEnum):
    """Kinds of resource that can have dynamic configuration. The greater beats the smaller."""

    DEFAULT = 1
    DAG = 2
    TASK = 3

    @property
    def phrase(self) -> str:
        """What messages call one."""
        return {1: "the deployment default", 2: "a DAG", 3: "a task"}[self]
