"""
Stores of objects, such as buckets, that are read as if they were folders, and paths in them.

A store can answer something else in place of an object, as the errors of libraries have it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final, Protocol, Self

from airflow_config_providers.core.storage_url import HAS_COLON, StorageUrl
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.spark.audit.leaks.open_file import ContentError, reason

FAR_BLOCK: Final = 8 * 1024 * 1024
"""How many bytes are asked for at a time; a smaller object is one request."""

_MOST_FAILURES: Final = 5
"""After how many failures in a row a process no longer asks a store: it is away, and each request waits for long."""

_CODE: Final = re.compile(r"[A-Za-z0-9.]{1,60}")
_STATUSES: Final = ("status_code", "status", "code")
_REFUSING: Final = re.compile(r"[45][0-9]{2}")
_PASSING: Final = frozenset({408, 429})
_GCSFS: Final = ((OSError, "Forbidden: ", 403), (ValueError, "Bad Request: ", 400))
"""The errors of gcsfs whose status is only in the beginning of their message."""
_OF_LOGINS: Final = frozenset(
    {
        "azure.core.exceptions.ClientAuthenticationError",
        "botocore.exceptions.NoCredentialsError",
        "botocore.exceptions.PartialCredentialsError",
        "botocore.exceptions.SSOTokenLoadError",
        "botocore.exceptions.TokenRetrievalError",
        "botocore.exceptions.UnauthorizedSSOTokenError",
        "google.auth.exceptions.DefaultCredentialsError",
        "google.auth.exceptions.RefreshError",
    }
)
"""The errors of logins, which carry no status: credentials are missing, or are refused."""
_UNAUTHENTICATED: Final = 401

_LOCAL: Final = frozenset({"file", "local"})
_AZURE: Final = ".core.windows.net"


@dataclass(frozen=True, slots=True)
class StoredObject:
    """
    An object, as its store lists it.

    :param size: in bytes; None if it is something else, or the store does not say
    :param modified: in nanoseconds since 1970; 0 if the store does not say
    :param etag: another one for another content; empty if the store does not say
    """

    key: str
    size: int | None
    modified: int = 0
    etag: str = ""


class Objects(Protocol):
    """The objects of a store, as a library reads them. It is safe to use from several threads, and can be pickled."""

    def below(self, key: str) -> Iterator[StoredObject]:
        """
        Yield the object with this key, and those below it.

        :raises Exception: whatever the library raises
        """

    def read(self, key: str, start: int, end: int) -> bytes:
        """
        Return the bytes of an object from ``start`` to ``end``; fewer if it ends before.

        :raises Exception: whatever the library raises
        """


@dataclass(slots=True)
class ObjectStore:
    """
    A store of objects. It is safe to use from several threads.

    :param root: the beginning of the paths in it, such as ``s3://connection@bucket``. It has no credentials
    :param objects: has the credentials, if there are some
    """

    root: str
    objects: Objects = field(repr=False)
    _failures: int = field(default=0, init=False, repr=False, compare=False)
    _problem: str = field(default="", init=False, repr=False, compare=False)

    def below(self, path: str) -> Iterator[tuple[str, StoredObject]]:
        """
        Yield the path of each object at and below ``path``, and what the store says of it.

        :raises ContentError: not all could be listed
        """
        try:
            for one in self.objects.below(split_root(path)[1]):
                yield f"{self.root}/{one.key}", one
        except Exception as error:  # noqa: BLE001 - the libraries raise what they like, with addresses in it
            problem = _reason(error)
        else:
            return
        raise ContentError(f"It cannot be listed: {problem}.")

    def read(self, key: str, start: int, end: int) -> bytes:
        """
        Return the bytes of an object from ``start`` to ``end``; fewer if it ends before.

        :raises ContentError: it has vanished, cannot be read, or the store is away
        """
        if self._failures >= _MOST_FAILURES:
            raise ContentError(f"Its store was not asked again after several failures: {self._problem}.")
        try:
            found = self.objects.read(key, start, end)
        except Exception as error:  # noqa: BLE001 - as above
            problem, is_away = _reason(error), _is_away(error)
        else:
            self._failures = 0
            return found
        self._failures, self._problem = (self._failures + 1 if is_away else 0), problem
        raise ContentError(f"It cannot be read: {problem}.")


@dataclass(slots=True)
class OpenObject:
    """
    An object that is open for reading. What is small is asked for once, as a whole.

    :param size: its size, as it was listed
    """

    store: ObjectStore
    key: str
    size: int
    _whole: bytes | None = None

    @property
    def is_far(self) -> bool:
        """Whether each read is a request."""
        return self.size > FAR_BLOCK

    def read(self, at: int, size: int) -> bytes:
        """
        Return up to ``size`` bytes from the offset ``at``; nothing after the size that was listed.

        :raises ContentError: it has vanished, or cannot be read now
        """
        end = min(at + size, self.size)
        if at >= end:
            return b""
        if self.is_far:
            return self.store.read(self.key, at, end)
        if self._whole is None:
            self._whole = self.store.read(self.key, 0, self.size)
        return self._whole[at:end]


_mounted: dict[str, ObjectStore] = {}
"""The stores that this process can read, by their roots."""


def mount(stores: Iterable[ObjectStore]) -> None:
    """Let this process read ``stores``, and no others."""
    _mounted.clear()
    _mounted.update((one.root, one) for one in stores)


@contextmanager
def mounted(stores: Iterable[ObjectStore]) -> Iterator[None]:
    """Let this process read ``stores`` until the end of the block."""
    mount(stores)
    try:
        yield
    finally:
        mount(())


def store_of(path: str) -> ObjectStore:
    """
    Return the store that ``path`` is in.

    :raises ContentError: this process cannot read it
    """
    found = _mounted.get(split_root(path)[0])
    if found is None:
        raise ContentError("It is in object storage that this audit does not know.")
    return found


def opened_object(path: str, size: int) -> OpenObject:
    """
    Return an object of a mounted store for reading.

    :param size: its size, as it was listed
    :raises ContentError: this process cannot read its store
    """
    return OpenObject(store_of(path), split_root(path)[1], size)


def _reason(error: Exception) -> str:
    refusal = refusal_in(error)
    return f"the store refused it ({refusal.code})" if refusal else reason(error)


def _is_away(error: Exception) -> bool:
    refusal = refusal_in(error)
    return refusal.is_away if refusal else not isinstance(error, FileNotFoundError | PermissionError)


class RefusedError(Exception):
    """
    A store refused a request.

    :param code: what it calls the reason, such as ``AccessDenied``; shown only if it is a code
    :param status: the status of HTTP; shown if there is no code
    :param is_login: whether the login was refused, and not this request
    """

    def __init__(self, code: str, status: int = 403, *, is_login: bool = False) -> None:
        self.code = code if _CODE.fullmatch(code) else str(status or "unknown")
        self.is_away = is_login or status >= 500 or status in _PASSING
        """Whether the store would refuse any request now."""
        super().__init__(self.code)


def refusal_in(error: Exception) -> RefusedError | None:
    """Return what a store answered, if ``error`` has it; None if there was perhaps no answer."""
    if isinstance(error, RefusedError):
        return error
    status = next(_statuses(error), None)
    if status is not None:
        return RefusedError(_code(error), status)
    if _is_of_login(error):
        return RefusedError(type(error).__name__, _UNAUTHENTICATED, is_login=True)
    return None


def _is_of_login(error: Exception) -> bool:
    """Return whether a library could not sign in; it may not be imported for that. Google's can be an outage."""
    names = {f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__}
    return not names.isdisjoint(_OF_LOGINS) and not getattr(error, "retryable", False)


def _statuses(error: Exception) -> Iterator[int]:
    for holder in (error, getattr(error, "response", None)):
        found = (getattr(holder, name, None) for name in _STATUSES)
        yield from (int(str(one)) for one in found if _is_refusing(one))
    for kind, beginning, status in _GCSFS:
        if type(error) is kind and str(error).startswith(beginning):
            yield status


def _is_refusing(found: object) -> bool:
    return isinstance(found, int | str) and _REFUSING.fullmatch(str(found)) is not None


def _code(error: Exception) -> str:
    """Return what Azure calls the reason, such as ``BlobArchived``; empty for libraries that have only a status."""
    found = getattr(error, "error_code", None) or ""
    return str(getattr(found, "value", found))


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
