"""The clients that read objects: boto3 for S3 and what has the same interface, and fsspec for other stores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Lock
from typing import Any, Final

from airflow_config_providers.foreign import FILE_SYSTEM, require
from airflow_config_providers.spark.audit.leaks.object_store import RefusedError, StoredObject

_PATIENCE: Final[Mapping[str, Any]] = {
    "connect_timeout": 10,
    "read_timeout": 60,
    "retries": {"mode": "standard", "total_max_attempts": 3},
}
"""How long a store that is away is waited for, in seconds."""

_MISSING: Final = frozenset({"NoSuchKey", "NoSuchBucket", "404"})
_BEYOND: Final = "InvalidRange"

_one_at_a_time: Final = Lock()


class S3Objects:
    """
    The objects in a bucket. Each process that reads them makes a client of its own.

    :param options: of ``boto3.client``, with credentials; without them, each machine uses its own
    """

    def __init__(self, bucket: str, options: Mapping[str, Any]) -> None:
        self._bucket = bucket
        self._options = options
        self._made: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        return S3Objects, (self._bucket, self._options)

    def below(self, key: str) -> Iterator[StoredObject]:
        """
        Yield the object with this key, and those below it.

        :raises FileNotFoundError: there is none, or no such bucket
        :raises RefusedError: the store refused to list them
        """
        found = False
        for one in self._listed(key):
            found = True
            if one["Size"] or not one["Key"].endswith("/"):  # others are the folders that consoles make
                modified, etag = int(one["LastModified"].timestamp() * 1_000_000_000), one.get("ETag", "").strip('"')
                yield StoredObject(one["Key"], one["Size"], modified, etag)
        if key and not found:
            raise FileNotFoundError

    def read(self, key: str, start: int, end: int) -> bytes:
        """
        Return the bytes of an object from ``start`` to ``end``; fewer if it ends before.

        :raises FileNotFoundError: it has vanished
        :raises RefusedError: the store refused to read it
        """
        from botocore.exceptions import IncompleteReadError, ReadTimeoutError, ResponseStreamingError  # noqa: PLC0415

        try:
            return self._content(key, start, end)
        except (IncompleteReadError, ReadTimeoutError, ResponseStreamingError):
            return self._content(key, start, end)  # boto3 asks again only if no answer has begun

    def _content(self, key: str, start: int, end: int) -> bytes:
        try:
            answer = self._asked("get_object", Key=key, Range=f"bytes={start}-{end - 1}")
        except RefusedError as error:
            if error.code == _BEYOND:
                return b""
            raise
        with closing(answer["Body"]) as body:
            return bytes(body.read())

    def _listed(self, key: str) -> Iterator[Mapping[str, Any]]:
        if key:  # the first key with this prefix is the key itself, if there is such an object
            first = self._asked("list_objects_v2", Prefix=key, MaxKeys=1).get("Contents", ())
            yield from (one for one in first if one["Key"] == key)
        more: dict[str, str] = {}
        while True:
            page = self._asked("list_objects_v2", Prefix=f"{key}/" if key else "", **more)
            yield from page.get("Contents", ())
            if not page.get("IsTruncated"):
                return
            more = {"ContinuationToken": page["NextContinuationToken"]}

    def _asked(self, operation: str, **parameters: Any) -> Mapping[str, Any]:
        from botocore.exceptions import ClientError  # noqa: PLC0415 - slow to import, and few need it

        try:
            found: Mapping[str, Any] = getattr(self._client(), operation)(Bucket=self._bucket, **parameters)
        except ClientError as error:
            code = str(error.response.get("Error", {}).get("Code", ""))
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        else:
            return found
        if code in _MISSING:
            raise FileNotFoundError
        raise RefusedError(code, status)

    def _client(self) -> Any:
        import boto3  # noqa: PLC0415 - as above
        from botocore.config import Config  # noqa: PLC0415 - as above

        with _one_at_a_time:
            if self._made is None:
                options = dict(self._options)
                config = Config(**_PATIENCE).merge(options.pop("config", None) or Config())
                self._made = boto3.Session().client("s3", config=config, **options)
            return self._made


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
