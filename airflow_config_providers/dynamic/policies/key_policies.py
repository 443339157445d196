"""Ready policies on keys that are forbidden, required or immutable."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from airflow_config_providers.core.policy import AlterConfigPolicy, Moment, RequestMetadata
from airflow_config_providers.core.text import printable
from airflow_config_providers.dynamic.policies.java_options import all_settings, unreadable
from airflow_config_providers.dynamic.policies.key_names import Patterns, names_of
from airflow_config_providers.dynamic.policies.params import Params
from airflow_config_providers.exceptions import PolicyViolation

_NAME: Final = r"\$\{([^${}]*)"
_NESTED: Final = r"\$\{[^}]*\$\{"
"""In a value: the name of what Spark or Hadoop puts in its place, and a name with another one inside."""


class ForbiddenKeys(AlterConfigPolicy):
    """
    Denies a configuration that has one of ``keys``.

    Parameters: ``keys``, a list of keys or patterns; ``except``, a list of those that are allowed anyway.
    """

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Read the parameters ``keys`` and ``except``."""
        params = Params(configs)
        self._keys = Patterns(params.texts("keys"), excluded=params.texts("except", ()))
        params.finish()

    def validate(self, request: RequestMetadata) -> None:
        """Refuse each such key."""
        found = self._keys.matching({key for key, _ in all_settings(request.configs_after)})
        problems = [f"'{printable(key)}' may not be set. Remove it." for key in found]
        if problems := [*problems, *unreadable(request.configs_after).values()]:
            raise PolicyViolation(*problems)


class RequiredKeys(AlterConfigPolicy):
    """
    Denies a run whose configuration lacks one of ``keys``, and a change that removes one of them.

    A change of one resource need not add a key that the resource never had: another layer can have it.

    Parameters: ``keys``, a list of keys, or of patterns that must each match at least one key.
    """

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Read the parameter ``keys``."""
        params = Params(configs)
        self._keys = {key: Patterns([key]) for key in params.texts("keys")}
        params.finish()

    def validate(self, request: RequestMetadata) -> None:
        """Refuse a configuration that lacks a key."""
        missing = [key for key, pattern in self._keys.items() if not pattern.matching(request.configs_after)]
        if request.at is Moment.ALTER:
            missing = [key for key in missing if self._keys[key].matching(request.configs_before)]
        if missing:
            raise PolicyViolation(*(f"'{printable(key)}' must be set. Add it." for key in missing))


class ImmutableKeys(AlterConfigPolicy):
    """
    Denies setting, changing or deleting one of ``keys``.

    A key also changes if its value includes that of another key, such as ``${spark.app.x}``, which changes.

    When a task is rendered, its configuration without dynamic layers and run configuration is the state before the
    change. So these layers cannot change the keys, no matter when they were written.

    Parameters: ``keys``, a list of keys or patterns; ``except``, a list of those that may change anyway;
    ``deletable``, whether a key may be deleted, which restores the value of lower layers; default false.
    """

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Read the parameters ``keys``, ``except`` and ``deletable``."""
        params = Params(configs)
        self._keys = Patterns(params.texts("keys"), excluded=params.texts("except", ()))
        self._deletable = params.flag("deletable")
        params.finish()

    def validate(self, request: RequestMetadata) -> None:
        """Refuse each change of such a key."""
        before, after = set(all_settings(request.configs_before)), set(all_settings(request.configs_after))
        changed = self._keys.matching({*request.changed, *(key for key, _ in before ^ after)})
        present = {key for key, _ in after}
        refused = [key for key in changed if not self._deletable or key in present]
        problems = [f"'{printable(key)}' must stay as it is. Remove it." for key in refused]
        if problems := [*problems, *self._changed_through(request), *_changed_options(request)]:
            raise PolicyViolation(*problems)

    def _changed_through(self, request: RequestMetadata) -> Iterator[str]:
        """Yield the problems with keys that change because a part of their value changes."""
        origins = _origins(request.changed, request.configs_after)
        for key in self._keys.matching(origins):
            yield (
                f"'{printable(key)}' must stay as it is, and '{printable(origins[key])}' is a part of its value. "
                f"Remove '{printable(origins[key])}'."
            )


def _changed_options(request: RequestMetadata) -> Iterator[str]:
    """Yield the problems with changed options that could now set any key."""
    for options, problem in unreadable(request.configs_after).items():
        if options in request.changed:
            yield problem


def _origins(changed: Collection[str], configs: Mapping[str, str]) -> Mapping[str, str]:
    """
    Return key -> changed key, for keys whose values change because the changed key becomes a part of them.

    Spark replaces ``${spark.app.x}`` and Hadoop ``${fs.x}`` with the value of that key. Hadoop completes a nested
    ``${a${b}}`` from the inside, so it could mean any key.
    """
    users = _users(configs)
    origins = {key: key for key in changed}
    waiting = list(changed)
    while waiting:
        key = waiting.pop()
        for name in (*names_of(key), _NESTED):
            for user in users.pop(name, ()):
                if user not in origins:
                    origins[user] = origins[key]
                    waiting.append(user)
    return {key: origin for key, origin in origins.items() if key != origin}


def _users(configs: Mapping[str, str]) -> dict[str, list[str]]:
    """Return name in a ``${...}`` -> the keys whose values contain it; nested ones are under ``_NESTED``."""
    found: dict[str, list[str]] = {}
    for key, text in configs.items():
        for name in _taken_in(text):
            found.setdefault(name, []).append(key)
    return found


def _taken_in(text: str) -> Iterator[str]:
    if "${" not in text:
        return
    if re.search(_NESTED, text):
        yield _NESTED
    for name in re.findall(_NAME, text):
        yield name
        yield f"spark.hadoop.{name}"
