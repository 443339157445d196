"""A provider that reads the files of a directory, one value a file (KIP-632)."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from airflow_config_providers.core.data import ConfigData
from airflow_config_providers.core.diagnosis import Diagnosis
from airflow_config_providers.core.provider import configured
from airflow_config_providers.core.subscriptions import POLL_INTERVAL, PolledConfigProvider
from airflow_config_providers.core.text import printable
from airflow_config_providers.providers.allowed_files import ALLOWED_PATHS, MAX_BYTES, AllowedFiles
from airflow_config_providers.providers.real_path import Link, link_target

if TYPE_CHECKING:
    from airflow_config_providers.providers.file_watch import FileWatch

_log = logging.getLogger(__name__)


class DirectoryConfigProvider(PolledConfigProvider):
    """
    ``${directory:/var/run/secrets/db:password}``: the key is a file in the directory, its whole content the value.

    Made for secrets that Kubernetes mounts. A newline at the end of a file belongs to the value; a file that is not
    UTF-8 is refused when its key is asked for. Subdirectories are not entered. The parameters are those of the file
    provider.

    Kubernetes renews a mounted secret by switching one link, ``..data``, through which all files are reached, and then
    removes what it led to. All keys of one ``get`` come from before the switch, or all from after it.

    :param link: reads a symbolic link
    """

    required_params: ClassVar[Mapping[str, str]] = {ALLOWED_PATHS: "/var/run/secrets"}
    params: ClassVar[Collection[str]] = (ALLOWED_PATHS, MAX_BYTES, POLL_INTERVAL)

    def __init__(self, *, link: Link = link_target) -> None:
        self._files: AllowedFiles | None = None
        self._link = link

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Take ``allowed.paths``, ``max.bytes`` and ``poll.interval``."""
        super().configure(configs)
        self._files = AllowedFiles.of(configs, link=self._link)

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        """
        Return the files in the directory at ``path``; without a directory there are no keys.

        :raises AccessDeniedError: the directory, or a file that is asked for, is not inside an allowed path
        :raises ConfigException: a file that is asked for is not UTF-8
        :raises LimitExceededError: a file is too large
        :raises ProviderUnavailableError: the directory was replaced at each attempt to read it
        """
        files = configured(self._files)
        if not path:
            return ConfigData({})
        found = files.read_directory(path, keys)
        if found is None:
            _log.warning("There is no directory at %s.", printable(path))
        return ConfigData(found or {})

    def require_allowed(self, configs: Mapping[str, Any], path: str, keys: Collection[str]) -> None:
        """
        Refuse a path that is not inside an allowed path.

        :raises AccessDeniedError: it is not allowed
        :raises ProviderDefinitionError: the parameters cannot be used
        """
        if path:
            AllowedFiles.of(configs, link=self._link).require(path)

    def _make_watch(self) -> FileWatch:
        from airflow_config_providers.providers.file_watch import FileWatch  # noqa: PLC0415 - few jobs watch their values

        return FileWatch()

    def check(self) -> str:
        """
        Find out whether the allowed paths can be opened; reads no file.

        :raises AccessDeniedError: one may not be read
        :raises ProviderUnavailableError: one is missing, or cannot be opened now
        """
        return configured(self._files).check()

    def diagnose(self) -> Iterable[Diagnosis]:
        """
        Examine the allowed paths; reads no file.

        :raises ProviderLookupError: as in ``check``
        """
        return configured(self._files).diagnose()
