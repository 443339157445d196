"""Objects in S3, or in a store with the same interface."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from threading import Lock
from typing import Any, Final

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
