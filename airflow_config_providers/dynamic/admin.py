"""Describes and alters dynamic configuration (KIP-226, KIP-339)."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType

from airflow_config_providers.core.alter import AlterConfigOp
from airflow_config_providers.core.definition.config_def import ConfigDef
from airflow_config_providers.core.layers import ConfigEntry, ConfigLayer, LayeredConfig
from airflow_config_providers.core.policy import AlterConfigPolicy, NamedPolicy
from airflow_config_providers.core.reconfigurable import Reconfigurables
from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.core.text import printable
from airflow_config_providers.dynamic.alterer import (
    AlterConfigResult,
    Alterer,
    ChangeRequest,
    Layers,
    layers_after,
    refuse_odd,
    refuse_stale,
    static_layers,
)
from airflow_config_providers.dynamic.document import DEPLOYMENT, Value, name_of
from airflow_config_providers.dynamic.followers import DEFAULT_INTERVAL, ConfigFollower, Fetch, Followers
from airflow_config_providers.dynamic.history import Change, before_last, recorded
from airflow_config_providers.dynamic.inheritance import inherited, settled
from airflow_config_providers.dynamic.planner import (
    Objections,
    Planner,
    Reasons,
    Seal,
    altering,
    no_objections,
    replacing,
    returning,
)
from airflow_config_providers.dynamic.store import ConfigStore, Snapshot
from airflow_config_providers.dynamic.writer import Attempts, ChangeAuthor
from airflow_config_providers.exceptions import ProviderUnavailableError


def no_layers(resource: ConfigResource) -> Sequence[ConfigLayer]:
    """Return no layers for any resource."""
    return ()


def no_notes(text: str) -> None:
    """Ignore ``text``."""


class ConfigAdmin:
    """
    Describes and alters the configuration of a deployment, its DAGs and its tasks. Thread-safe.

    A change is checked for its form, its types, and by every policy, and all problems are reported together. It is
    written as a whole, with its history and an entry in the audit log. If others wrote meanwhile, their change is kept,
    and this one is made again on top of it.

    What is stored for a DAG or a task that no longer exists can be described and deleted, but nothing can be set there.

    Followers of a resource in this process are asked before a change of it, or of what it inherits from, is written,
    and notified afterwards. If one of them fails, the others get the old configuration back, and another change, which
    policies do not check, takes this one back. ``follow`` notifies them of changes by other processes too.

    A change that sets only what is set already, with references, has their values read again, as ``refresh`` does.

    :param store: the store of dynamic configuration
    :param definition: the types of keys, and which keys are sensitive
    :param policies: the policies that check every change of every resource
    :param layers: returns the layers that are not dynamic
    :param seal: encrypts plain-text secrets; without it, they are refused
    :param objections: returns other reasons to refuse a string
    :param author: the author of the changes
    :param followers: resource -> its followers, each set up with the current result of ``settled``; they are notified
        in this order, and cannot follow keys that the definition calls read-only, nor older names of keys
    :param warn: is called with each note for the reader of a description or a change
    :param sleep: waits before a change is tried again
    """

    def __init__(  # noqa: PLR0913 - users pass the first three; the others are interfaces
        self,
        store: ConfigStore,
        definition: ConfigDef | None = None,
        policies: Sequence[AlterConfigPolicy | NamedPolicy] = (),
        *,
        layers: Layers = no_layers,
        seal: Seal | None = None,
        objections: Objections = no_objections,
        author: ChangeAuthor = ChangeAuthor(),  # noqa: B008 - a value
        followers: Mapping[ConfigResource, Reconfigurables] = MappingProxyType({}),
        warn: Callable[[str], None] = no_notes,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._store = store
        self._definition = definition or ConfigDef()
        self._layers = layers
        self._followers = Followers(dict(followers))
        self._warn = warn
        self._alterer = Alterer(
            definition=self._definition,
            policies=[
                one if isinstance(one, NamedPolicy) else NamedPolicy(type(one).__name__, one) for one in policies
            ],
            planner=Planner(self._definition, seal, objections),
            attempts=Attempts(store, sleep),
            author=author,
            followers=self._followers,
            warn=warn,
        )
        if definition is not None:
            for members in followers.values():
                members.follow(definition)

    def describe_configs(
        self,
        resources: Collection[ConfigResource],
        include_synonyms: bool = False,
        *,
        include_defaults: bool = True,
    ) -> dict[ConfigResource, Mapping[str, ConfigEntry]]:
        """
        Return every key of ``resources``, settled over all layers.

        Their origins name the versions that ``if_version`` expects.

        :param include_synonyms: whether entries have their synonyms, in order of precedence
        :param include_defaults: whether to include keys that have only their default
        :raises UnknownResourceError: a resource does not exist, and nothing was ever stored for it
        :raises ConfigException: stored configuration cannot be read; lists all problems
        """
        reasons, snapshot = Reasons(), self._read_with_histories([DEPLOYMENT, *resources])
        found: dict[ConfigResource, Mapping[str, ConfigEntry]] = {}
        for resource in resources:
            with reasons:
                found[resource] = self._described(resource, snapshot).entries(defaults=include_defaults)
        if reasons:
            raise reasons.together()
        if include_synonyms:
            return found
        return {resource: _WithoutSynonyms(entries) for resource, entries in found.items()}

    def _read_with_histories(self, resources: Collection[ConfigResource]) -> Snapshot:
        """
        Return what is stored, without histories if one of them cannot be decrypted.

        :raises ProviderUnavailableError: the store is unavailable now
        """
        with suppress(ProviderUnavailableError):
            return Snapshot.read(self._store, resources, histories=True)
        return Snapshot.read(self._store, resources)

    def settled(self, resource: ConfigResource) -> dict[str, Value]:
        """
        Return the values that win for ``resource``, as its followers get them, without defaults.

        :returns: current name of a key -> string with its references; an encrypted secret stays ``Sealed``
        :raises UnknownResourceError: the resource does not exist
        :raises ConfigException: stored configuration cannot be read
        """
        refuse_odd(resource)
        return self._settled(resource, Snapshot.read(self._store, [resource]))

    def follow(self, *, interval: float = DEFAULT_INTERVAL, fetch: Fetch | None = None) -> ConfigFollower:
        """
        Notify the followers of changes by other processes as well, in a thread, until the result is closed.

        :param interval: the seconds after which a change is noticed at the latest; one request to the store each time
        :param fetch: returns the values of strings with references; without it, each refresh notifies the followers
            of keys with references, whether their values differ or not
        """
        return ConfigFollower(self._store, self._followers, self._settled, interval=interval, fetch=fetch)

    def incremental_alter_configs(
        self,
        configs: Mapping[ConfigResource, Sequence[AlterConfigOp]],
        validate_only: bool = False,
        *,
        if_version: Mapping[ConfigResource, int] | None = None,
    ) -> dict[ConfigResource, AlterConfigResult]:
        """
        Change keys. Each resource changes completely or not at all; refusing one does not affect the others.

        One request can have ``MOST_OPERATIONS`` for each resource.

        :param validate_only: whether to check everything and write nothing
        :param if_version: the version that a resource must have, to avoid overwriting someone else's change
        :raises ConfigException: lists all problems, including denials by policies
        :raises PolicyViolation: policies deny the change, and there are no other problems
        :raises ProviderUnavailableError: the store is unavailable now
        """
        edits = {resource: altering(operations, self._definition) for resource, operations in configs.items()}
        written = {resource: [one.name for one in operations] for resource, operations in configs.items()}
        request = ChangeRequest(edits, self._layers, validate_only, if_version, written=written, operations=configs)
        return self._alterer.alter("alter", request)

    def alter_configs(
        self,
        configs: Mapping[ConfigResource, Mapping[str, str | None]],
        validate_only: bool = False,
        *,
        if_version: Mapping[ConfigResource, int] | None = None,
    ) -> dict[ConfigResource, AlterConfigResult]:
        """Replace the whole configuration of resources. For the rest, see ``incremental_alter_configs``."""
        edits = {resource: replacing(wanted) for resource, wanted in configs.items()}
        request = ChangeRequest(edits, self._layers, validate_only, if_version, written=configs)
        return self._alterer.alter("replace", request)

    def refresh(self, resources: Collection[ConfigResource]) -> dict[ConfigResource, int]:
        """
        Have the values of references of ``resources`` read again by whatever follows them, in all processes (KIP-421).

        This changes no configuration; the audit log has it as ``refresh``. The history only gets the loss of what
        somebody deleted or replaced, if it can be read.

        :returns: resource -> the version of its document that asks for this
        :raises UnknownResourceError: a resource does not exist
        :raises ConfigException: stored configuration cannot be read
        :raises ProviderUnavailableError: the store is unavailable now
        """
        reasons = Reasons()
        for resource in resources:
            with reasons:
                refuse_odd(resource)
                self._layers(resource)
        if reasons:
            raise reasons.together()
        return self._alterer.refresh(resources)

    def history(self, resource: ConfigResource) -> list[Change]:
        """
        Return the changes of ``resource``, newest last.

        :raises UnknownResourceError: the resource does not exist, and was never changed
        :raises ConfigException: the history cannot be read
        """
        refuse_odd(resource)
        return self._changes(resource, Snapshot.read(self._store, [resource], histories=True))

    def rollback(
        self,
        resource: ConfigResource,
        to_version: int | None = None,
        *,
        validate_only: bool = False,
        if_version: int | None = None,
        leave_out: Collection[str] = (),
    ) -> AlterConfigResult:
        """
        Restore the configuration of ``resource`` at a version. This is a change that can be rolled back too.

        :param to_version: the version of the resource's document, which the DAG and its tasks share; 0 is before any
            change; None is the one before the last change of the resource
        :param if_version: the version that the resource must have, to avoid undoing someone else's change unseen
        :param leave_out: keys that stay as they are, such as those whose former values are refused now
        :raises PolicyViolation: a policy denies the change
        :raises ConfigException: the version never existed, or is no longer kept; a key that is left out would not
            change; lists all problems
        """
        refuse_odd(resource)
        snapshot = Snapshot.read(self._store, [resource], histories=True)
        changes = self._changes(resource, snapshot)
        current = snapshot.numbered(resource).version
        refuse_stale(resource, current, if_version)
        version = before_last(changes, name=str(resource)) if to_version is None else to_version
        versions = recorded(snapshot.history(resource), changes, snapshot.base(resource).version)
        edit = returning(version, changes, versions=versions, name=str(resource), leave_out=leave_out)
        request = ChangeRequest({resource: edit}, self._layers, validate_only, {resource: current}, restored=version)
        return self._alterer.alter("rollback", request)[resource]

    def _settled(self, resource: ConfigResource, snapshot: Snapshot) -> dict[str, Value]:
        configs = {one: snapshot.config(one) for one in inherited(resource)}
        return settled(configs, self._layers(resource), self._definition)

    def _changes(self, resource: ConfigResource, snapshot: Snapshot) -> list[Change]:
        found = [change for change in snapshot.history(resource).changes if change.task_id == resource.task_id]
        if not found:
            self._layers(resource)
        return found

    def _described(self, resource: ConfigResource, snapshot: Snapshot) -> LayeredConfig:
        refuse_odd(resource)
        static = static_layers(self._layers, resource)
        if static.unknown:
            if not snapshot.config(resource).version:
                raise static.unknown
            self._warn(
                f"Airflow has no {resource}: the values of its code are not shown, and stored values can only be "
                f"deleted."
            )
        self._warn_of_unlisted(resource, snapshot)
        return LayeredConfig([*layers_after(snapshot, {})(resource), *static.layers], self._definition)

    def _warn_of_unlisted(self, resource: ConfigResource, snapshot: Snapshot) -> None:
        name, of_deployment = name_of(resource), name_of(DEPLOYMENT)
        is_listed = name == of_deployment or snapshot.document(DEPLOYMENT).lists(name)
        if not is_listed and snapshot.document(resource).version:
            self._warn(
                f"Tasks do not read the variable '{printable(name)}', because '{of_deployment}' does not list it: "
                f"something else wrote the former or deleted the latter. Change a key of {resource} to add it to the "
                f"list."
            )


class _WithoutSynonyms(Mapping[str, ConfigEntry]):
    """Entries without their synonyms."""

    def __init__(self, entries: Mapping[str, ConfigEntry]) -> None:
        self._entries = entries

    def __getitem__(self, key: str) -> ConfigEntry:
        return replace(self._entries[key], synonyms=())

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)
