"""A provider that reads the files of a directory, one value a file (KIP-632)."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import ClassVar

from airflow_config_providers.core.provider import ConfigData
from airflow_config_providers.core.text import printable
from airflow_config_providers.providers.allowed_files import ALLOWED_PATHS
from airflow_config_providers.providers.file import FilesProvider

_log = logging.getLogger(__name__)


class DirectoryConfigProvider(FilesProvider):
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

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        """
        Return the files in the directory at ``path``; without a directory there are no keys, and the answer says why.

        :raises AccessDeniedError: the directory, or a file that is asked for, is not inside an allowed path
        :raises ConfigException: a file that is asked for is not UTF-8
        :raises LimitExceededError: a file is too large
        :raises ProviderUnavailableError: the directory was replaced at each attempt to read it
        """
        files = self.files
        if not path:
            return ConfigData({})
        found = files.read_directory(path, keys)
        if found is None:
            absence = f"There is no directory at {printable(path)}. {self._way_out(path)}"
            _log.warning("%s", absence)
            return ConfigData({}, absence=absence)
        return ConfigData(found, absence=self._warn_of_others(path, {*(keys or ())} - found.keys(), found))

    def _way_out(self, path: str) -> str:
        if self.files.is_file(path):
            return "It is a file, and its name is the key: take it out of the path."
        return "Create it or correct the path."

    def _warn_of_others(self, path: str, missing: Collection[str], found: Mapping[str, str]) -> str:
        """Warn of ``missing`` keys that are no files; return the warnings if they explain why there is nothing."""
        names = sorted(key for key in missing if "/" not in key and key not in ("", ".", ".."))
        sentences = [sentence for name in names if (sentence := self._why_not_a_file(f"{path}/{name}"))]
        for sentence in sentences:
            _log.warning("%s", sentence)
        return "" if found or len(sentences) < len(missing) else " ".join(sentences)

    def _why_not_a_file(self, path: str) -> str:
        if self.files.is_directory(path):
            return f"{printable(path)} is a directory, and not a file. Mount the file itself."
        if self.files.is_broken_link(path):
            return f"{printable(path)} is a link that leads to nothing. Mount the secret again, or correct the link."
        return ""
