"""A store for processes that can read dynamic configuration, but not change it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from airflow_config_providers.dynamic.inheritance import Read
from airflow_config_providers.dynamic.store import AuditEntry, Kept
from airflow_config_providers.exceptions import ForbiddenError


@dataclass(frozen=True, slots=True)
class ReadOnlyStore:
    """
    A ``ConfigStore`` for a task, which reads through Airflow's Execution API: one request for each name.

    The names are not read at the same moment. They are read in their order, that of the deployment first, so that a
    reader of documents notices if two of them do not belong together.

    :param read_one: returns what is stored under a name
    """

    read_one: Read

    def read(self, names: Collection[str]) -> dict[str, Kept]:
        """Return what is stored under each of ``names``."""
        texts = {name: self.read_one(name) for name in names}
        return {name: Kept(text, text) for name, text in texts.items()}

    def swap(self, expected: Mapping[str, Kept], texts: Mapping[str, str], audit: Sequence[AuditEntry]) -> bool:
        """
        Write nothing.

        :raises ForbiddenError: always
        """
        raise ForbiddenError(
            "This process can only read dynamic configuration. Change it on the command line, over the REST "
            "interface, or in a process with access to Airflow's database."
        )
