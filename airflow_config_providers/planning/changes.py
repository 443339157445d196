"""What differs between two states of a deployment, task by task."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum

from airflow_config_providers.core.layers import ConfigEntry, ConfigLayer, LayeredConfig
from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.core.sensitive import HIDDEN
from airflow_config_providers.dynamic.admin import no_notes
from airflow_config_providers.job.deployed_task import Warn
from airflow_config_providers.planning.state import State
from airflow_config_providers.spark.catalogue import spark_definition


class Kind(Enum):
    """What happens to a key of a task."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class KeyChange:
    """
    A key whose value changes. It can be the label of an argument with references, such as ``env_vars['TOKEN']``.

    :param before: its entry before the change; None if no layer set it
    :param after: its entry after the change; None if no layer sets it any longer
    """

    key: str
    before: ConfigEntry | None
    after: ConfigEntry | None

    @property
    def kind(self) -> Kind:
        """What happens to the key."""
        if self.before is None or self.after is None:
            return Kind.ADDED if self.before is None else Kind.REMOVED
        return Kind.CHANGED


@dataclass(frozen=True, slots=True)
class TaskChange:
    """
    A task whose configuration changes.

    :param before: the layers before the change; none if the task is new
    :param after: the layers after the change; none if the task is removed
    """

    task: ConfigResource
    keys: Sequence[KeyChange]
    before: Sequence[ConfigLayer] = field(repr=False)
    after: Sequence[ConfigLayer] = field(repr=False)
    is_new: bool = False
    is_removed: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """
    Compares two states.

    :param sealed: the keys whose encrypted secret is replaced, although both states show ``[hidden]``
    :param warn: is called with each note for the reader
    :param tick: is called after each task
    """

    before: State
    after: State
    sealed: Collection[str] = ()
    warn: Warn = no_notes
    tick: Callable[[], object] = lambda: None

    def changes(self, tasks: Collection[ConfigResource]) -> Iterator[TaskChange]:
        """
        Yield those of ``tasks`` whose configuration differs, in order.

        Tasks with equal layers are compared once.
        """
        known: dict[Hashable, list[KeyChange]] = {}
        for task in sorted(tasks):
            before, after = (state.layers(task, warn=self.warn) for state in (self.before, self.after))
            old, new = [*before, self.before.arguments(task)], [*after, self.after.arguments(task)]
            marks = mark(old), mark(new)
            if marks not in known:
                known[marks] = list(self._compared(old, new)) if marks[0] != marks[1] else []
            is_new, is_removed = task not in self.before.jobs, task not in self.after.jobs
            if known[marks] or is_new or is_removed:
                yield TaskChange(task, known[marks], before=before, after=after, is_new=is_new, is_removed=is_removed)
            self.tick()

    def _compared(self, before: Sequence[ConfigLayer], after: Sequence[ConfigLayer]) -> Iterator[KeyChange]:
        old, new = (LayeredConfig(layers, spark_definition()) for layers in (before, after))
        for key in sorted(old.settled.keys() | new.settled.keys()):
            if self._differs(key, old, new):
                yield KeyChange(key, _entry(old, key), _entry(new, key))

    def _differs(self, key: str, old: LayeredConfig, new: LayeredConfig) -> bool:
        texts = old.settled.get(key), new.settled.get(key)
        if None in texts or HIDDEN not in texts:
            return texts[0] != texts[1]
        if key in self.sealed and key in new.secrets:
            return True
        return not (_is_hidden(old, key) and _is_hidden(new, key))


def _is_hidden(config: LayeredConfig, key: str) -> bool:
    """Return whether the value of a key is a plaintext secret, which can be known only as ``[hidden]``."""
    return config.describe(key).value is None or config.settled[key] == HIDDEN


def _entry(config: LayeredConfig, key: str) -> ConfigEntry | None:
    return config.describe(key) if key in config.settled else None


def mark(layers: Sequence[ConfigLayer]) -> Hashable:
    """Return what is equal for equal layers."""
    return tuple(
        (layer.source, layer.name, tuple(layer.configs.items()), tuple(layer.origins.items())) for layer in layers
    )
