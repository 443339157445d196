"""Describes and alters dynamic configuration (KIP-226, KIP-339)."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from types import MappingProxyType

from airflow_config_providers.core.alter import AlterConfigOp, ConfigResource, absent_elements
from airflow_config_providers.core.definition.config_def import ConfigDef
from airflow_config_providers.core.layers import ConfigEntry, ConfigLayer, LayeredConfig
from airflow_config_providers.core.policy import AlterConfigPolicy, NamedPolicy, PolicyViolation, judged
from airflow_config_providers.core.reconfigurable import Reconfigurables
from airflow_config_providers.core.text import in_all, printable
from airflow_config_providers.core.variable import scan
from airflow_config_providers.dynamic.document import DEPLOYMENT, StoredConfig, Value, name_of
from airflow_config_providers.dynamic.followers import DEFAULT_INTERVAL, ConfigFollower, Fetch, Followers, Settle
from airflow_config_providers.dynamic.history import LOSS, Change, recorded
from airflow_config_providers.dynamic.inheritance import dynamic_layer, inherited, settled, shown
from airflow_config_providers.dynamic.planner import (
    CheckedChange,
    DynamicLayers,
    Edit,
    LayersAfter,
    Objections,
    PlannedChange,
    Planner,
    Plans,
    Reasons,
    Seal,
    altering,
    by_resource,
    no_objections,
    replacing,
    returning,
)
from airflow_config_providers.dynamic.snapshot import Snapshot
from airflow_config_providers.dynamic.store import ConfigStore
from airflow_config_providers.dynamic.writer import REFRESH, Attempts, ChangeAuthor, Writer, take_back
from airflow_config_providers.exceptions import (
    ConfigException,
    ConfigProvidersError,
    ProviderUnavailableError,
    StaleVersionError,
    UnknownResourceError,
    listed,
)

PlansOrErrors = Mapping[ConfigResource, PlannedChange | ConfigProvidersError]
"""Resource of a request -> its planned change, or why it is refused."""

Layers = Callable[[ConfigResource], Sequence[ConfigLayer]]
"""
Returns the layers of a resource that are not dynamic.

:raises UnknownResourceError: the resource does not exist, or no longer exists
"""


def no_layers(resource: ConfigResource) -> Sequence[ConfigLayer]:
    """Return no layers for any resource."""
    return ()


def no_notes(text: str) -> None:
    """Ignore ``text``."""


@dataclass(frozen=True, slots=True)
class AlterConfigResult:
    """
    The result of a change.

    :param entries: changed key -> its entry after the change; None if no layer sets it any longer
    :param layers: all layers of the resource after the change
    :param absent: key -> how many of the elements that were to be subtracted were not in the list, if any
    :param warnings: why policies that only warn would deny the change
    :param reasons: warning -> what its policy says, without the names of the policy and of the resource
    """

    resource: ConfigResource
    entries: Mapping[str, ConfigEntry | None] = field(repr=False)
    layers: Sequence[ConfigLayer] = field(default=(), repr=False)
    absent: Mapping[str, int] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    reasons: Mapping[str, str] = field(default_factory=dict, repr=False)


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
        self._policies = [
            policy if isinstance(policy, NamedPolicy) else NamedPolicy(type(policy).__name__, policy)
            for policy in policies
        ]
        self._layers = layers
        self._planner = Planner(self._definition, seal, objections)
        self._author = author
        self._attempts = Attempts(store, sleep)
        self._followers = Followers(dict(followers))
        if definition is not None:
            for members in followers.values():
                members.follow(definition)
        self._warn = warn

    def describe_configs(
        self,
        resources: Collection[ConfigResource],
        include_synonyms: bool = False,
    ) -> dict[ConfigResource, Mapping[str, ConfigEntry]]:
        """
        Return every key of ``resources``, settled over all layers.

        Their origins name the versions that ``if_version`` expects.

        :param include_synonyms: whether entries have their synonyms, in order of precedence
        :raises UnknownResourceError: a resource does not exist, and nothing was ever stored for it
        :raises ConfigException: stored configuration cannot be read; lists all problems
        """
        reasons, snapshot = Reasons(), self._read_with_histories([DEPLOYMENT, *resources])
        found: dict[ConfigResource, Mapping[str, ConfigEntry]] = {}
        for resource in resources:
            with reasons:
                found[resource] = self._described(resource, snapshot).entries()
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
        _refuse_odd(resource)
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
        return self._alter(
            "alter",
            _ChangeRequest(
                edits,
                validate_only,
                if_version=if_version or {},
                static=cache(self._static_layers),
                written=written,
                operations=configs,
            ),
        )

    def alter_configs(
        self,
        configs: Mapping[ConfigResource, Mapping[str, str | None]],
        validate_only: bool = False,
        *,
        if_version: Mapping[ConfigResource, int] | None = None,
    ) -> dict[ConfigResource, AlterConfigResult]:
        """Replace the whole configuration of resources. For the rest, see ``incremental_alter_configs``."""
        edits = {resource: replacing(wanted) for resource, wanted in configs.items()}
        return self._alter(
            "replace", _ChangeRequest(edits, validate_only, if_version or {}, cache(self._static_layers), configs)
        )

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
                _refuse_odd(resource)
                self._layers(resource)
        if reasons:
            raise reasons.together()
        names = {name_of(resource) for resource in (DEPLOYMENT, *resources)}
        before = self._attempts.until_done(partial(self._refresh, resources), names)
        return {resource: before.base(resource).version + 1 for resource in resources}

    def history(self, resource: ConfigResource) -> list[Change]:
        """
        Return the changes of ``resource``, newest last.

        :raises UnknownResourceError: the resource does not exist, and was never changed
        :raises ConfigException: the history cannot be read
        """
        _refuse_odd(resource)
        return self._changes(resource, Snapshot.read(self._store, [resource], histories=True))

    def rollback(
        self,
        resource: ConfigResource,
        to_version: int | None = None,
        *,
        validate_only: bool = False,
        if_version: int | None = None,
    ) -> AlterConfigResult:
        """
        Restore the configuration of ``resource`` at a version. This is a change that can be rolled back too.

        :param to_version: the version of the resource's document, which the DAG and its tasks share; 0 is before any
            change; None is the one before the last change of the resource
        :param if_version: the version that the resource must have, to avoid undoing someone else's change unseen
        :raises PolicyViolation: a policy denies the change
        :raises ConfigException: the version never existed, or is no longer kept; lists all problems
        """
        _refuse_odd(resource)
        snapshot = Snapshot.read(self._store, [resource], histories=True)
        changes = self._changes(resource, snapshot)
        current = snapshot.numbered(resource).version
        _refuse_stale(resource, current, if_version)
        version = _before_last(resource, changes) if to_version is None else to_version
        versions = recorded(snapshot.history(resource), changes, snapshot.base(resource).version)
        edit = returning(version, changes, versions=versions, name=str(resource))
        request = _ChangeRequest(
            {resource: edit}, validate_only, {resource: current}, cache(self._static_layers), restored=version
        )
        return self._alter("rollback", request)[resource]

    def _alter(self, event: str, request: _ChangeRequest) -> dict[ConfigResource, AlterConfigResult]:
        with self._followers.turn([] if request.validate_only else request.edits):
            names = {name_of(resource) for resource in (DEPLOYMENT, *request.edits)}
            planned, snapshot = self._attempts.until_done(partial(self._attempt, event, request), names)
            if not request.validate_only:
                back = partial(take_back, snapshot, self._attempts, self._author)
                settle = self._settled_after(request, snapshot)
                planned = {**planned, **self._followers.tell(_plans(planned), settle, back)}
        _raise_refusals(planned, is_written=not request.validate_only)
        return self._results(_plans(planned), snapshot, request)

    def _refresh(self, resources: Collection[ConfigResource], store: ConfigStore) -> Snapshot | None:
        """Ask once for the values of references to be read again; return None if others wrote meanwhile."""
        snapshot = Snapshot.read(store, resources, histories=True)
        configs = {resource: snapshot.config(resource) for resource in resources}
        plans = [PlannedChange(resource, config, config.values) for resource, config in configs.items()]
        return snapshot if Writer(store, self._author).write(snapshot, plans, event=REFRESH) else None

    def _settled(self, resource: ConfigResource, snapshot: Snapshot) -> dict[str, Value]:
        configs = {one: snapshot.config(one) for one in inherited(resource)}
        return settled(configs, self._layers(resource), self._definition)

    def _changes(self, resource: ConfigResource, snapshot: Snapshot) -> list[Change]:
        found = [change for change in snapshot.history(resource).changes if change.task_id == resource.task_id]
        if not found:
            self._layers(resource)
        return found

    def _attempt(
        self, event: str, request: _ChangeRequest, store: ConfigStore
    ) -> tuple[PlansOrErrors, Snapshot] | None:
        """Plan and write a change; return None if others wrote meanwhile."""
        edits = request.edits
        snapshot = Snapshot.read(store, [*edits, *self._followers.concerned(edits)], histories=True)
        warnings: list[str] = []
        planned = {resource: self._planned(resource, request, snapshot, warnings) for resource in edits}
        planned |= self._followers.refusals(_plans(planned), self._settled_after(request, snapshot))
        plans = [plan for plan in _plans(planned) if plan.keys or request.refreshes(plan)]
        if plans and not request.validate_only:
            is_done = Writer(store, self._author).write(snapshot, plans, event=event, restored=request.restored)
            if not is_done:
                return None
        for text in warnings:  # of the attempt that counts
            self._warn(text)
        return planned, snapshot

    def _settled_after(self, request: _ChangeRequest, snapshot: Snapshot) -> Settle:
        def settle(resource: ConfigResource, plans: Plans) -> Mapping[str, Value]:
            configs = _configs_after(resource, plans, snapshot)
            return settled(configs, request.static(resource).layers, self._definition)

        return settle

    def _planned(
        self, resource: ConfigResource, request: _ChangeRequest, snapshot: Snapshot, warned: list[str]
    ) -> PlannedChange | ConfigProvidersError:
        """Return the change as it would be written, or why not, and add what policies only warn of to ``warned``."""
        reasons = Reasons()
        before, static = StoredConfig(), _StaticLayers()
        with reasons:
            _refuse_odd(resource)
            static = request.static(resource)
        with reasons:
            before = _stored(resource, snapshot)
            _refuse_stale(resource, before.version, request.if_version.get(resource))
        is_judged = not reasons
        warnings: Mapping[str, str] = {}
        checked = self._checked(
            resource,
            before,
            edit=request.edits[resource],
            layers_after=partial(_layers_after, snapshot),
            reasons=reasons,
        )
        if static.unknown and not (checked and checked.is_cleanup):
            reasons.add(_unknown(static.unknown, before))
        elif checked and is_judged:
            warnings = self._judge(checked, reasons, self._settled_after(request, snapshot))
            warned += warnings
        return replace(checked.plan, warnings=warnings) if checked and not reasons else reasons.together()

    def _checked(
        self, resource: ConfigResource, before: StoredConfig, *, edit: Edit, layers_after: LayersAfter, reasons: Reasons
    ) -> CheckedChange | None:
        with reasons:
            checked = self._planner.check(resource, before, edit, layers_after)
            if checked.problem:
                reasons.add(checked.problem)
            return checked
        return None

    def _judge(self, checked: CheckedChange, reasons: Reasons, settle: Settle) -> Mapping[str, str]:
        """Ask the policies, add what they deny to ``reasons``, and return what others only warn of: text -> reason."""
        found = [judged(self._policies, request) for request in checked.requests()]
        said = {one.text: one.reason for one in in_all([one.warnings for one in found])}
        warnings = {text: said.get(text, "") for text in listed(list(said))}
        reasons.extend(PolicyViolation(one.text) for one in in_all([one.denials for one in found]))
        if reasons and not checked.problem:
            reasons.extend(self._followers.refusals([checked.plan], settle).values())
        return warnings

    def _static_layers(self, resource: ConfigResource) -> _StaticLayers:
        try:
            return _StaticLayers(self._layers(resource))
        except UnknownResourceError as error:
            unknown = error
        return _StaticLayers(self._layers(DEPLOYMENT), unknown)

    def _described(self, resource: ConfigResource, snapshot: Snapshot) -> LayeredConfig:
        _refuse_odd(resource)
        static = self._static_layers(resource)
        if static.unknown:
            if not snapshot.config(resource).version:
                raise static.unknown
            self._warn(
                f"Airflow has no {resource}: the values of its code are not shown, and stored values can only be "
                f"deleted."
            )
        self._warn_of_unlisted(resource, snapshot)
        return LayeredConfig([*_layers_after(snapshot, {})(resource), *static.layers], self._definition)

    def _warn_of_unlisted(self, resource: ConfigResource, snapshot: Snapshot) -> None:
        name, of_deployment = name_of(resource), name_of(DEPLOYMENT)
        is_listed = name == of_deployment or snapshot.document(DEPLOYMENT).lists(name)
        if not is_listed and snapshot.document(resource).version:
            self._warn(
                f"Tasks do not read the variable '{printable(name)}', because '{of_deployment}' does not list it: "
                f"something else wrote the former or deleted the latter. Change a key of {resource} to add it to the "
                f"list."
            )

    def _results(
        self, plans: Sequence[PlannedChange], snapshot: Snapshot, request: _ChangeRequest
    ) -> dict[ConfigResource, AlterConfigResult]:
        results, dynamic = {}, _layers_after(snapshot, by_resource(plans))
        for plan in plans:
            layers = (*dynamic(plan.resource), *request.static(plan.resource).layers)
            entries = LayeredConfig(layers, self._definition).entries()
            changed = {key: entries.get(key) for key in plan.keys}
            operations = request.operations.get(plan.resource, ())
            absent = absent_elements(shown(plan.before.values), operations, self._definition)
            results[plan.resource] = AlterConfigResult(
                plan.resource, changed, layers, absent, warnings=tuple(plan.warnings), reasons=plan.warnings
            )
        return results


@dataclass(frozen=True, slots=True)
class _StaticLayers:
    """
    The layers below the dynamic layers of a resource.

    :param layers: the layers; those of the deployment if the resource does not exist
    :param unknown: the error if the resource does not exist
    """

    layers: Sequence[ConfigLayer] = ()
    unknown: UnknownResourceError | None = None


@dataclass(frozen=True, slots=True)
class _ChangeRequest:
    """
    A requested change, the same in each attempt.

    :param static: returns what is not dynamic; called once for each resource, however many attempts there are
    :param written: resource -> the keys that the request names
    :param operations: resource -> what the request does, if it is incremental
    :param restored: the version that it restores, if it is a rollback
    """

    edits: Mapping[ConfigResource, Edit]
    validate_only: bool
    if_version: Mapping[ConfigResource, int]
    static: Callable[[ConfigResource], _StaticLayers]
    written: Mapping[ConfigResource, Collection[str]] = field(default_factory=dict)
    operations: Mapping[ConfigResource, Sequence[AlterConfigOp]] = field(default_factory=dict)
    restored: int | None = None

    def refreshes(self, plan: PlannedChange) -> bool:
        """Return whether the request names a key that has references, so that it asks for their values."""
        values = [plan.after.get(key) for key in self.written.get(plan.resource, ())]
        return any(isinstance(value, str) and scan(value) for value in values)


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


def _stored(resource: ConfigResource, snapshot: Snapshot) -> StoredConfig:
    """Return the stored configuration of ``resource``, after a check that everything the change needs can be read."""
    for one in inherited(resource):
        snapshot.document(one)
    snapshot.history(resource)
    return snapshot.numbered(resource)


def _unknown(error: UnknownResourceError, before: StoredConfig) -> UnknownResourceError:
    rest = ["Stored values can only be deleted."] if before.version else []
    return UnknownResourceError(" ".join([*error.problems, *rest]))


def _layers_after(snapshot: Snapshot, plans: Plans) -> DynamicLayers:
    def layers(resource: ConfigResource) -> list[ConfigLayer]:
        configs = _configs_after(resource, plans, snapshot)
        return [dynamic_layer(one, config) for one, config in configs.items()]

    return layers


def _configs_after(resource: ConfigResource, plans: Plans, snapshot: Snapshot) -> dict[ConfigResource, StoredConfig]:
    """Return what ``resource`` has and inherits after ``plans``, strongest first."""
    return {
        one: _config_after(plans[one], snapshot) if one in plans else snapshot.numbered(one)
        for one in inherited(resource)
    }


def _config_after(plan: PlannedChange, snapshot: Snapshot) -> StoredConfig:
    version = snapshot.base(plan.resource).version + 1 if plan.keys else plan.before.version
    return StoredConfig(plan.after, version)


def _plans(planned: PlansOrErrors) -> list[PlannedChange]:
    return [plan for plan in planned.values() if isinstance(plan, PlannedChange)]


def _refuse_odd(resource: ConfigResource) -> None:
    if resource.problem:
        raise ConfigException(resource.problem)


def _refuse_stale(resource: ConfigResource, version: int, wanted: int | None) -> None:
    if wanted is not None and wanted != version:
        raise StaleVersionError(
            f"{resource} has version {version}, but the change is for version {printable(str(wanted))}. Describe it, "
            f"and decide again."
        )


def _before_last(resource: ConfigResource, changes: Sequence[Change]) -> int:
    """
    Return the version before the last change of a resource.

    :raises ConfigException: it is not known
    """
    if not changes:
        raise ConfigException(
            f"No changes of {resource} are recorded, so there is nothing to roll back. To remove all that it has, name "
            f"version 0."
        )
    if changes[-1].event == LOSS:
        raise ConfigException(
            f"The last change of {resource} is that its variable was deleted or replaced by an older one, or that of "
            f"its history was, which cannot be rolled back. Its history shows what it had: set that again."
        )
    return changes[-1].version - 1


def _raise_refusals(planned: PlansOrErrors, *, is_written: bool) -> None:
    reasons = Reasons()
    reasons.extend(error for error in planned.values() if isinstance(error, ConfigProvidersError))
    if reasons:
        changed = [str(plan.resource) for plan in _plans(planned) if plan.keys and is_written]
        rest = [f"The other resources were changed: {', '.join(changed)}."] if changed else []
        raise reasons.together(*rest)
