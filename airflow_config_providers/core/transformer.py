"""Replace references by values (KIP-297)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from airflow_config_providers.core.errors import clearing_frames
from airflow_config_providers.core.keys import require_texts
from airflow_config_providers.core.lookup import ONCE, Answers, FetchOptions, Lookup, Place
from airflow_config_providers.core.provider import ConfigProvider
from airflow_config_providers.core.text import grouped
from airflow_config_providers.core.variable import ConfigVariable, Spans, scan
from airflow_config_providers.exceptions import LimitExceededError
from airflow_config_providers.lazy import cached_property

Configs = Mapping[str, str | None]

_NONE: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True)
class ConfigTransformerResult:
    """
    A configuration after transformation.

    :param data: key -> value; a reference without an answer stays in it unchanged
    :param ttls: (provider, path) -> milliseconds
    :param answers: the answers of the providers, with failures only from ``attempt``
    """

    data: Mapping[str, str | None] = field(repr=False)
    ttls: Mapping[Place, int]
    answers: Answers = field(repr=False)
    _texts: Mapping[str, str | None] = field(repr=False)
    _spans: Mapping[str, Spans] = field(repr=False)
    _wanted: Mapping[Place, Set[str]] = field(repr=False)

    @cached_property
    def unresolved(self) -> Mapping[str, list[ConfigVariable]]:
        """Config key -> the references in its value without an answer, for keys that have any."""
        data = self.answers.data
        if all(keys <= data.get(place, _NONE).keys() for place, keys in self._wanted.items()):  # faster than each
            return {}
        return grouped((name, variable) for name, variable, value in self._found() if value is None)

    @cached_property
    def used(self) -> Mapping[ConfigVariable, str]:
        """Return reference -> value, for every reference that was answered."""
        return {variable: value for _, variable, value in self._found() if value is not None}

    def _found(self) -> Iterator[tuple[str, ConfigVariable, str | None]]:
        """Yield each reference with the config key whose value has it, and its own value; None without an answer."""
        for name, spans in self._spans.items():
            text = self._texts[name] or ""
            for start, end, provider, path, key in spans:
                value = self.answers.value(provider, path, key)
                yield name, ConfigVariable(provider, path, key, text[start:end]), value

    def failed(self) -> Iterator[tuple[str, list[Place]]]:
        """Yield each config key, in their order, with the places that its value refers to and that have no answer."""
        failures = self.answers.failures
        for name, spans in self._spans.items():
            yield name, [place for place in dict.fromkeys(span[2:4] for span in spans) if place in failures]

    def references(self, name: str, places: Collection[Place]) -> list[str]:
        """Return the references to any of ``places`` in the value of a config key, in order and without duplicates."""
        text = self._texts[name] or ""
        found = [text[span[0] : span[1]] for span in self._spans[name] if span[2:4] in places]
        return list(dict.fromkeys(found))

    def answered(self, place: Place) -> Set[str]:
        """Return the keys that were asked for at ``place`` and answered."""
        return self._wanted[place] & self.answers.data.get(place, {}).keys()


@dataclass(frozen=True, slots=True)
class Limits:
    """
    Limits on one transformation, far above what a job needs and far below what a machine can take.

    :param references: distinct references in all values together
    :param paths: distinct (provider, path) pairs, which is the number of requests
    :param characters: characters of all values with references together, after resolution
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
    :param options: how providers are asked
    """

    def __init__(
        self,
        config_providers: Mapping[str, ConfigProvider],
        limits: Limits = DEFAULT_LIMITS,
        options: FetchOptions = ONCE,
    ) -> None:
        self._lookup = Lookup(config_providers, options)
        self._limits = limits

    @clearing_frames
    def transform(self, configs: Configs) -> ConfigTransformerResult:
        """
        Replace the references in ``configs``: key -> string, or None, which stays None.

        :raises ConfigException: a key is not a string, or a value neither a string nor None; names each
        :raises LimitExceededError: the configuration exceeds a limit
        :raises Exception: whatever a provider raised
        """
        require_texts(configs, is_none_allowed=True)
        (result,) = self.attempt(configs)
        for failure in result.answers.failures.values():
            raise failure
        return result

    @clearing_frames
    def attempt(self, *groups: Configs) -> tuple[ConfigTransformerResult, ...]:
        """
        Do the same as ``transform`` for several mappings in the same requests, but return the failures of providers.

        :param groups: mappings whose types were checked
        :return: the result for each of ``groups``; what the providers answered is the same in all of them
        """
        written = [dict(configs) for configs in groups]
        scanned = [
            {name: spans for name, text in texts.items() if text and "${" in text and (spans := scan(text))}
            for texts in written
        ]
        wanted = _wanted(scanned)
        self._limits.check("paths", len(wanted))
        self._limits.check("references", sum(map(len, wanted.values())))
        answers = self._lookup.fetch(wanted)
        answered, most, characters = answers.data, self._limits.characters, 0
        results: list[ConfigTransformerResult] = []
        for texts, found in zip(written, scanned, strict=True):
            data = dict(texts)
            for name, spans in found.items():
                value = data[name] = self._substitute(texts[name] or "", spans, answered)
                characters += len(value)
                if characters > most:
                    self._limits.check("characters", characters)
            results.append(ConfigTransformerResult(data, answers.ttls, answers, texts, found, wanted))
        return tuple(results)

    def _substitute(self, text: str, spans: Spans, answered: Mapping[Place, Mapping[str, str]]) -> str:
        if len(spans) == 1:  # as in most strings
            ((start, end, provider, path, key),) = spans
            value = answered.get((provider, path), _NONE).get(key)
            return text if value is None else f"{text[:start]}{value}{text[end:]}"
        pieces: list[str] = []
        position = 0
        for start, end, provider, path, key in spans:
            value = answered.get((provider, path), _NONE).get(key)
            if value is not None:
                pieces += text[position:start], value
                position = end
        pieces.append(text[position:])
        self._limits.check("characters", sum(map(len, pieces)))  # one long value can be referred to often
        return "".join(pieces)


def _wanted(scanned: Iterable[Mapping[str, Spans]]) -> dict[Place, set[str]]:
    """Return (provider, path) -> keys."""
    wanted = defaultdict[Place, set[str]](set)
    for found in scanned:
        for spans in found.values():
            for _, _, provider, path, key in spans:
                wanted[provider, path].add(key)
    return dict(wanted)
