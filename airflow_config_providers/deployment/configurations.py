"""The operations on the configuration of a deployment, here or on a server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from airflow_config_providers.core.alter import AlterConfigOp, ConfigResource
from airflow_config_providers.deployment.rows import Row, Selection


class Configurations(Protocol):
    """
    Describes and alters the configuration of a deployment, its DAGs and its tasks.

    :raises ConfigException: the request is wrong; lists all problems
    :raises PolicyViolation: a policy denies the change
    :raises ForbiddenError: the user lacks the permission
    :raises ProviderUnavailableError: the server or the database is unavailable now
    """

    def describe(self, resource: ConfigResource, selection: Selection) -> list[Row]:
        """Return the selected keys, each with its synonyms."""

    def alter(
        self,
        resource: ConfigResource,
        operations: Sequence[AlterConfigOp],
        *,
        validate_only: bool = False,
        if_version: int | None = None,
    ) -> list[Row]:
        """Change keys, and return what applies now."""

    def history(self, resource: ConfigResource) -> list[Row]:
        """Return the changes, newest last."""

    def rollback(
        self, resource: ConfigResource, *, to_version: int | None = None, validate_only: bool = False
    ) -> list[Row]:
        """Restore a version, and return what applies now. None is the version before the last change."""
