"""A provider that reads Java properties files (KIP-297)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar

from airflow_config_providers.core.data import ConfigData
from airflow_config_providers.core.properties import parse
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ProviderLookupError
from airflow_config_providers.providers.allowed_files import ALLOWED_PATHS
from airflow_config_providers.providers.files_provider import FilesProvider


class FileConfigProvider(FilesProvider):
    """
    ``${file:/etc/airflow/spark/jobs.properties:db.password}``: the path is a file in UTF-8, the key a key in it.

    The file is read at every ``get``; if a key is repeated, its last entry wins. Parameters:

    - ``allowed.paths`` (KIP-993): directories or files that may be read, separated by commas. Without it every file
      may. Symbolic links are followed as long as they stay inside.
    - ``max.bytes``: size of the largest file that is read; the default is 1 MiB.
    - ``poll.interval``: milliseconds after which a subscribed file is read again even if no change was noticed.

    :param link: reads a symbolic link
    """

    required_params: ClassVar[Mapping[str, str]] = {ALLOWED_PATHS: "/etc/airflow/spark"}

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        """
        Return the entries of the file at ``path``; an empty path has no keys.

        :raises AccessDeniedError: the file is not inside an allowed path, whether it exists or not
        :raises ProviderLookupError: there is no such file
        :raises ConfigException: the file is not a properties file in UTF-8; names the line or byte
        """
        files = self.files
        if not path:
            return ConfigData({})
        text = files.read_text(path)
        if text is None:
            raise ProviderLookupError(f"There is no regular file at {printable(path)}. Create it or correct the path.")
        entries = parse(text, name=path)
        return ConfigData({entry.key: entry.value for entry in entries if keys is None or entry.key in keys})
