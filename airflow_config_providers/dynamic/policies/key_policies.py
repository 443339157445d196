"""Ready policies on keys that are forbidden, required or immutable."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter
from typing import Any, Final

from airflow_config_providers.core.keys import hadoop_name
from airflow_config_providers.core.policy import AlterConfigPolicy, Moment, RequestMetadata
from airflow_config_providers.core.sensitive import HIDDEN, shows_secret, sounds_secret
from airflow_config_providers.core.text import grouped, printable
from airflow_config_providers.core.variable import ConfigVariable, parse, scan, variables
from airflow_config_providers.dynamic.policies.params import Params
from airflow_config_providers.dynamic.policies.spark_keys import (
    KeyPatterns,
    Patterns,
    all_settings,
    names_of,
    newest_name,
    own_names,
    unmatched,
    unreadable,
    with_canonical,
)
from airflow_config_providers.exceptions import ConfigException, PolicyViolation, refuse

_NAME: Final = r"\$\{([^${}]*)"
_NESTED: Final = r"\$\{[^}]*\$\{"
"""In a value: the name of what Spark or Hadoop puts in its place, and a name with another one inside."""

_PUT_TOGETHER: Final = rf"{_NESTED}|\$\{{[^${{}}]*\}}\{{|\$\$\{{"
"""The same, and a name whose dollar sign or brace comes from another value: Hadoop looks at the result again."""

_VARIABLE: Final = r"\$\{env\.([^${}]*)\}"
"""What Hadoop replaces by an environment variable, with its default."""

_DEFAULT: Final = ":?-"
"""What ends the name of that variable if a default follows."""


class ForbiddenKeys(AlterConfigPolicy):
    """
    Denies a configuration that has one of ``keys``.

    Parameters: ``keys``, a list of keys or patterns; ``except``, a list of those that are allowed anyway.
    """

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Read the parameters ``keys`` and ``except``."""
        params = Params(configs)
        self._keys = KeyPatterns(params.texts("keys"), excluded=params.texts("except", ()))
        params.finish()

    def validate(self, request: RequestMetadata) -> None:
        """Refuse each such key."""
        found = self._keys.matching({key for key, _ in all_settings(request.configs_after)})
        problems = [f"'{printable(key)}' may not be set. Remove it." for key in found]
        refuse(PolicyViolation, [*problems, *unreadable(request.configs_after).values()])


class RequiredKeys(AlterConfigPolicy):
    """
    Denies a run whose configuration lacks one of ``keys``, and a change that removes one of them.

    A change of one resource need not add a key that the resource never had: another layer can have it.

    Parameters: ``keys``, a list of keys, or of patterns that must each match at least one key.
    """

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Read the parameter ``keys``."""
        params = Params(configs)
        self._keys = params.texts("keys")
        params.finish()

    def validate(self, request: RequestMetadata) -> None:
        """Refuse a configuration that lacks a key."""
        missing = unmatched(self._keys, request.configs_after)
        if request.at is Moment.ALTER:
            never = set(unmatched(missing, request.configs_before))
            missing = [key for key in missing if key not in never]
        refuse(PolicyViolation, (f"'{printable(key)}' must be set. Add it." for key in missing))


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
        self._keys = KeyPatterns(params.texts("keys"), excluded=params.texts("except", ()))
        self._deletable = params.flag("deletable")
        params.finish()

    def validate(self, request: RequestMetadata) -> None:
        """Refuse each change of such a key."""
        before, after = set(all_settings(request.configs_before)), set(all_settings(request.configs_after))
        changed = {*request.changed, *(key for key, _ in before ^ after)}
        present = {key for key, _ in after}
        refused = [key for key in self._keys.matching(changed) if not self._deletable or key in present]
        problems = [f"'{printable(key)}' must stay as it is. Remove it." for key in refused]
        unknown = (text for key, text in unreadable(request.configs_after).items() if key in request.changed)
        refuse(PolicyViolation, [*problems, *self._changed_through(changed, request), *unknown])

    def _changed_through(self, changed: Collection[str], request: RequestMetadata) -> Iterator[str]:
        """Yield the problems with keys that change because a part of their value is one of ``changed``."""
        origins = _origins(changed, request.configs_after)
        for key in self._keys.matching(origins):
            yield (
                f"'{printable(key)}' must stay as it is, and '{printable(origins[key])}' is a part of its value. "
                f"Remove '{printable(origins[key])}'."
            )


def _origins(changed: Collection[str], configs: Mapping[str, str]) -> Mapping[str, str]:
    """
    Return key -> changed key, for keys whose values change because the changed key becomes a part of them.

    Spark replaces ``${spark.app.x}`` and Hadoop ``${fs.x}`` with the value of that key. Hadoop puts a name in
    parts together, as in ``${a${b}}`` and ``${a}{b}``, so it could mean any key.
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
    """Return name in a ``${...}`` -> the keys whose values contain it; those in parts are under ``_NESTED``."""
    return grouped((name, key) for key, text in configs.items() for name in _taken_in(key, text))


def _taken_in(key: str, text: str) -> Iterator[str]:
    if "${" not in text:
        return
    if re.search(_PUT_TOGETHER if hadoop_name(key) is not None else _NESTED, text):
        yield _NESTED
    for name in re.findall(_NAME, text):
        yield name
        yield f"spark.hadoop.{name}"
        yield newest_name(f"spark.hadoop.{name}")


class AllowedReferences(AlterConfigPolicy):
    """
    Denies references that no rule allows.

    When a task is rendered, this includes references outside its configuration, such as in ``env_vars``; one that
    also sets a key is reported once. Hadoop's ``${env.NAME}`` is treated like ``${env:NAME}``.

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
        refuse(PolicyViolation, self._problems(request))

    def _problems(self, request: RequestMetadata) -> Iterator[str]:
        others = dict.fromkeys(self._denied(request.texts, request.resource.dag_id))
        denied = self._denied(request.configs_after, request.resource.dag_id)
        own = (one for one in denied if (_place(one[0], request), one[1]) not in others)
        for key, variable in sorted([*own, *others], key=itemgetter(0)):
            yield f"'{printable(key)}' may not refer to '{printable(str(variable))}'. Change it, or add a rule."
        for key in _put_together(request.configs_after):
            yield (
                f"'{printable(key)}' may not have a name that Hadoop puts together, as in ${{a${{b}}}}, nor take it in "
                f"from another key: it could be that of any variable. Write it out."
            )

    def _denied(self, texts: Mapping[str, str], dag_id: str) -> Iterator[tuple[str, ConfigVariable]]:
        """Yield each name with the references in its string that no rule allows."""
        for name, text in texts.items():
            for variable in dict.fromkeys([*variables(text), *_of_environment(text)]):
                if not any(rule.allows(variable, dag_id) for rule in self._rules):
                    yield name, variable


def _place(key: str, request: RequestMetadata) -> str:
    """Return where a key is set, such as the variable in ``env_vars`` that sets it, without the layer."""
    return request.origins.get(key, "").partition(", ")[2]


def _put_together(configs: Mapping[str, str]) -> list[str]:
    """Return Hadoop's keys in whose values it puts a name together, also if that is in a value that they take in."""
    begun = [key for key, text in configs.items() if text.endswith("$")]
    beginning = {*begun, *_origins(begun, configs)} if begun else frozenset[str]()
    joined = [key for key, text in configs.items() if _is_put_together(text, begins=key in beginning)]
    taking = {*joined, *_origins(joined, configs)} if joined else frozenset[str]()
    return sorted(key for key in taking if hadoop_name(key) is not None)


def _is_put_together(text: str, *, begins: bool) -> bool:
    """
    Return whether a name is put together in ``text``.

    :param begins: whether the text takes in a value that ends with ``$``, with which a following value makes a name
    """
    return "${" in text and ((begins and "}${" in text) or re.search(_PUT_TOGETHER, text) is not None)


def _of_environment(text: str) -> Iterator[ConfigVariable]:
    """Yield the environment variables that Hadoop puts in, as references to a provider ``env``."""
    if "${env." not in text:
        return
    for found in re.finditer(_VARIABLE, text):
        yield ConfigVariable("env", "", re.split(_DEFAULT, found[1], maxsplit=1)[0], found[0])


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
        self._keys = None if keys is None else Patterns(_lowered(with_canonical(keys)))
        self._excluded = Patterns(_lowered(with_canonical(excluded)))

    def validate(self, request: RequestMetadata) -> None:
        """Refuse each plain-text secret."""
        if problems := [
            f"'{printable(key)}' {problem}"
            for key, text in sorted(request.configs_after.items())
            if (problem := self._problem(key, text))
        ]:
            raise PolicyViolation(*problems)

    def _problem(self, key: str, text: str) -> str | None:
        is_excluded = self._excluded.match_any(_lowered(own_names(key)))
        if HIDDEN in text or (self._is_bound(key) and not is_excluded):
            if not scan(text) or _without_references(text):
                return "may contain only references. Write one, such as ${vault:path:key}."
        elif not is_excluded and shows_secret(_without_references(text)):
            return "contains a plain-text secret. Write a reference instead, such as ${vault:path:key}."
        return None

    def _is_bound(self, key: str) -> bool:
        return sounds_secret(key) if self._keys is None else self._keys.match_any(_lowered(names_of(key)))


def _lowered(texts: Iterable[str]) -> Iterator[str]:
    return map(str.lower, texts)


def _without_references(text: str) -> str:
    """Return ``text`` without references. ``;`` replaces one before a space, so that what follows is separate."""
    return "".join(_rest(parse(text)))


def _rest(parts: Sequence[str | ConfigVariable]) -> Iterator[str]:
    for part, following in pairwise([*parts, ""]):
        if isinstance(part, str):
            yield part
        elif isinstance(following, str) and following[:1].isspace():
            yield ";"
