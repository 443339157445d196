"""The operations on the configuration of a deployment, and how they work in the database that this process uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Protocol

from airflow_config_providers import settings
from airflow_config_providers.core.alter import AlterConfigOp, ConfigResource
from airflow_config_providers.core.layers import ConfigEntry, ConfigSource
from airflow_config_providers.deployment import rows
from airflow_config_providers.deployment.admin import Caller, DeployedLayers, admin, altering
from airflow_config_providers.deployment.objections import Warn, have_other_keys, refuse_keys, take_any_key
from airflow_config_providers.deployment.rows import Row, Selection
from airflow_config_providers.spark.key_check import find_in

_NOT_WRITTEN: Final = frozenset({ConfigSource.DEFAULT_CONFIG, ConfigSource.ENVIRONMENT_CONFIG})
"""The sources in which nobody writes the name of a key."""


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


class DeployedConfigurations:
    """
    ``Configurations`` in the database, for one caller, with the same errors. Not thread-safe.

    :param warn: is called with each note for the reader
    :param caller: the user who asks; None for the user who runs this command
    """

    def __init__(self, warn: Warn, caller: Caller | None = None) -> None:
        self._warn = warn
        self._caller = caller

    def describe(self, resource: ConfigResource, selection: Selection) -> list[Row]:
        """Return the selected keys, each with its synonyms."""
        one = admin(self._warn, caller=self._caller)
        found = selection.of(one.describe_configs([resource], include_synonyms=True)[resource])
        for doubt in self._doubts(resource, found):
            self._warn(doubt)
        return rows.described(found)

    def alter(
        self,
        resource: ConfigResource,
        operations: Sequence[AlterConfigOp],
        *,
        validate_only: bool = False,
        if_version: int | None = None,
    ) -> list[Row]:
        """Change keys, and return what applies now."""
        expected = {} if if_version is None else {resource: if_version}
        with altering(self._warn, caller=self._caller) as one:
            done = one.incremental_alter_configs({resource: operations}, validate_only, if_version=expected)
        return rows.changed(done)

    def history(self, resource: ConfigResource) -> list[Row]:
        """Return the changes, newest last."""
        return rows.past(admin(self._warn, caller=self._caller).history(resource))

    def rollback(
        self, resource: ConfigResource, *, to_version: int | None = None, validate_only: bool = False
    ) -> list[Row]:
        """Restore a version, and return what applies now."""
        with altering(self._warn, caller=self._caller) as one:
            done = one.rollback(resource, to_version, validate_only=validate_only)
        return rows.changed({resource: done})

    def _doubts(self, resource: ConfigResource, entries: Iterable[ConfigEntry]) -> Iterator[str]:
        """Yield what is wrong with the names of keys that somebody set and that Spark does not read."""
        places = {one.name: one.origin for one in entries if one.source not in _NOT_WRITTEN}
        layers = DeployedLayers(self._warn, self._caller or Caller())
        takes_any_key = have_other_keys(places) and take_any_key(layers.jobs(resource))
        found = find_in(places, settings.misspelt_keys(), takes_any_key=takes_any_key)
        is_certain = found.problems and resource.task_id and refuse_keys(layers.jobs(resource))
        beginning = f"A run of {resource} would fail. " if is_certain else ""
        yield from (f"{beginning}{problem}" for problem in found.problems)
        yield from found.doubts
