"""A provider that reads the files of a directory, one value a file (KIP-632)."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import Any, ClassVar

from airflow_config_providers.core.data import ConfigData
from airflow_config_providers.core.provider import ConfigProvider, configured
from airflow_config_providers.core.text import printable
from airflow_config_providers.providers.allowed_files import ALLOWED_PATHS, AllowedFiles

_log = logging.getLogger(__name__)


class DirectoryConfigProvider(ConfigProvider):
    """
    ``${directory:/var/run/secrets/db:password}``: the key is a file in the directory, its whole content the value.

    Made for secrets that Kubernetes mounts. A line end at the end of a file belongs to the value; a file that is not
    UTF-8 is refused when its key is asked for. Directories below are not entered. Parameters as with the file
    provider.
    """

    required_params: ClassVar[Mapping[str, str]] = {ALLOWED_PATHS: "/var/run/secrets"}

    def __init__(self) -> None:
        self._files: AllowedFiles | None = None

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Take ``allowed.paths`` and ``max.bytes``."""
        self._files = AllowedFiles.of(configs)

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        """
        Read the files in the directory at ``path``; where there is no directory, there are no keys.

        :raises AccessDeniedError: the directory, or a file that is asked for, is not inside an allowed path
        :raises ConfigException: a file that is asked for is not UTF-8
        :raises LimitExceededError: a file is too large
        """
        files = configured(self._files)
        if not path:
            return ConfigData({})
        names = files.names(path)
        if names is None:
            _log.warning("There is no directory at %s.", printable(path))
            return ConfigData({})
        wanted = [name for name in names if name.isprintable() and (keys is None or name in keys)]
        texts = {name: files.read_text(f"{path}/{name}") for name in wanted}
        return ConfigData({name: text for name, text in texts.items() if text is not None})

    def check(self) -> str:
        """
        Find out whether the allowed paths can be opened; reads no file.

        :raises AccessDeniedError: one may not be read
        :raises ProviderUnavailableError: one is not there, or cannot be opened now
        """
        return configured(self._files).check()
