"""Layers of precedence, the values of each key in them (KIP-226), and the lines of ``effective_config``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import IntEnum
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from airflow_config_providers.core.keys import key_problems, require_texts, spellings, text_problem
from airflow_config_providers.core.resource import EVERYWHERE, ResourceType
from airflow_config_providers.core.sensitive import HIDDEN
from airflow_config_providers.core.text import nearest, one_line, printable
from airflow_config_providers.core.variable import beside_references, scan
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.lazy import cached_property

if TYPE_CHECKING:
    from airflow_config_providers.core.definition.config_def import ConfigDef, ConfigKey

_SIGNS_IN_LINE: Final = ("   # ", "; beats ")


class ConfigSource(IntEnum):
    """Where a value comes from. The highest number wins."""

    RUN_CONFIG = 8
    DYNAMIC_TASK_CONFIG = 7
    DYNAMIC_DAG_CONFIG = 6
    DYNAMIC_DEFAULT_CONFIG = 5
    ENVIRONMENT_CONFIG = 4
    DAG_CONFIG = 3
    STATIC_FILE_CONFIG = 2
    DEFAULT_CONFIG = 1

    @property
    def is_steered(self) -> bool:
        """Whether people other than the DAG's author and the owner of the deployment can write it."""
        return self >= ConfigSource.DYNAMIC_DEFAULT_CONFIG

    @property
    def is_stored(self) -> bool:
        """Whether it is dynamic configuration, of which each change was checked before it was stored."""
        return self.is_steered and self is not ConfigSource.RUN_CONFIG


@dataclass(frozen=True, slots=True)
class ConfigLayer:
    """
    One source of configuration.

    :param source: its rank
    :param name: its name for people, such as the name of a file
    :param configs: key -> string, which can contain references
    :param origins: key -> where exactly it was written, such as ``base.properties:12``; by default ``name``
    :param secrets: key -> function that decrypts the secret shown as ``[hidden]`` in ``configs``; called if the key
        wins and a job gets the value, never to show it
    :raises ConfigException: a key or a value is not a string; names each
    """

    source: ConfigSource
    name: str
    configs: Mapping[str, str] = field(repr=False)
    origins: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: Mapping[str, Callable[[], str]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        require_texts(self.configs, where=f"{printable(self.name)}: ")

    def origin(self, key: str) -> str:
        """Return where ``key`` was written."""
        return self.origins.get(key, self.name)


@dataclass(frozen=True, slots=True)
class ConfigSynonym:
    """
    A value that a key has in one layer.

    :param value: the string with its references; None for a plaintext secret
    :param origin: where it was written
    """

    name: str
    value: str | None = field(repr=False)
    source: ConfigSource
    origin: str


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """
    A key and its value, safe to show to people (KIP-226).

    :param value: the winning string with its references; None for a plaintext secret
    :param source: the layer that won
    :param is_sensitive: whether the definition declares the key as a secret
    :param synonyms: the winner first, then the values that it beat, in order of precedence; each has the name under
        which it was written, which can be an older one
    :param type: the name of the key's type; None if the definition does not have the key
    :param origin: where the winning string was written
    :param alterable_at: kinds of resource whose dynamic configuration can set the key; none if it is read-only
    """

    name: str
    value: str | None = field(repr=False)
    source: ConfigSource
    is_sensitive: bool
    is_read_only: bool
    synonyms: tuple[ConfigSynonym, ...]
    type: str | None = None
    documentation: str = ""
    origin: str = ""
    alterable_at: tuple[ResourceType, ...] = EVERYWHERE


def layer_problems(layer: ConfigLayer) -> list[ConfigException]:
    """Return the errors for the keys and values of ``layer`` that are not allowed."""
    problems = key_problems(layer.configs, lambda key: f"in {layer.origin(key)}", is_stored=layer.source.is_stored)
    if not "".join(layer.configs.values()).isascii():
        for key, text in layer.configs.items():
            if problem := text_problem(text, f"'{printable(key)}' in {layer.origin(key)}"):
                problems.append(problem)
    return problems


class _Undefined:
    """
    Answers like a ``ConfigDef`` without keys, which most processes that settle layers need not import.

    Our secrets backend must not import it at an answer: a child that is forked meanwhile would wait for it for ever.
    """

    config_keys: Final[Mapping[str, ConfigKey]] = MappingProxyType({})
    older_names: Final[Mapping[str, str]] = MappingProxyType({})

    def default_texts(self) -> Mapping[str, str]:
        return {}

    def default_text(self, name: str) -> None:
        return None

    def is_sensitive(self, name: str) -> bool:
        return False

    def is_secret(self, name: str, text: str) -> bool:
        return False

    def alterable_at(self, name: str) -> tuple[ResourceType, ...]:
        return EVERYWHERE


UNDEFINED: Final = _Undefined()


class LayeredConfig:
    """
    Settles, for each key, which layer wins. Fetches nothing.

    Of two layers with the same source, the later one in ``layers`` wins. If several names of the same configuration are
    set, the one in the strongest layer wins, and within a layer the current one: the others are left out. The cost is
    that of merging the mappings; entries and synonyms are created on request, each once.

    :param definition: defaults, which rank below every layer, types, older names, and which keys are sensitive
    """

    def __init__(self, layers: Sequence[ConfigLayer], definition: ConfigDef | None = None) -> None:
        self._layers = sorted(layers, key=attrgetter("source"))[::-1]  # strongest first
        self.definition = definition or UNDEFINED
        self._described: dict[str, ConfigEntry] = {}

    @cached_property
    def settled(self) -> MappingProxyType[str, str]:
        """Key -> winning string with its references, for each key that a layer sets; without defaults."""
        merged: dict[str, str] = {}
        for layer in reversed(self._layers):
            if layer.source is not ConfigSource.DEFAULT_CONFIG:
                merged.update(layer.configs)
        for name in merged.keys() & self._beaten:
            del merged[name]
        return MappingProxyType(merged)

    @cached_property
    def secrets(self) -> Mapping[str, Callable[[], str]]:
        """Key -> function that decrypts the secret that won, for each key whose winner is an encrypted secret."""
        keys = dict.fromkeys(key for layer in self._layers for key in layer.secrets)
        won = ((key, self.winner(key)) for key in keys if key not in self._beaten)
        return {key: layer.secrets[key] for key, layer in won if layer and key in layer.secrets}

    @cached_property
    def _spellings(self) -> Mapping[str, tuple[str, ...]]:
        """Name -> all names of its configuration, if a layer sets it under an older one."""
        if not (older := self.definition.older_names):
            return {}
        return spellings({name for layer in self._layers for name in older.keys() & layer.configs.keys()}, older)

    @cached_property
    def _beaten(self) -> frozenset[str]:
        """Names whose configurations win under another one."""
        return frozenset({name for name in self._spellings if self.describe(name).synonyms[0].name != name})

    @cached_property
    def _defaults(self) -> Mapping[str, str]:
        return self.definition.default_texts()

    def is_secret(self, key: str, text: str) -> bool:
        """
        Return whether ``text`` under ``key`` is a plaintext secret, and not a reference to one, or has one in it.

        An empty string is none, whatever its key.
        """
        if "${" in text and scan(text):
            return self.definition.is_secret("", beside_references(text))
        return bool(text) and self.definition.is_secret(key, text)

    def entries(self, *, defaults: bool = True) -> Mapping[str, ConfigEntry]:
        """
        Return every key that has a value, in a layer or by default, with its entry.

        A key that has several names is listed once, under the name that won. Its other names find the same value.

        :param defaults: whether to include keys that have only their default
        """
        if not defaults:
            return _Entries(self, dict.fromkeys(self.settled), self._beaten)
        of_layers = (key for layer in self._layers for key in layer.configs)
        names = dict.fromkeys([*self.settled, *of_layers, *self._defaults])
        return _Entries(self, {name: None for name in names if name not in self._beaten}, self._beaten)

    def describe(self, key: str) -> ConfigEntry:
        """
        Return the entry of ``key``.

        :raises ConfigException: the key has no value in a layer, and no default
        """
        entry = self._described.get(key)
        return entry or self._described.setdefault(key, self._entry(key))

    def _entry(self, key: str) -> ConfigEntry:
        synonyms = self._synonyms(key)
        if not synonyms:
            hint = nearest(key, self.entries())
            raise ConfigException(f"Unknown configuration '{printable(key)}'{hint or '. No layer sets it.'}")
        defined = self.definition.config_keys.get(key)
        alterable_at = self.definition.alterable_at(key)
        return ConfigEntry(
            name=key,
            value=synonyms[0].value,
            source=synonyms[0].source,
            is_sensitive=self.definition.is_sensitive(key),
            is_read_only=not alterable_at,
            synonyms=synonyms,
            type=defined.type_name or defined.type.name if defined else None,
            documentation=defined.doc if defined else "",
            origin=synonyms[0].origin,
            alterable_at=alterable_at,
        )

    def shown(self) -> dict[str, str]:
        """Return key -> string for each key that a layer sets, with ``[hidden]`` for a plaintext secret."""
        return {key: _shown(self.describe(key)) for key in self.settled}

    def lines(self) -> list[str]:
        """
        Return ``key = text   # LAYER, origin; beats LAYER origin = text`` for each key that a layer sets, sorted.

        References are shown, never their values; a plaintext secret is hidden. Beaten defaults are left out: Airflow
        truncates long fields, and every key in the definition has a default.
        """
        return [_line(self.describe(key)) for key in sorted(self.settled)]

    def _synonyms(self, key: str) -> tuple[ConfigSynonym, ...]:
        names = self._spellings.get(key, (key,))
        found = []
        for layer in self._layers:
            for name in names:
                if (text := layer.configs.get(name)) is not None:
                    shown = None if name in layer.secrets or self.is_secret(name, text) else text
                    found.append(ConfigSynonym(name, shown, layer.source, layer.origin(name)))
        if (default := self.definition.default_text(names[0])) is not None:
            shown = None if self.is_secret(names[0], default) else default
            found.append(ConfigSynonym(names[0], shown, ConfigSource.DEFAULT_CONFIG, "default"))
        return tuple(found)

    def winner(self, key: str) -> ConfigLayer | None:
        """Return the layer of the value of ``key``; None if no layer sets it."""
        return next((layer for layer in self._layers if key in layer.configs), None)

    def source(self, key: str) -> ConfigSource:
        """Return the source of the value of ``key``; that of a default if no layer sets it."""
        layer = self.winner(key)
        return ConfigSource.DEFAULT_CONFIG if layer is None else layer.source

    def origin(self, key: str) -> str:
        """Return the layer of the value of ``key`` and where it was written, or ``default``."""
        layer = self.winner(key)
        return "default" if layer is None else f"{layer.source.name}, {layer.origin(key)}"

    def place(self, key: str) -> str:
        """Return ``key`` with the place where its value was written, for a message."""
        return f"{printable(key)} ({self.describe(key).origin})"


class _Entries(Mapping[str, ConfigEntry]):
    """
    The entries of a configuration, each created on request.

    :param others: names that are not listed, because their configurations are listed under another one
    """

    def __init__(self, config: LayeredConfig, names: Mapping[str, None], others: Set[str]) -> None:
        self._config = config
        self._names = names
        self._others = others

    def __getitem__(self, key: str) -> ConfigEntry:
        if key not in self._names and key not in self._others:
            raise KeyError(key)
        return self._config.describe(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _line(entry: ConfigEntry) -> str:
    line = f"{one_line(entry.name)} = {_text_in_line(entry)}   # {entry.source.name}, {one_line(entry.origin)}"
    for beaten in entry.synonyms[1:]:
        if beaten.source is not ConfigSource.DEFAULT_CONFIG:
            name = "" if beaten.name == entry.name else f" {one_line(beaten.name)}"
            line += f"; beats {beaten.source.name} {one_line(beaten.origin)}{name} = {_text_in_line(beaten)}"
    return line


def _text_in_line(item: ConfigEntry | ConfigSynonym) -> str:
    """Return the text for a line; one that could be taken for a part of the line, or for a quoted text, is quoted."""
    text = _shown(item)
    if text == text.strip(" ") and '"' not in {text[:1], text[-1:]} and not any(map(text.__contains__, _SIGNS_IN_LINE)):
        return one_line(text)
    import json  # noqa: PLC0415 - few values are odd

    return one_line(json.dumps(text, ensure_ascii=False))


def _shown(item: ConfigEntry | ConfigSynonym) -> str:
    return HIDDEN if item.value is None else item.value
