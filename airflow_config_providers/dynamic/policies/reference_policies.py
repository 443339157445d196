"""Ready policies on references: those that a DAG may use, and references in place of secrets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from airflow_config_providers.core.data import HIDDEN
from airflow_config_providers.core.policy import AlterConfigPolicy, RequestMetadata
from airflow_config_providers.core.sensitive import shows_secret, sounds_secret
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import ConfigVariable, parse, scan, variables
from airflow_config_providers.dynamic.policies.key_names import Patterns
from airflow_config_providers.dynamic.policies.params import Params
from airflow_config_providers.exceptions import ConfigException, PolicyViolation


class AllowedReferences(AlterConfigPolicy):
    """
    Denies references that no rule allows.

    When a task is rendered, this includes references outside its configuration, such as in ``env_vars``.

    Parameters: ``allow``, a list of rules. Each has ``providers`` and, to be narrower, ``paths``, ``keys`` and
    ``dags``; all are lists of names or patterns, in which ``*`` also matches slashes. A path with ``..``, ``.``, an
    empty part, a backslash or a percent sign matches no pattern. The deployment default belongs to the DAG with the
    empty name.
    """

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Read the parameter ``allow``."""
        params = Params(configs)
        self._rules, given = [], params.mappings("allow")
        for number, one in enumerate(given, start=1):
            try:
                self._rules.append(_rule(one, f"rule {number} of 'allow': "))
            except ConfigException as error:
                params.problems += error.problems
        params.finish()

    def validate(self, request: RequestMetadata) -> None:
        """Refuse each reference that no rule allows."""
        if problems := list(self._problems(request)):
            raise PolicyViolation(*problems)

    def _problems(self, request: RequestMetadata) -> Iterator[str]:
        for key, text in sorted([*request.configs_after.items(), *request.texts.items()]):
            for variable in dict.fromkeys(variables(text)):
                if not any(rule.allows(variable, request.resource.dag_id) for rule in self._rules):
                    yield f"'{printable(key)}' may not refer to '{printable(str(variable))}'. Change it, or add a rule."


@dataclass(frozen=True, slots=True)
class _ReferenceRule:
    providers: Patterns
    paths: Patterns | None
    keys: Patterns | None
    dags: Patterns | None

    def allows(self, variable: ConfigVariable, dag_id: str) -> bool:
        return (
            self.providers.matches(variable.provider)
            and (self.paths is None or (not _is_odd(variable.path) and self.paths.matches(variable.path)))
            and (self.keys is None or self.keys.matches(variable.key))
            and (self.dags is None or self.dags.matches(dag_id))
        )


def _rule(given: Mapping[str, Any], where: str) -> _ReferenceRule:
    params = Params(given, where)
    providers = Patterns(params.texts("providers"))
    paths, keys, dags = (Patterns.of(params.texts_if_given(name)) for name in ("paths", "keys", "dags"))
    params.finish()
    return _ReferenceRule(providers, paths, keys, dags)


def _is_odd(path: str) -> bool:
    """Return whether ``path`` could lead elsewhere than its text says."""
    parts = path.removeprefix("/").split("/")
    is_stepping = bool(path) and not {"", ".", ".."}.isdisjoint(parts)
    return is_stepping or "\\" in path or "%" in path or not path.isprintable()


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
    for part, following in pairwise([*parts, ""]):
        if isinstance(part, str):
            yield part
        elif isinstance(following, str) and following[:1].isspace():
            yield ";"
