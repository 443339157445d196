"""Paths in object storage, such as ``s3://connection@bucket/logs``."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Final, Self

from airflow_config_providers.core.storage_url import HAS_COLON, StorageUrl
from airflow_config_providers.exceptions import ConfigException

_LOCAL: Final = frozenset({"file", "local"})
_AZURE: Final = ".core.windows.net"


@dataclass(frozen=True, slots=True)
class StoredPath(StorageUrl):
    """A path in object storage that holds no credentials. Its key has no slashes around it."""

    @classmethod
    def parse(cls, path: str) -> Self:
        """
        Return the parts of ``path``.

        :raises ConfigException: it could hold credentials, which everyone would see in commands, logs and results
        """
        found = cls.split(path) or cls("", "", "", path)
        if problem := _problem(found):  # and nothing else of the path, because it can be a secret
            raise ConfigException(f"A path that begins with {found.scheme}:// {problem}")
        return replace(found, key=found.key.strip("/"))

    @property
    def root(self) -> str:
        """The beginning of all paths in the same store."""
        return f"{self.scheme}://{self.connection}{'@' if self.connection else ''}{self.host}"

    def __str__(self) -> str:
        return f"{self.root}/{self.key}" if self.key else self.root


def _problem(path: StoredPath) -> str:
    if path.has_colon:
        return HAS_COLON
    if path.host.endswith(_AZURE):
        return "names an Azure account. Write it in a connection, and then abfss://CONNECTION_ID@CONTAINER/PATH."
    if not path.host.strip("."):
        return "names no bucket or server. Write SCHEME://CONNECTION_ID@BUCKET/PATH."
    if path.key.startswith("#"):
        return "has a # before its first slash. Write SCHEME://CONNECTION_ID@BUCKET/PATH."
    if "?" in path.key:
        return "has a question mark, as a signed link has. Write SCHEME://CONNECTION_ID@BUCKET/PATH."
    return ""


def is_stored(path: str) -> bool:
    """Return whether ``path`` is in object storage, and not in the file system."""
    if path.startswith("/"):  # almost always, and fast
        return False
    found = StorageUrl.split(path) if "://" in path else None
    return found is not None and found.scheme not in _LOCAL


def split_root(path: str) -> tuple[str, str]:
    """Return the beginning of all paths in the store of ``path``, and the key."""
    scheme, _, rest = path.partition("://")
    place, _, key = rest.partition("/")
    return f"{scheme}://{place}", key


def real(path: str) -> str:
    """
    Return a given path as the paths below it begin: without links, or without slashes at its end.

    :raises ConfigException: as for ``StoredPath.parse``, or it has a NUL character
    """
    if is_stored(path):
        return str(StoredPath.parse(path))
    if "\0" in path:
        raise ConfigException("A path has a NUL character, which no file has in its name. Correct it.")
    found = StorageUrl.split(path)
    return os.path.realpath(found.key if found else path)
