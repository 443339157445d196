"""Paths in object storage, such as ``s3://connection@bucket/logs``."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Final, Self

from airflow_config_providers.exceptions import ConfigException

_URL: Final = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<place>[^/]*)(?P<key>.*)", re.DOTALL)
_HOST: Final = re.compile(r"[^:@]*(:[0-9]{1,5})?")
_LOCAL: Final = frozenset({"file", "local"})
_AZURE: Final = ".core.windows.net"


@dataclass(frozen=True, slots=True)
class StoredPath:
    """
    A path in object storage.

    :param connection: the id of Airflow's connection with the credentials; empty if each machine has its own
    :param host: the bucket or container, or the server and its port
    :param key: the rest, without slashes around it
    """

    scheme: str
    connection: str
    host: str
    key: str

    @classmethod
    def parse(cls, path: str) -> Self:
        """
        Return the parts of ``path``.

        :raises ConfigException: it could hold credentials, which everyone would see in commands, logs and results
        """
        match = _URL.fullmatch(path)
        scheme, place, key = match.group("scheme", "place", "key") if match else ("", "", path)
        connection, _, host = place.rpartition("@")
        if problem := _problem(connection, host, key):  # and nothing else of the path, because it can be a secret
            raise ConfigException(f"A path that begins with {scheme}:// {problem}")
        return cls(scheme, connection, host, key.strip("/"))

    @property
    def root(self) -> str:
        """The beginning of all paths in the same store."""
        return f"{self.scheme}://{self.connection}{'@' if self.connection else ''}{self.host}"

    def __str__(self) -> str:
        return f"{self.root}/{self.key}" if self.key else self.root


def _problem(connection: str, host: str, key: str) -> str:
    if ":" in connection or not _HOST.fullmatch(host):
        return "has a colon before the bucket, as if a password followed. Write SCHEME://CONNECTION_ID@BUCKET/PATH."
    if host.endswith(_AZURE):
        return "names an Azure account. Write it in a connection, and then abfss://CONNECTION_ID@CONTAINER/PATH."
    if not host.strip("."):
        return "names no bucket or server. Write SCHEME://CONNECTION_ID@BUCKET/PATH."
    if "?" in key:
        return "has a question mark, as a signed link has. Write SCHEME://CONNECTION_ID@BUCKET/PATH."
    return ""


def is_stored(path: str) -> bool:
    """Return whether ``path`` is in object storage, and not in the file system."""
    if path.startswith("/"):  # almost always, and fast
        return False
    scheme, colon, _ = path.partition("://")
    return bool(colon) and scheme not in _LOCAL and _URL.fullmatch(path) is not None


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
    match = _URL.fullmatch(path)
    return os.path.realpath(match["key"] if match else path)
