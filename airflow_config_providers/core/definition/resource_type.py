"""Kinds of resource that can have dynamic configuration."""

from __future__ import annotations

from enum import IntEnum
from typing import Final


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
