"""
Makes the changes that requests ask for: planned, judged by policies, written, and announced to followers.

If others write meanwhile, all of that happens again on top of their change, unless the request names the version
that it builds on (``--if-version``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from airflow_config_providers.core.alter import AlterConfigOp, absent_elements
from airflow_config_providers.core.definition.config_def import ConfigDef
from airflow_config_providers.core.layers import ConfigEntry, ConfigLayer, LayeredConfig
from airflow_config_providers.core.policy import NamedPolicy, PolicyViolation, judged
from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.core.text import in_all, printable
from airflow_config_providers.core.variable import scan
from airflow_config_providers.dynamic.document import DEPLOYMENT, StoredConfig, Value, name_of
from airflow_config_providers.dynamic.followers import Followers, Settle
from airflow_config_providers.dynamic.inheritance import dynamic_layer, inherited, settled, shown
from airflow_config_providers.dynamic.planner import (
    CheckedChange,
    DynamicLayers,
    Edit,
    LayersAfter,
    PlannedChange,
    Planner,
    Plans,
    Reasons,
    by_resource,
)
from airflow_config_providers.dynamic.store import ConfigStore, Snapshot
from airflow_config_providers.dynamic.writer import REFRESH, Attempts, ChangeAuthor, Writer, take_back
from airflow_config_providers.exceptions import (
    ConfigException,
    ConfigProvidersError,
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


@dataclass(frozen=True, slots=True)
class StaticLayers:
    """
    The layers below the dynamic layers of a resource.

    :param layers: the layers; those of the deployment if the resource does not exist
    :param unknown: the error if the resource does not exist
    """

    layers: Sequence[ConfigLayer] = ()
    unknown: UnknownResourceError | None = None


def static_layers(layers: Layers, resource: ConfigResource) -> StaticLayers:
    """Return the layers of ``resource`` that are not dynamic."""
    try:
        return StaticLayers(layers(resource))
    except UnknownResourceError as error:
        unknown = error
    return StaticLayers(layers(DEPLOYMENT), unknown)


@dataclass(frozen=True, slots=True)
class ChangeRequest:
    """
    A requested change, the same in each attempt.

    :param layers: returns the layers that are not dynamic; called once for each resource, in all attempts together
    :param if_version: the versions that resources must have
    :param written: resource -> the keys that the request names
    :param operations: resource -> what the request does, if it is incremental
    :param restored: the version that it restores, if it is a rollback
    """

    edits: Mapping[ConfigResource, Edit]
    layers: Layers
    validate_only: bool
    if_version: Mapping[ConfigResource, int] | None
    written: Mapping[ConfigResource, Collection[str]] = field(default_factory=dict, kw_only=True)
    operations: Mapping[ConfigResource, Sequence[AlterConfigOp]] = field(default_factory=dict, kw_only=True)
    restored: int | None = field(default=None, kw_only=True)
    _static: dict[ConfigResource, StaticLayers] = field(default_factory=dict, init=False, repr=False)

    def static(self, resource: ConfigResource) -> StaticLayers:
        """Return the layers of ``resource`` that are not dynamic."""
        if resource not in self._static:
            self._static[resource] = static_layers(self.layers, resource)
        return self._static[resource]

    def refuse_stale(self, resource: ConfigResource, version: int) -> None:
        """
        Make sure that a resource with this ``version`` has the one that the request names.

        :raises StaleVersionError: it has another one
        """
        refuse_stale(resource, version, (self.if_version or {}).get(resource))

    def refreshes(self, plan: PlannedChange) -> bool:
        """Return whether the request names a key that has references, so that it asks for their values."""
        values = [plan.after.get(key) for key in self.written.get(plan.resource, ())]
        return any(isinstance(value, str) and scan(value) for value in values)


def refuse_odd(resource: ConfigResource) -> None:
    """
    Make sure that ``resource`` can have dynamic configuration.

    :raises ConfigException: it cannot
    """
    if resource.problem:
        raise ConfigException(resource.problem)


def refuse_stale(resource: ConfigResource, version: int, wanted: int | None) -> None:
    """
    Make sure that a resource with this ``version`` has the one that a request names.

    :raises StaleVersionError: it has another one
    """
    if wanted is not None and wanted != version:
        raise StaleVersionError(
            f"{resource} has version {version}, but the change is for version {printable(str(wanted))}. Describe it, "
            f"and decide again."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Alterer:
    """
    Makes changes, each as ``ConfigAdmin`` says.

    :param definition: the types of keys, and which keys are sensitive
    :param warn: is called with what policies only warn of
    """

    definition: ConfigDef
    policies: Sequence[NamedPolicy]
    planner: Planner
    attempts: Attempts
    author: ChangeAuthor
    followers: Followers
    warn: Callable[[str], None]

    def alter(self, event: str, request: ChangeRequest) -> dict[ConfigResource, AlterConfigResult]:
        """
        Make a change, which the audit log has as ``event``.

        :raises ConfigException: lists all problems, including denials by policies
        """
        with self.followers.turn([] if request.validate_only else request.edits):
            names = {name_of(resource) for resource in (DEPLOYMENT, *request.edits)}
            planned, snapshot = self.attempts.until_done(partial(self._attempt, event, request), names)
            if not request.validate_only:
                back = partial(take_back, snapshot, self.attempts, self.author)
                settle = self._settled_after(request, snapshot)
                planned = {**planned, **self.followers.tell(_plans(planned), settle, back)}
        _raise_refusals(planned, is_written=not request.validate_only)
        return self._results(_plans(planned), snapshot, request)

    def refresh(self, resources: Collection[ConfigResource]) -> dict[ConfigResource, int]:
        """Ask for the values of references to be read again; return resource -> the version that asks for this."""
        names = {name_of(resource) for resource in (DEPLOYMENT, *resources)}
        before = self.attempts.until_done(partial(self._refresh, resources), names)
        return {resource: before.base(resource).version + 1 for resource in resources}

    def _attempt(self, event: str, request: ChangeRequest, store: ConfigStore) -> tuple[PlansOrErrors, Snapshot] | None:
        """Plan and write a change; return None if others wrote meanwhile."""
        edits = request.edits
        snapshot = Snapshot.read(store, [*edits, *self.followers.concerned(edits)], histories=True)
        warnings: list[str] = []
        planned = {resource: self._planned(resource, request, snapshot, warnings) for resource in edits}
        planned |= self.followers.refusals(_plans(planned), self._settled_after(request, snapshot))
        plans = [plan for plan in _plans(planned) if plan.keys or request.refreshes(plan)]
        if plans and not request.validate_only:
            is_done = Writer(store, self.author).write(snapshot, plans, event=event, restored=request.restored)
            if not is_done:
                return None
        for text in warnings:  # of the attempt that counts
            self.warn(text)
        return planned, snapshot

    def _settled_after(self, request: ChangeRequest, snapshot: Snapshot) -> Settle:
        def settle(resource: ConfigResource, plans: Plans) -> Mapping[str, Value]:
            configs = configs_after(resource, plans, snapshot)
            return settled(configs, request.static(resource).layers, self.definition)

        return settle

    def _planned(
        self, resource: ConfigResource, request: ChangeRequest, snapshot: Snapshot, warned: list[str]
    ) -> PlannedChange | ConfigProvidersError:
        """Return the change as it would be written, or why not, and add what policies only warn of to ``warned``."""
        reasons = Reasons()
        before, static = StoredConfig(), StaticLayers()
        with reasons:
            refuse_odd(resource)
            static = request.static(resource)
        with reasons:
            before = _stored(resource, snapshot)
            request.refuse_stale(resource, before.version)
        is_judged = not reasons
        warnings: Mapping[str, str] = {}
        checked = self._checked(
            resource,
            before,
            edit=request.edits[resource],
            dynamic=partial(layers_after, snapshot),
            reasons=reasons,
        )
        if static.unknown and not (checked and checked.is_cleanup):
            reasons.add(_unknown(static.unknown, before))
        elif checked and is_judged:
            warnings = self._judge(checked, reasons, self._settled_after(request, snapshot))
            warned += warnings
        if checked and not reasons:
            return replace(checked.plan, warnings=warnings)
        way_on = _way_on(checked, request) if checked and is_judged else ()
        return reasons.together(*way_on)

    def _checked(
        self, resource: ConfigResource, before: StoredConfig, *, edit: Edit, dynamic: LayersAfter, reasons: Reasons
    ) -> CheckedChange | None:
        with reasons:
            checked = self.planner.check(resource, before, edit, dynamic)
            if checked.problem:
                reasons.add(checked.problem)
            return checked
        return None

    def _judge(self, checked: CheckedChange, reasons: Reasons, settle: Settle) -> Mapping[str, str]:
        """Ask the policies, add what they deny to ``reasons``, and return what others only warn of: text -> reason."""
        found = [judged(self.policies, request) for request in checked.requests()]
        said = {one.text: one.reason for one in in_all([one.warnings for one in found])}
        warnings = {text: said.get(text, "") for text in listed(list(said))}
        reasons.extend(PolicyViolation(one.text) for one in in_all([one.denials for one in found]))
        if reasons and not checked.problem:
            reasons.extend(self.followers.refusals([checked.plan], settle).values())
        return warnings

    def _results(
        self, plans: Sequence[PlannedChange], snapshot: Snapshot, request: ChangeRequest
    ) -> dict[ConfigResource, AlterConfigResult]:
        results, dynamic = {}, layers_after(snapshot, by_resource(plans))
        for plan in plans:
            layers = (*dynamic(plan.resource), *request.static(plan.resource).layers)
            entries = LayeredConfig(layers, self.definition).entries()
            changed = {key: entries.get(key) for key in plan.keys}
            operations = request.operations.get(plan.resource, ())
            absent = absent_elements(shown(plan.before.values), operations, self.definition)
            results[plan.resource] = AlterConfigResult(
                plan.resource, changed, layers, absent, warnings=tuple(plan.warnings), reasons=plan.warnings
            )
        return results

    def _refresh(self, resources: Collection[ConfigResource], store: ConfigStore) -> Snapshot | None:
        """Ask once for the values of references to be read again; return None if others wrote meanwhile."""
        snapshot = Snapshot.read(store, resources, histories=True)
        configs = {resource: snapshot.config(resource) for resource in resources}
        plans = [PlannedChange(resource, config, config.values) for resource, config in configs.items()]
        return snapshot if Writer(store, self.author).write(snapshot, plans, event=REFRESH) else None


def _stored(resource: ConfigResource, snapshot: Snapshot) -> StoredConfig:
    """Return the stored configuration of ``resource``, after a check that everything the change needs can be read."""
    for one in inherited(resource):
        snapshot.document(one)
    snapshot.history(resource)
    return snapshot.numbered(resource)


_LEAVE_OUT: Final = (
    "So nothing is restored. To restore the other keys, leave out each key that is refused, with --leave-out or, in a "
    "request, with leave_out."
)


def _way_on(checked: CheckedChange, request: ChangeRequest) -> Iterator[str]:
    """Yield how to go on after a rollback of several keys that is refused: their former values cannot be corrected."""
    if request.restored is not None and len({*checked.plan.keys, *checked.asked}) > 1:
        yield _LEAVE_OUT


def _unknown(error: UnknownResourceError, before: StoredConfig) -> UnknownResourceError:
    rest = ["Stored values can only be deleted."] if before.version else []
    return UnknownResourceError(" ".join([*error.problems, *rest]))


def _plans(planned: PlansOrErrors) -> list[PlannedChange]:
    return [plan for plan in planned.values() if isinstance(plan, PlannedChange)]


def _raise_refusals(planned: PlansOrErrors, *, is_written: bool) -> None:
    reasons = Reasons()
    reasons.extend(error for error in planned.values() if isinstance(error, ConfigProvidersError))
    if reasons:
        changed = [str(plan.resource) for plan in _plans(planned) if plan.keys and is_written]
        rest = [f"The other resources were changed: {', '.join(changed)}."] if changed else []
        raise reasons.together(*rest)


def layers_after(snapshot: Snapshot, plans: Plans) -> DynamicLayers:
    """Return what returns the dynamic layers of a resource after ``plans``."""

    def layers(resource: ConfigResource) -> list[ConfigLayer]:
        configs = configs_after(resource, plans, snapshot)
        return [dynamic_layer(one, config) for one, config in configs.items()]

    return layers


def configs_after(resource: ConfigResource, plans: Plans, snapshot: Snapshot) -> dict[ConfigResource, StoredConfig]:
    """Return what ``resource`` has and inherits after ``plans``, strongest first."""
    return {
        one: _config_after(plans[one], snapshot) if one in plans else snapshot.numbered(one)
        for one in inherited(resource)
    }


def _config_after(plan: PlannedChange, snapshot: Snapshot) -> StoredConfig:
    version = snapshot.base(plan.resource).version + 1 if plan.keys else plan.before.version
    return StoredConfig(plan.after, version)
