"""What a reference to a secrets backend asks for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from airflow_config_providers.core.data import ConfigData
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.providers.connection_fields import read_fields
from airflow_config_providers.providers.json_text import read_json

VARIABLE: Final = "variable"
CONNECTION: Final = "connection"
CONFIG: Final = "configuration option"

_LISTS: Final = {"": VARIABLE, "variables": VARIABLE, "config": CONFIG}
_ITEMS: Final = {"variables": VARIABLE, "connections": CONNECTION}


@dataclass(frozen=True, slots=True)
class BackendSecret:
    """
    One thing that a secrets backend may have.

    :param kind: ``VARIABLE``, ``CONNECTION`` or ``CONFIG``
    """

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} '{printable(self.name)}'"


@dataclass(frozen=True, slots=True)
class BackendPlace:
    """
    A path below a secrets backend, and the keys wanted there.

    ``""`` and ``variables`` have variables as keys, ``config`` has configuration options; ``variables/<name>`` and
    ``connections/<id>`` are one thing, which has the keys.
    """

    path: str
    keys: Collection[str] | None

    def secrets(self) -> list[BackendSecret]:
        """
        Return what must be read.

        :raises ConfigException: there is no such path, or all keys are wanted where they cannot be listed
        """
        if (item := self._item()) is not None:
            return [item]
        if self.path not in _LISTS:
            raise ConfigException(
                f"'{printable(self.path)}' is not a path of a secrets backend. Write only the name, or as the path "
                f"variables, variables/<name>, connections/<id> or config."
            )
        if self.keys is None:
            raise ConfigException("The secrets of a secrets backend cannot be listed. Name the ones you want.")
        return [BackendSecret(_LISTS[self.path], key) for key in sorted(self.keys)]

    def data(self, found: Mapping[BackendSecret, Any]) -> ConfigData:
        """
        Return the values of the keys.

        :param found: the string of each variable and option, and each connection; None for a missing one
        :raises ConfigException: a key is wanted in a string that is not a JSON object
        """
        item = self._item()
        if item is None:
            texts = {secret.name: found[secret] for secret in self.secrets()}
            return ConfigData({name: text for name, text in texts.items() if text is not None})
        if item.kind == VARIABLE:
            return ConfigData(read_json(found[item], self.keys, what=str(item)))
        connection = found[item]
        return ConfigData({} if connection is None else read_fields(connection, self.keys, conn_id=item.name))

    def _item(self) -> BackendSecret | None:
        first, slash, name = self.path.partition("/")
        return BackendSecret(_ITEMS[first], name) if slash and first in _ITEMS else None
