"""A configuration with a definition, whose references are resolved (KIP-421)."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import Any

from airflow_config_providers.core.definition.config_def import ConfigDef
from airflow_config_providers.core.definition.config_type import convert_to_string
from airflow_config_providers.core.errors import clearing_frames
from airflow_config_providers.core.registry import ProviderRegistry
from airflow_config_providers.core.sensitive import HIDDEN, Password
from airflow_config_providers.core.text import nearest, printable
from airflow_config_providers.core.transformer import ConfigTransformer
from airflow_config_providers.core.variable import ConfigVariable, variables
from airflow_config_providers.exceptions import ConfigException, refuse

log = logging.getLogger(__name__)


class RecordingMap(dict[str, Any]):
    """
    A mapping of configurations that records which ones are read with ``[]`` or ``get``.

    Copying or iterating it records nothing. Its string form shows only the keys.

    :param used: the set to which names are added
    :param prefix: the prefix that was removed from the names of the configuration
    :param also_without_prefix: record the name without the prefix, too
    """

    def __init__(
        self, configs: Mapping[str, Any], used: set[str], *, prefix: str = "", also_without_prefix: bool = False
    ) -> None:
        super().__init__(configs)
        self._used = used
        self._prefix = prefix
        self._also_without_prefix = also_without_prefix

    def __getitem__(self, key: str) -> Any:
        self._note(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of ``key``, or ``default``, and record the key as used."""
        self._note(key)
        return super().get(key, default)

    def _note(self, key: str) -> None:
        self._used.add(self._prefix + key)
        if self._also_without_prefix:
            self._used.add(key)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {', '.join(map(printable, self))}>"


class AbstractConfig:
    """
    The parsed values of a configuration whose references are resolved first.

    Providers are defined by ``config.providers`` in ``config_provider_props`` or, if that is empty, in ``originals``.
    They are opened, asked and closed here, even after a failure. A reference without an answer stays unchanged.
    Defaults are not resolved. The string form shows no values.

    :param originals: key -> value; only strings are searched for references
    :param do_log: log the values at INFO, with references instead of resolved values
    :param registry: creates the providers; by default, one with every installed provider
    :raises ConfigException: values do not match the definition; all problems in one error
    :raises ProviderDefinitionError: a provider cannot be created
    :raises ProviderLookupError: a provider returned no answer
    """

    @clearing_frames
    def __init__(
        self,
        definition: ConfigDef,
        originals: Mapping[str, Any],
        config_provider_props: Mapping[str, Any] | None = None,
        do_log: bool = True,
        *,
        registry: ProviderRegistry | None = None,
    ) -> None:
        odd = (name for name in originals if not isinstance(name, str))
        refuse(ConfigException, (f"The key {printable(repr(name))} is not a string. Write it as one." for name in odd))
        self._definition = definition
        self._used: set[str] = set()
        self._values: Mapping[str, Any] = {}
        self._originals, answered = _resolve(originals, config_provider_props or originals, registry)
        parsed = self._values = definition.parse(self._originals)
        changes = self.post_process_parsed_config(dict(parsed))
        if changes:
            self._values = {**changes, **definition.parse({**parsed, **changes})}
        if do_log:
            shown = {name: self._shown(name, originals.get(name), answered) for name in parsed.keys() - changes.keys()}
            log.info(_listing(type(self).__name__, {**shown, **dict.fromkeys(changes, HIDDEN)}))

    def post_process_parsed_config(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return values that are added to the parsed ones or replace them; for subclasses. They are checked again."""
        return {}

    def get(self, key: str) -> Any:
        """
        Return the parsed value of ``key`` and record it as used.

        :raises ConfigException: it is not defined
        """
        if key not in self._values:
            hint = nearest(key, self._values)
            raise ConfigException(f"Unknown configuration '{printable(key)}'{hint or '. The definition lacks it.'}")
        self._used.add(key)
        return self._values[key]

    @clearing_frames
    def get_password(self, key: str) -> Password | None:
        """
        Return the value of the PASSWORD ``key``.

        :raises ConfigException: it is not defined, or has another type
        """
        value = self.get(key)
        if value is None or isinstance(value, Password):
            return value
        raise ConfigException(f"Configuration {printable(key)} is not a PASSWORD. Read it with get.")

    def ignore(self, key: str) -> None:
        """Record ``key`` as used."""
        self._used.add(key)

    def unused(self) -> set[str]:
        """Return the keys of the originals that have not been read."""
        return set(self._originals) - self._used

    def originals(self) -> RecordingMap:
        """Return the original configuration with references resolved; reading from it is recorded as use."""
        return RecordingMap(self._originals, self._used)

    def originals_strings(self) -> RecordingMap:
        """
        Return the originals, if all of them are strings.

        :raises ConfigException: values are not strings; names each of their keys
        """
        odd = (key for key, value in self._originals.items() if not isinstance(value, str))
        refuse(ConfigException, (f"The value of {printable(key)} is not a string. Write it as one." for key in odd))
        return self.originals()

    def originals_with_prefix(self, prefix: str, strip: bool = True) -> RecordingMap:
        """Return the originals whose keys start with ``prefix`` and are longer; ``strip`` removes the prefix."""
        found = self._below(prefix)
        if strip:
            return RecordingMap(found, self._used, prefix=prefix)
        return RecordingMap({prefix + key: value for key, value in found.items()}, self._used)

    def values(self) -> RecordingMap:
        """Return the parsed values by key; reading from it is recorded as use."""
        return RecordingMap(self._values, self._used)

    @clearing_frames
    def values_with_prefix_override(self, prefix: str) -> RecordingMap:
        """
        Return all parsed values, each ``key`` overridden by ``<prefix>key`` if that is set.

        ``<prefix><part>.key`` is also parsed as ``key``, and returned under ``<part>.key``.

        :raises ConfigException: overriding values are invalid
        """
        found = self._below(prefix)
        defined = {key: name for key in found if (name := self._defined_as(key)) is not None}
        overrides = self._parse({key: found[key] for key in defined}, defined)
        return RecordingMap({**self._values, **overrides}, self._used, prefix=prefix, also_without_prefix=True)

    @clearing_frames
    def values_with_prefix_all_or_nothing(self, prefix: str) -> RecordingMap:
        """
        Return the parsed values of the defined keys with ``prefix``, without it; if no key has it, all values.

        :raises ConfigException: values are invalid
        """
        found = self._below(prefix)
        if not found:
            return RecordingMap(self._values, self._used)
        known = {key: key for key in found if key in self._definition.config_keys}
        return RecordingMap(self._parse(found, known), self._used, prefix=prefix, also_without_prefix=True)

    def _below(self, prefix: str) -> dict[str, Any]:
        return {
            key.removeprefix(prefix): value
            for key, value in self._originals.items()
            if key.startswith(prefix) and key != prefix
        }

    def _defined_as(self, key: str) -> str | None:
        """Return the defined name of ``key`` or ``<part>.key``."""
        names = (key, key.partition(".")[2]) if "." in key else (key,)
        return next((name for name in names if name in self._definition.config_keys), None)

    def _parse(self, configs: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
        """Parse the ``configs`` in ``names``, each as the configuration that ``names`` maps it to."""
        keys = self._definition.config_keys
        checked = {key: keys[name].check(configs[key]) for key, name in names.items()}
        refuse(ConfigException, [problem for _, found in checked.values() for problem in found])
        return {key: value for key, (value, _) in checked.items()}

    def _shown(self, name: str, original: object, answered: Collection[ConfigVariable]) -> str:
        """Return what the log shows for ``name``: the original if it contains a reference, otherwise the value."""
        references = variables(original) if isinstance(original, str) else ()
        if references and not (self._definition.is_sensitive(name) and _has_more(str(original), references, answered)):
            return str(original)
        return str(convert_to_string(self._values[name], self._definition.config_keys[name].type))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self._values)} configurations>"


def _resolve(
    originals: Mapping[str, Any], provider_props: Mapping[str, Any], registry: ProviderRegistry | None
) -> tuple[dict[str, Any], Collection[ConfigVariable]]:
    """Return ``originals`` with references replaced, and the references that were replaced."""
    with (registry or ProviderRegistry()).open(provider_props) as providers:
        texts = {name: value for name, value in originals.items() if isinstance(value, str)}
        result = ConfigTransformer(providers).transform(texts)
    return {**originals, **result.data}, result.used.keys()


def _has_more(text: str, references: Collection[ConfigVariable], answered: Collection[ConfigVariable]) -> bool:
    """Return whether ``text`` has anything other than ``references`` that were answered."""
    return "".join(map(str, references)) != text or not all(reference in answered for reference in references)


def _listing(title: str, shown: Mapping[str, str]) -> str:
    lines = [f"\t{printable(name)} = {printable(text)}" for name, text in sorted(shown.items())]
    return "\n".join([f"{title} values:", *lines])
