"""The configuration of the deployment whose database this process has."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_config_providers.core.alter import AlterConfigOp, ConfigResource
from airflow_config_providers.deployment import rows
from airflow_config_providers.deployment.admin import Caller, Warn, admin, altering
from airflow_config_providers.deployment.rows import Row, Selection


class DeployedConfigurations:
    """
    Describes and alters in the database, for one caller. Errors as with ``Configurations``. Not thread-safe.

    :param warn: is told what a reader should know
    :param caller: who asks; None for the user who runs this command
    """

    def __init__(self, warn: Warn, caller: Caller | None = None) -> None:
        self._warn = warn
        self._caller = caller

    def describe(self, resource: ConfigResource, selection: Selection) -> list[Row]:
        """Give the keys that are asked for, with what each beat."""
        one = admin(self._warn, caller=self._caller)
        return rows.described(selection.of(one.describe_configs([resource], include_synonyms=True)[resource]))

    def alter(
        self,
        resource: ConfigResource,
        operations: Sequence[AlterConfigOp],
        *,
        validate_only: bool = False,
        if_version: int | None = None,
    ) -> list[Row]:
        """Change keys, and give what counts since."""
        expected = {} if if_version is None else {resource: if_version}
        with altering(self._warn, caller=self._caller) as one:
            done = one.incremental_alter_configs({resource: operations}, validate_only, if_version=expected)
        return rows.changed(done)

    def history(self, resource: ConfigResource) -> list[Row]:
        """Give the changes, the newest last."""
        return rows.past(admin(self._warn, caller=self._caller).history(resource))

    def rollback(
        self, resource: ConfigResource, *, to_version: int | None = None, validate_only: bool = False
    ) -> list[Row]:
        """Go back to a version, and give what counts since."""
        with altering(self._warn, caller=self._caller) as one:
            done = one.rollback(resource, to_version, validate_only=validate_only)
        return rows.changed({resource: done})
