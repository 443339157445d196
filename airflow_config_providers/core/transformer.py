"""Replace references by values (KIP-297)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import Final, Unpack

from airflow_config_providers.core.cached import cached_property
from airflow_config_providers.core.keys import require_texts
from airflow_config_providers.core.lookup import ONCE, Answers, FetchKeywords, FetchOptions, Lookup, Place
from airflow_config_providers.core.provider import ConfigProvider
from airflow_config_providers.core.variable import ConfigVariable, Spans, scan
from airflow_config_providers.exceptions import LimitExceededError

Configs = Mapping[str, str | None]


@dataclass(frozen=True)
class ConfigTransformerResult:
    """
    A configuration after transformation.

    :param data: key -> value; a reference without an answer stays in it unchanged
    :param ttls: (provider, path) -> milliseconds
    """

    data: Mapping[str, str | None] = field(repr=False)
    ttls: Mapping[Place, int]
    _scanned: Mapping[str, tuple[str, Spans]] = field(repr=False)
    _wanted: Mapping[Place, Set[str]] = field(repr=False)
    _answers: Answers = field(repr=False)

    @cached_property
    def unresolved(self) -> Mapping[str, list[ConfigVariable]]:
        """Config key -> the references in its value without an answer, for keys that have any."""
        if all(keys <= self._answers.data.get(place, {}).keys() for place, keys in self._wanted.items()):
            return {}
        missing = {
            name: (text, [span for span in spans if self._answers.value(*span[2:]) is None])
            for name, (text, spans) in self._scanned.items()
        }
        return {name: list(_variables(text, spans)) for name, (text, spans) in missing.items() if spans}

    @cached_property
    def used(self) -> Mapping[ConfigVariable, str]:
        """Return reference -> value, for every reference that was answered."""
        return {
            variable: value
            for text, spans in self._scanned.values()
            for variable in _variables(text, spans)
            if (value := self._answers.value(variable.provider, variable.path, variable.key)) is not None
        }

    def names(self, places: Collection[Place]) -> list[str]:
        """Return the config keys whose values refer to any of ``places``, in their order."""
        return [
            name
            for name, (_, spans) in self._scanned.items()
            if any((provider, path) in places for _, _, provider, path, _ in spans)
        ]

    def references(self, name: str, places: Collection[Place]) -> list[str]:
        """Return the references to any of ``places`` in the value of a config key, in order and without duplicates."""
        text, spans = self._scanned[name]
        found = [text[start:end] for start, end, provider, path, _ in spans if (provider, path) in places]
        return list(dict.fromkeys(found))

    def answered(self, place: Place) -> Collection[str]:
        """Return the keys that were asked for at ``place`` and answered."""
        return self._wanted[place] & self._answers.data.get(place, {}).keys()

    @property
    def absences(self) -> Mapping[Place, str]:
        """(provider, path) -> why there is nothing, if the provider gave a reason."""
        return self._answers.absences

    @property
    def denials(self) -> Mapping[Place, Mapping[str, str]]:
        """(provider, path) -> key -> why the provider refuses to return it."""
        return self._answers.denials

    @property
    def failures(self) -> Mapping[Place, Exception]:
        """(provider, path) -> why there is no answer, for all that ``attempt`` asked for; otherwise empty."""
        return self._answers.failures


@dataclass(frozen=True, slots=True)
class Limits:
    """
    Limits on one transformation, far above what a job needs and far below what a machine can take.

    :param references: references in all values together
    :param paths: distinct (provider, path) pairs, which is the number of requests
    :param characters: characters of all values together, after resolution
    """

    references: int = 100_000
    paths: int = 10_000
    characters: int = 64 * 1024 * 1024

    def check(self, name: str, count: int) -> None:
        """Raise ``LimitExceededError`` if ``count`` exceeds the limit ``name``."""
        allowed = getattr(self, name)
        if count > allowed:
            raise LimitExceededError(
                f"The configuration has {count} {name}, and {allowed} are allowed. Split the job, or raise the limit."
            )


DEFAULT_LIMITS: Final = Limits()


class ConfigTransformer:
    """
    Replaces the references in the values of a configuration, one level deep.

    Each provider is asked once for each path, with all the keys wanted there, and paths are read in
    parallel. A value is never searched for references again. If the provider is unknown or the key is missing,
    the reference stays unchanged. Safe to use from several threads.

    :param config_providers: name -> configured provider; the caller closes them
    :param limits: limits on what one configuration can ask for
    :param options: how providers are asked; ``changes`` are options that differ
    """

    def __init__(
        self,
        config_providers: Mapping[str, ConfigProvider],
        limits: Limits = DEFAULT_LIMITS,
        options: FetchOptions = ONCE,
        **changes: Unpack[FetchKeywords],
    ) -> None:
        self._lookup = Lookup(config_providers, options, **changes)
        self._limits = limits

    def transform(self, configs: Configs) -> ConfigTransformerResult:
        """
        Replace the references in ``configs``: key -> string, or None, which stays None.

        :raises ConfigException: a key is not a string, or a value neither a string nor None; names each
        :raises LimitExceededError: the configuration exceeds a limit
        :raises Exception: whatever a provider raised
        """
        (result,) = self.attempt(configs)
        for failure in result.failures.values():
            raise failure
        return result

    def attempt(self, *groups: Configs) -> tuple[ConfigTransformerResult, ...]:
        """
        Do the same as ``transform`` for several mappings in the same requests, but return the failures of providers.

        :return: the result for each of ``groups``; what the providers answered is the same in all of them
        """
        for configs in groups:
            require_texts(configs, is_none_allowed=True)
        scanned = [_scanned(configs) for configs in groups]
        wanted = _wanted(spans for found in scanned for _, spans in found.values())
        self._limits.check("paths", len(wanted))
        self._limits.check("references", sum(map(len, wanted.values())))
        answers = self._lookup.fetch(wanted)
        characters = 0
        results: list[ConfigTransformerResult] = []
        for configs, found in zip(groups, scanned, strict=True):
            data = dict(configs)
            for name, (text, spans) in found.items():
                value = data[name] = _substitute(text, spans, answers.data)
                characters += len(value)
                if characters > self._limits.characters:
                    self._limits.check("characters", characters)
            results.append(ConfigTransformerResult(data, answers.ttls, found, wanted, answers))
        return tuple(results)


def _scanned(configs: Configs) -> dict[str, tuple[str, Spans]]:
    """Return key -> string and its references, for each string that has any."""
    return {name: (text, spans) for name, text in configs.items() if text and "${" in text and (spans := scan(text))}


def _wanted(found: Iterable[Spans]) -> dict[Place, set[str]]:
    wanted: dict[Place, set[str]] = {}
    for spans in found:
        for _, _, provider, path, key in spans:
            keys = wanted.get((provider, path))
            if keys is None:
                wanted[provider, path] = {key}
            else:
                keys.add(key)
    return wanted


def _substitute(text: str, spans: Spans, answered: Mapping[Place, Mapping[str, str]]) -> str:
    start, end, provider, path, key = spans[0]
    if end - start == len(text):  # the whole string is one reference, as most are
        return answered.get((provider, path), {}).get(key, text)
    pieces: list[str] = []
    position = 0
    for start, end, provider, path, key in spans:
        values = answered.get((provider, path))
        value = values.get(key) if values else None
        if value is not None:
            pieces += text[position:start], value
            position = end
    pieces.append(text[position:])
    return "".join(pieces)


def _variables(text: str, spans: Spans) -> Iterable[ConfigVariable]:
    return (ConfigVariable(provider, path, key, text[start:end]) for start, end, provider, path, key in spans)
