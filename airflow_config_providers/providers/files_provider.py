"""What the providers of files and of directories share."""

from __future__ import annotations

from abc import ABC
from collections.abc import Collection, Iterable, Mapping
from typing import Any, ClassVar

from airflow_config_providers.core.diagnosis import Diagnosis
from airflow_config_providers.core.provider import require_configured
from airflow_config_providers.core.subscriptions import POLL_INTERVAL, PolledConfigProvider
from airflow_config_providers.providers.allowed_files import ALLOWED_PATHS, MAX_BYTES, AllowedFiles
from airflow_config_providers.providers.file_watch import FileWatch
from airflow_config_providers.providers.real_path import Link, link_target


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
        return FileWatch()
