"""Finds the classes of policies by name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from airflow_config_providers.core.entry_points import imported, registered, shown_target
from airflow_config_providers.core.foreign_errors import kind_and_place
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


class PolicyClasses:
    """
    Finds classes of policies: ready ones, those that installed packages register, and allowed dotted paths.

    :param allowed_classes: the allowed dotted paths; any other path is refused and not imported
    """

    def __init__(self, allowed_classes: Collection[str] = ()) -> None:
        self._allowed = frozenset(allowed_classes)

    def make(self, name: str) -> AlterConfigPolicy:
        """
        Return a policy that is not configured yet.

        :raises ConfigException: the class does not exist, is not allowed, or cannot be instantiated
        """
        load = self._loader(name)
        try:
            made = load()
            policy = made() if isinstance(made, type) and issubclass(made, AlterConfigPolicy) else None
        except (Exception, SystemExit) as error:  # noqa: BLE001 - foreign code can raise anything; its text can hold a value
            reason = kind_and_place(error)
        else:
            if policy is not None:
                return policy
            reason = "it does not extend AlterConfigPolicy"
        raise ConfigException(
            f"class '{printable(name)}'{_target(name)} cannot be used ({reason}). Correct or replace it."
        )

    def _loader(self, name: str) -> Callable[[], object]:
        if name in READY or name in self._allowed:
            return lambda: imported(READY.get(name, name))
        if "." in name:
            raise ConfigException(
                f"class '{printable(name)}' is not allowed. Add it to allowed_policy_classes in [config_providers], "
                f"or use a ready one."
            )
        installed = registered(ENTRY_POINT_GROUP)
        entries = [entry for entry in installed if entry.name == name]
        if len(entries) == 1:
            return entries[0].load
        if entries:
            raise ConfigException(
                f"class '{printable(name)}' is registered {len(entries)} times. Uninstall all but one."
            )
        raise ConfigException(_unknown(name, sorted({entry.name for entry in installed})))


def _target(name: str) -> str:
    """Return what the entry point ``name`` names; empty if there is none, or it is a ready policy."""
    entries = () if name in READY else registered(ENTRY_POINT_GROUP)
    return next((f", which is {shown_target(entry)}," for entry in entries if entry.name == name), "")


def _unknown(name: str, installed: Sequence[str]) -> str:
    hint = nearest(name, (*READY, *installed)) or "."
    others = f" Installed ones are {', '.join(map(printable, installed))}." if installed else ""
    return f"class '{printable(name)}' is unknown{hint} Ready ones are {', '.join(READY)}.{others}"
