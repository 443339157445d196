"""Objects in a store that fsspec can read, such as Google Cloud Storage, Azure or HDFS."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from airflow_config_providers.foreign import FILE_SYSTEM, require
from airflow_config_providers.spark.audit.leaks.object_store import StoredObject

_MODIFIED: Final = ("LastModified", "last_modified", "mtime", "updated", "modified", "created")
_ETAG: Final = ("ETag", "etag", "md5Hash")
"""What the libraries call the same; the first that is there is taken."""


@dataclass(frozen=True, slots=True)
class FsspecObjects:
    """
    The objects in a part of a file system of fsspec.

    :param filesystem: has the credentials, if there are some
    :param base: what the file system calls the bucket
    """

    filesystem: Any = field(repr=False)
    base: str

    def below(self, key: str) -> Iterator[StoredObject]:
        """
        Yield the object with this key, and those below it.

        :raises FileNotFoundError: there is none
        :raises Exception: whatever the library raises
        """
        base = self._name("")
        for entry in self._walked(self.filesystem.info(self._name(key)), base):
            yield _object(entry["name"].removeprefix(base), entry)

    def read(self, key: str, start: int, end: int) -> bytes:
        """
        Return the bytes of an object from ``start`` to ``end``; fewer if it ends before.

        :raises FileNotFoundError: it has vanished
        :raises Exception: whatever the library raises
        """
        return bytes(self.filesystem.cat_file(self._name(key), start=start, end=end, **self._options()))

    def _walked(self, given: Mapping[str, Any], base: str) -> Iterator[Mapping[str, Any]]:
        """Yield what is at and below an entry, and no folders."""
        if not _is_folder(given):
            yield given
            return
        folders = [given["name"]]
        while folders:
            self.filesystem.invalidate_cache()  # which would fill the memory, and show what was there before
            for entry in self.filesystem.ls(folders.pop(), detail=True):
                if not entry["name"].startswith(base):  # a page of a web server can lead elsewhere
                    continue
                if not _is_folder(entry):
                    yield entry
                elif _lists_all(self.filesystem):
                    yield from self.filesystem.find(entry["name"], detail=True).values()
                else:
                    folders.append(entry["name"])

    def _options(self) -> Mapping[str, Any]:
        """Return the options of each read: without that of Arrow, HDFS cannot be read from an offset."""
        is_arrow = any(kind.__name__ == "ArrowFSWrapper" for kind in type(self.filesystem).__mro__)
        return {"seekable": True} if is_arrow else {}

    def _name(self, key: str) -> str:
        return f"{self.base.rstrip('/')}/{key}"


def _lists_all(filesystem: Any) -> bool:
    """
    Return whether a library lists all objects below a folder by few requests.

    Otherwise, fsspec lists one folder after the other, and is silent about those that it cannot list.
    """
    from fsspec import AbstractFileSystem  # noqa: PLC0415 - few need it
    from fsspec.asyn import AsyncFileSystem  # noqa: PLC0415 - as above

    require(FILE_SYSTEM)
    kind = type(filesystem)
    own = getattr(kind, "_find", AsyncFileSystem._find) is not AsyncFileSystem._find
    return own or kind.find is not AbstractFileSystem.find


def _is_folder(entry: Mapping[str, Any]) -> bool:
    return bool(entry["type"] == "directory")


def _object(key: str, entry: Mapping[str, Any]) -> StoredObject:
    etag = next((str(entry[name]).strip('"') for name in _ETAG if entry.get(name)), "")
    has_size = entry["type"] == "file" and entry.get("size") is not None
    return StoredObject(key, int(entry["size"]) if has_size else None, _modified(entry), etag)


def _modified(entry: Mapping[str, Any]) -> int:
    found = next((entry[name] for name in _MODIFIED if entry.get(name)), 0)
    try:
        if isinstance(found, str):
            found = datetime.fromisoformat(found)
        if isinstance(found, datetime):
            found = (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
        return int(found * 1_000_000_000)
    except (TypeError, ValueError, OverflowError):
        return 0
