"""A provider that reads Java properties files (KIP-297), and what it shares with that of directories."""

from __future__ import annotations

from abc import ABC
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from airflow_config_providers.core.polled_provider import POLL_INTERVAL, PolledConfigProvider
from airflow_config_providers.core.properties import parse
from airflow_config_providers.core.provider import ConfigData, require_configured
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ProviderLookupError
from airflow_config_providers.providers.allowed_files import ALLOWED_PATHS, MAX_BYTES, AllowedFiles
from airflow_config_providers.providers.real_path import Link, link_target

if TYPE_CHECKING:
    from airflow_config_providers.core.diagnosis import Diagnosis
    from airflow_config_providers.providers.file_watch import FileWatch


class FilesProvider(PolledConfigProvider, ABC):
    """
    A provider that reads what ``allowed.paths`` allows, and notices at once that something there changes.

    :param link: reads a symbolic link
    """

    params: ClassVar[Collection[str]] = (ALLOWED_PATHS, MAX_BYTES, POLL_INTERVAL)

    def __init__(self, *, link: Link = link_target) -> None:
        self._allowed: AllowedFiles | None = None
        self._link = link

    @property
    def files(self) -> AllowedFiles:
        """The files that may be read."""
        return require_configured(self._allowed)

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Take ``allowed.paths``, ``max.bytes`` and ``poll.interval``."""
        super().configure(configs)
        self._allowed = AllowedFiles.of(configs, link=self._link)

    def require_allowed(self, configs: Mapping[str, Any], path: str, keys: Collection[str]) -> None:
        """
        Refuse a path that is not inside an allowed path.

        :raises AccessDeniedError: it is not allowed
        :raises ProviderDefinitionError: the parameters cannot be used
        """
        if path:
            AllowedFiles.of(configs, link=self._link).require(path)

    def form_problem(self, path: str, key: str) -> str:
        """Return what a reference without a path lacks: nothing is read without one."""
        if path:
            return ""
        missing = "the key after the path" if "/" in key else "the path before the key"
        return f"it lacks {missing}. Write it as ${{provider:/path:key}}."

    def check(self) -> str:
        """
        Find out whether the allowed paths can be opened; reads no file.

        :raises AccessDeniedError: one may not be read
        :raises ProviderUnavailableError: one is missing, or cannot be opened now
        """
        return self.files.check()

    def diagnose(self) -> Iterable[Diagnosis]:
        """
        Examine the allowed paths; reads no file.

        :raises ProviderLookupError: as in ``check``
        """
        return self.files.diagnose()

    def _make_watch(self) -> FileWatch:
        from airflow_config_providers.providers.file_watch import shared_watch  # noqa: PLC0415 - few jobs watch their values

        return shared_watch()


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
            raise ProviderLookupError(f"There is no regular file at {printable(path)}. {self._way_out(path)}")
        entries = parse(text, name=path)
        return ConfigData({entry.key: entry.value for entry in entries if keys is None or entry.key in keys})

    def _way_out(self, path: str) -> str:
        if self.files.is_directory(path):
            return "It is a directory: name a file in it, or use a provider of class 'directory'."
        return "Create it or correct the path."
