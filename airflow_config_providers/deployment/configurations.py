"""What can be done with the configuration of a deployment, wherever that runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from airflow_config_providers.core.alter import AlterConfigOp, ConfigResource
from airflow_config_providers.deployment.rows import Row, Selection


class Configurations(Protocol):
    """
    Describes and alters what a deployment, its DAGs and its tasks are configured with.

    :raises ConfigException: names all that is wrong
    :raises PolicyViolation: a policy denies
    :raises ForbiddenError: the user may not
    :raises ProviderUnavailableError: it cannot be asked now
    """

    def describe(self, resource: ConfigResource, selection: Selection) -> list[Row]:
        """Give the keys that are asked for, with what each beat."""

    def alter(
        self,
        resource: ConfigResource,
        operations: Sequence[AlterConfigOp],
        *,
        validate_only: bool = False,
        if_version: int | None = None,
    ) -> list[Row]:
        """Change keys, and give what counts since."""

    def history(self, resource: ConfigResource) -> list[Row]:
        """Give the changes, the newest last."""

    def rollback(
        self, resource: ConfigResource, *, to_version: int | None = None, validate_only: bool = False
    ) -> list[Row]:
        """Go back to a version, None for the one before the last change, and give what counts since."""
