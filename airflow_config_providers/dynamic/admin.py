"""Describes and alters dynamic configuration (KIP-226, KIP-339)."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Final, TypeVar

from airflow_config_providers.core.alter import AlterConfigOp, ConfigResource, altered, whole
from airflow_config_providers.core.definition import ConfigDef
from airflow_config_providers.core.layers import ConfigEntry, ConfigLayer, LayeredConfig
from airflow_config_providers.core.policy import AlterConfigPolicy, NamedPolicy, RequestMetadata, validate_all
from airflow_config_providers.dynamic import history
from airflow_config_providers.dynamic.change import Edit, PlannedChange, Planner, Seal, on_texts
from airflow_config_providers.dynamic.document import StoredConfig
from airflow_config_providers.dynamic.history import Change
from airflow_config_providers.dynamic.layers import dynamic_layer, inherited, shown
from airflow_config_providers.dynamic.snapshot import Snapshot
from airflow_config_providers.dynamic.store import ConfigStore
from airflow_config_providers.dynamic.writing import Author, Writer, history_name
from airflow_config_providers.exceptions import ConfigException, ConfigProvidersError, ProviderUnavailableError

_T = TypeVar("_T")

Outcomes = Mapping[ConfigResource, PlannedChange | ConfigProvidersError]
"""What came of each resource of a request."""

_ATTEMPTS: Final = 200
_SHORTEST_WAIT: Final = 0.01
_LONGEST_WAIT: Final = 0.25
"""Seconds. An attempt takes about ten milliseconds: a dozen others are out of the way by then."""

Layers = Callable[[ConfigResource], Sequence[ConfigLayer]]
"""
Gives the layers of a resource that are not dynamic.

:raises ConfigException: there is no such resource
"""


def no_layers(resource: ConfigResource) -> Sequence[ConfigLayer]:
    """Know no other layers, and every resource."""
    return ()


@dataclass(frozen=True, slots=True)
class AlterConfigResult:
    """
    What came of a change.

    :param entries: the keys that change, as they are then; None where nothing sets one any more
    """

    resource: ConfigResource
    entries: Mapping[str, ConfigEntry | None] = field(repr=False)


class ConfigAdmin:
    """
    Describes and alters what a deployment, its DAGs and its tasks are configured with. Thread-safe.

    A change is checked for its form, its types, and by every policy, and then written as a whole, with its history and
    an entry in the log of who did what. What others wrote meanwhile is kept: the change is then made anew on top of it.

    :param store: where dynamic configuration is kept
    :param definition: types, and which keys are sensitive
    :param policies: asked about every change of every resource
    :param layers: the layers that are not dynamic
    :param seal: encrypts secrets that are written out; without it they are refused
    :param author: who makes the changes
    :param sleep: waits before a change is made anew
    """

    def __init__(  # noqa: PLR0913 - the first three are what people give; the others are seams
        self,
        store: ConfigStore,
        definition: ConfigDef | None = None,
        policies: Sequence[AlterConfigPolicy | NamedPolicy] = (),
        *,
        layers: Layers = no_layers,
        seal: Seal | None = None,
        author: Author = Author(),  # noqa: B008 - a value
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._store = store
        self._definition = definition or ConfigDef()
        self._policies = [_named(policy) for policy in policies]
        self._layers = layers
        self._planner = Planner(self._definition, seal)
        self._writer = Writer(store, author)
        self._sleep = sleep

    def describe_configs(
        self,
        resources: Collection[ConfigResource],
        include_synonyms: bool = False,
    ) -> dict[ConfigResource, Mapping[str, ConfigEntry]]:
        """
        Give every key of ``resources``, with all layers beneath.

        :param include_synonyms: give for each key also what it beat, in order of precedence
        :raises ConfigException: there is no such resource, or what is stored cannot be read
        """
        _refuse_odd(resources)
        snapshot = Snapshot.read(self._store, resources)
        found = {resource: self._layered(resource, snapshot).entries() for resource in resources}
        return found if include_synonyms else {resource: _Plain(entries) for resource, entries in found.items()}

    def incremental_alter_configs(
        self,
        configs: Mapping[ConfigResource, Sequence[AlterConfigOp]],
        validate_only: bool = False,
        *,
        if_version: Mapping[ConfigResource, int] | None = None,
    ) -> dict[ConfigResource, AlterConfigResult]:
        """
        Change keys. Each resource is changed as a whole or not at all; one that is refused keeps no other from it.

        :param validate_only: check everything, and write nothing
        :param if_version: the version that a resource must have; for a change that builds on what was seen
        :raises PolicyViolation: a policy denies
        :raises ConfigException: names all that is wrong
        :raises ProviderUnavailableError: the store cannot be asked now
        """
        edits = {
            resource: on_texts(partial(altered, operations=operations, definition=self._definition))
            for resource, operations in configs.items()
        }
        return self._alter("alter", edits, validate_only=validate_only, if_version=if_version or {})

    def alter_configs(
        self,
        configs: Mapping[ConfigResource, Mapping[str, str | None]],
        validate_only: bool = False,
        *,
        if_version: Mapping[ConfigResource, int] | None = None,
    ) -> dict[ConfigResource, AlterConfigResult]:
        """Replace all that resources have; what is not given is deleted. The rest as ``incremental_alter_configs``."""
        edits = {resource: on_texts(_replacing(wanted)) for resource, wanted in configs.items()}
        return self._alter("replace", edits, validate_only=validate_only, if_version=if_version or {})

    def history(self, resource: ConfigResource) -> list[Change]:
        """
        Give the changes of ``resource``, the newest last.

        :raises ConfigException: the history cannot be read
        """
        name = history_name(resource)
        return _changes(resource, self._store.read([name])[name].text)

    def rollback(
        self, resource: ConfigResource, to_version: int | None = None, *, validate_only: bool = False
    ) -> AlterConfigResult:
        """
        Give ``resource`` what it had at a version; a change like any other, which can be rolled back too.

        :param to_version: of the resource's document; None for the one before the last change
        :raises PolicyViolation: a policy denies
        :raises ConfigException: there was no such version, or it is not remembered
        """
        name = history_name(resource)
        snapshot = Snapshot.read(self._store, [resource], more=[name])
        changes = _changes(resource, snapshot.text(name))
        if not changes:
            raise ConfigException(f"{resource} was never changed, so there is nothing to go back to.")
        version = changes[-1].version - 1 if to_version is None else to_version
        seen = {resource: snapshot.config(resource).version}
        edit = partial(history.as_of, version, changes=changes, name=str(resource))
        return self._alter("rollback", {resource: edit}, validate_only=validate_only, if_version=seen)[resource]

    def _alter(
        self,
        event: str,
        edits: Mapping[ConfigResource, Edit],
        *,
        validate_only: bool,
        if_version: Mapping[ConfigResource, int],
    ) -> dict[ConfigResource, AlterConfigResult]:
        request = _Request(event, edits, validate_only, if_version, cache(self._layers))
        outcomes, snapshot = _until_nobody_interferes(partial(self._attempt, request), self._sleep)
        return self._results(outcomes, snapshot, request.layers)

    def _attempt(self, request: _Request) -> tuple[Outcomes, Snapshot] | None:
        """Plan and write; None where others wrote meanwhile."""
        edits = request.edits
        snapshot = Snapshot.read(self._store, edits, more=[history_name(resource) for resource in edits])
        outcomes = {resource: self._planned(resource, request, snapshot) for resource in edits}
        plans = [plan for plan in _plans(outcomes) if plan.keys]
        is_done = request.validate_only or not plans or self._writer.write(snapshot, plans, event=request.event)
        return (outcomes, snapshot) if is_done else None

    def _planned(
        self, resource: ConfigResource, request: _Request, snapshot: Snapshot
    ) -> PlannedChange | ConfigProvidersError:
        try:
            _refuse_odd([resource])
            request.layers(resource)
            before = snapshot.config(resource)
            _refuse_stale(resource, before.version, request.if_version.get(resource))
            plan = self._planner.plan(resource, before, request.edits[resource])
            seen = RequestMetadata(
                resource, shown(before.values), shown(plan.after), hidden_changes=frozenset(plan.keys)
            )
            validate_all(self._policies, seen)
        except ConfigProvidersError as error:
            return error
        return plan

    def _layered(self, resource: ConfigResource, snapshot: Snapshot) -> LayeredConfig:
        dynamic = [dynamic_layer(one, snapshot.config(one)) for one in inherited(resource)]
        return LayeredConfig([*dynamic, *self._layers(resource)], self._definition)

    def _results(
        self, outcomes: Outcomes, snapshot: Snapshot, layers: Layers
    ) -> dict[ConfigResource, AlterConfigResult]:
        _raise_refusals(outcomes)
        planned = {plan.resource: StoredConfig(plan.after, _version_after(plan, snapshot)) for plan in _plans(outcomes)}
        return {plan.resource: self._result(plan, planned, snapshot, layers) for plan in _plans(outcomes)}

    def _result(
        self, plan: PlannedChange, planned: Mapping[ConfigResource, StoredConfig], snapshot: Snapshot, layers: Layers
    ) -> AlterConfigResult:
        now = [dynamic_layer(one, planned.get(one) or snapshot.config(one)) for one in inherited(plan.resource)]
        layered = LayeredConfig([*now, *layers(plan.resource)], self._definition)
        entries = layered.entries()
        return AlterConfigResult(plan.resource, {key: entries.get(key) for key in plan.keys})


@dataclass(frozen=True, slots=True)
class _Request:
    """
    What is to be changed, the same in each attempt.

    :param layers: gives those that are not dynamic; asked once for each resource, whatever the number of attempts
    """

    event: str
    edits: Mapping[ConfigResource, Edit]
    validate_only: bool
    if_version: Mapping[ConfigResource, int]
    layers: Layers


class _Plain(Mapping[str, ConfigEntry]):
    """Entries without their synonyms."""

    def __init__(self, entries: Mapping[str, ConfigEntry]) -> None:
        self._entries = entries

    def __getitem__(self, key: str) -> ConfigEntry:
        return replace(self._entries[key], synonyms=())

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def _named(policy: AlterConfigPolicy | NamedPolicy) -> NamedPolicy:
    return policy if isinstance(policy, NamedPolicy) else NamedPolicy(type(policy).__name__, policy)


def _replacing(wanted: Mapping[str, str | None]) -> Callable[[Mapping[str, str]], Mapping[str, str]]:
    return lambda before: whole(wanted)


def _changes(resource: ConfigResource, text: str | None) -> list[Change]:
    changes = history.read(text, name=history_name(resource))
    return [change for change in changes if change.task_id == resource.task_id]


def _version_after(plan: PlannedChange, snapshot: Snapshot) -> int:
    return snapshot.document(plan.resource).version + 1 if plan.keys else plan.before.version


def _plans(outcomes: Outcomes) -> list[PlannedChange]:
    return [outcome for outcome in outcomes.values() if isinstance(outcome, PlannedChange)]


def _refuse_odd(resources: Collection[ConfigResource]) -> None:
    if problems := [problem for resource in resources if (problem := resource.problem)]:
        raise ConfigException(*problems)


def _refuse_stale(resource: ConfigResource, version: int, wanted: int | None) -> None:
    if wanted is not None and wanted != version:
        raise ConfigException(
            f"{resource} has version {version}, and the change is meant for version {wanted}. Describe it, and decide "
            f"anew."
        )


def _raise_refusals(outcomes: Outcomes) -> None:
    refused = {resource: error for resource, error in outcomes.items() if isinstance(error, ConfigProvidersError)}
    if not refused:
        return
    changed = [str(plan.resource) for plan in _plans(outcomes) if plan.keys]
    rest = [f"The others were changed all the same: {', '.join(changed)}."] if changed else []
    kind = type(next(iter(refused.values())))
    raise kind(*(problem for error in refused.values() for problem in error.problems), *rest)


def _until_nobody_interferes(attempt: Callable[[], _T | None], sleep: Callable[[float], None]) -> _T:
    from tenacity import RetryError, Retrying, retry_if_result, stop_after_attempt, wait_random_exponential  # noqa: PLC0415 - slow

    retrying = Retrying(
        stop=stop_after_attempt(_ATTEMPTS),
        wait=wait_random_exponential(_SHORTEST_WAIT, max=_LONGEST_WAIT),
        retry=retry_if_result(lambda result: result is None),
        sleep=sleep,
    )
    try:
        done = retrying(attempt)
    except RetryError:
        done = None
    if done is None:
        raise ProviderUnavailableError(
            "Others change the same configuration again and again. Nothing was changed: try again later."
        )
    return done
