"""Finds the classes of policies by name."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import Final, cast

from airflow_config_providers.core.entry_points import NamedClasses, imported
from airflow_config_providers.core.policy import AlterConfigPolicy
from airflow_config_providers.core.text import nearest, printable
from airflow_config_providers.exceptions import ConfigException

ENTRY_POINT_GROUP: Final = "airflow_config_providers.policies"

_PACKAGE: Final = "airflow_config_providers.dynamic.policies"
READY: Final[Mapping[str, str]] = {
    "allowed_references": f"{_PACKAGE}.key_policies.AllowedReferences",
    "bounds": f"{_PACKAGE}.bounds.Bounds",
    "cel": f"{_PACKAGE}.cel.CelPolicy",
    "code_loading_keys": f"{_PACKAGE}.code_loading_keys.CodeLoadingKeys",
    "dynamic_allocation": f"{_PACKAGE}.if_then.DynamicAllocation",
    "forbidden_keys": f"{_PACKAGE}.key_policies.ForbiddenKeys",
    "if_then": f"{_PACKAGE}.if_then.IfThen",
    "immutable_keys": f"{_PACKAGE}.key_policies.ImmutableKeys",
    "references_only": f"{_PACKAGE}.key_policies.ReferencesOnly",
    "required_keys": f"{_PACKAGE}.key_policies.RequiredKeys",
}
"""Short name -> class of the ready policies. No other package can use these names."""

_OTHER_WORDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("banned", "blocked", "denied", "deny", "disallowed", "prohibited"), "forbidden"),
    **dict.fromkeys(("fixed", "frozen", "locked"), "immutable"),
    "mandatory": "required",
}
"""First word of a name -> the word of a ready policy with that meaning. By its letters, it could resemble another."""


class PolicyClasses:
    """
    Finds classes of policies: ready ones, those that installed packages register, and allowed dotted paths.

    :param allowed_classes: the allowed dotted paths; any other path is refused and not imported
    """

    def __init__(self, allowed_classes: Collection[str] = ()) -> None:
        self._classes: NamedClasses[AlterConfigPolicy] = NamedClasses(
            base=AlterConfigPolicy,
            kind=ConfigException,
            group=ENTRY_POINT_GROUP,
            own={name: partial(_make, path) for name, path in READY.items()},
            allowed=frozenset(allowed_classes),
            setting="option allowed_policy_classes of [config_providers]",
        )

    def make(self, name: str) -> AlterConfigPolicy:
        """
        Return a policy that is not configured yet.

        :raises ConfigException: the class does not exist, is not allowed, or cannot be instantiated
        """
        return self._classes.make(name, f"class '{printable(name)}'", unknown=partial(self._unknown, name))

    def _unknown(self, name: str) -> str:
        names = self._classes.names()
        installed = [other for other in names if other not in READY]
        others = f" Installed ones are {', '.join(map(printable, installed))}." if installed else ""
        hint = nearest(_in_our_words(name), names) or "."
        return f"class '{printable(name)}' is unknown{hint} Ready ones are {', '.join(READY)}.{others}"


def _in_our_words(name: str) -> str:
    first, underscore, rest = name.partition("_")
    return f"{_OTHER_WORDS.get(first, first)}{underscore}{rest}"


def _make(path: str) -> AlterConfigPolicy:
    return cast(type[AlterConfigPolicy], imported(path))()
