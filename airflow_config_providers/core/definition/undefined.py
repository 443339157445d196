"""What there is to know about configurations without a definition."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from airflow_config_providers.core.definition.resource_type import EVERYWHERE, ResourceType

if TYPE_CHECKING:
    from airflow_config_providers.core.definition.config_def import ConfigKey


class Undefined:
    """
    Answers like a ``ConfigDef`` without keys.

    It is a class of its own because many processes that settle layers have no definition, and types and validators are
    slow to import.
    """

    config_keys: Final[Mapping[str, ConfigKey]] = MappingProxyType({})
    older_names: Final[Mapping[str, str]] = MappingProxyType({})

    def default_texts(self) -> Mapping[str, str]:
        """Return no defaults."""
        return MappingProxyType({})

    def is_sensitive(self, name: str) -> bool:
        """Return False: no name is known."""
        return False

    def is_secret(self, name: str, text: str) -> bool:
        """Return False: no name is known."""
        return False

    def alterable_at(self, name: str) -> tuple[ResourceType, ...]:
        """Return all kinds of resource."""
        return EVERYWHERE


UNDEFINED: Final = Undefined()
