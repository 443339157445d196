"""A policy that requires references instead of secrets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from airflow_config_providers.core.data import HIDDEN
from airflow_config_providers.core.policy import AlterConfigPolicy, RequestMetadata
from airflow_config_providers.core.sensitive import shows_secret, sounds_secret
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import ConfigVariable, parse, scan
from airflow_config_providers.dynamic.policies.params import Params
from airflow_config_providers.dynamic.policies.patterns import Patterns
from airflow_config_providers.exceptions import PolicyViolation


class ReferencesOnly(AlterConfigPolicy):
    """
    Denies plain-text secrets, including those that would be encrypted.

    Parameters: ``keys``, a list of patterns, without regard to case, of keys that may only have references; by default,
    keys with sensitive names. ``except``, a list of keys that may have anything. Under any other key, a value that the
    definition treats as secret is denied, too, and so is one with a password in a URL or in a setting such as
    ``password=`` or ``"password":``, unless that is a reference.
    """

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Read the parameters ``keys`` and ``except``."""
        params = Params(configs)
        keys, excluded = params.texts_if_given("keys"), params.texts("except", ())
        params.finish()
        self._keys = None if keys is None else Patterns(key.lower() for key in keys)
        self._excluded = Patterns(key.lower() for key in excluded)

    def validate(self, request: RequestMetadata) -> None:
        """Refuse each plain-text secret."""
        if problems := [
            f"'{printable(key)}' {problem}"
            for key, text in sorted(request.configs_after.items())
            if (problem := self._problem(key, text))
        ]:
            raise PolicyViolation(*problems)

    def _problem(self, key: str, text: str) -> str | None:
        is_excluded = self._excluded.matches(key.lower())
        if text == HIDDEN or (self._is_bound(key) and not is_excluded):
            if not _is_references(text):
                return "may contain only references. Write one, such as ${vault:path:key}."
        elif not is_excluded and shows_secret(_without_references(text)):
            return "contains a plain-text secret. Write a reference instead, such as ${vault:path:key}."
        return None

    def _is_bound(self, key: str) -> bool:
        return sounds_secret(key) if self._keys is None else self._keys.matches(key.lower())


def _is_references(text: str) -> bool:
    """Return whether ``text`` consists only of references, of which there is at least one."""
    return bool(scan(text)) and not _without_references(text)


def _without_references(text: str) -> str:
    """Return ``text`` without references. ``;`` replaces one before a space, so that what follows is separate."""
    return "".join(_rest(parse(text)))


def _rest(parts: Sequence[str | ConfigVariable]) -> Iterator[str]:
    for part, following in zip(parts, [*parts[1:], ""], strict=True):
        if isinstance(part, str):
            yield part
        elif isinstance(following, str) and following[:1].isspace():
            yield ";"
