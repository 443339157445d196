"""The two versions of the key-value engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tests.servers.stand_in.answers import (
    NOTHING,
    Answer,
    Json,
    Refusal,
    duration,
    listed,
    missing,
    timestamp,
    unsupported,
)
from tests.servers.stand_in.call import Call
from tests.servers.stand_in.tokens import DEFAULT_TTL, Clock

NOT_VERSIONED = (
    "Invalid path for a versioned K/V secrets engine. See the API docs for the appropriate API endpoints to use. "
    "If using the Vault CLI, use 'vault kv {}' for this operation."
)
ROOT = "Non-listing operations on the root of a K/V v2 mount are not supported."
KINDS = {"data", "metadata", "delete", "undelete", "destroy"}
WORDS = {"GET": "get", "LIST": "list", "POST": "put", "PATCH": "patch", "DELETE": "delete"}


class KvV1:
    """Key-value, version 1: one document a path."""

    def __init__(self) -> None:
        self._documents: dict[str, Json] = {}

    def answer(self, call: Call) -> Answer:
        """Read, list, write or delete a document."""
        if call.method == "LIST":
            return listed(self._documents, call.path)
        if call.method == "GET":
            return self._read(call.path)
        if call.method == "POST":
            return self._write(call)
        if call.method == "DELETE":
            self._documents.pop(call.path, None)
            return NOTHING
        raise unsupported()

    def _read(self, path: str) -> Answer:
        if path not in self._documents:
            raise missing()
        document = self._documents[path]
        return Answer(dict(document), lease_duration=_ttl(document))

    def _write(self, call: Call) -> Answer:
        if not call.body:
            raise Refusal(400, "missing data fields")
        self._documents[call.path] = dict(call.body)
        return NOTHING


@dataclass(slots=True)
class _Version:
    created: float
    data: Json | None = field(repr=False)
    deleted: float | None = None
    destroyed: bool = False

    def state(self) -> Json:
        return {
            "created_time": timestamp(self.created),
            "deletion_time": "" if self.deleted is None else timestamp(self.deleted),
            "destroyed": self.destroyed,
        }


@dataclass(slots=True)
class _Secret:
    created: float
    versions: dict[int, _Version] = field(default_factory=dict)
    custom: Json | None = None


class KvV2:
    """Key-value, version 2: every write of a path is kept."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._secrets: dict[str, _Secret] = {}

    def answer(self, call: Call) -> Answer:
        """Answer one of the engine's own paths, and refuse all others as the engine does."""
        kind, _, path = call.path.partition("/")
        handler = self._handlers().get((kind, call.method))
        if call.path == "config":
            return Answer({"cas_required": False, "delete_version_after": "0s", "max_versions": 0})
        if call.path == "metadata/" and call.method == "GET":
            raise missing()
        if (not path or path.endswith("/")) and (kind, call.method) != ("metadata", "LIST"):
            return _not_versioned(call)
        if handler is None:
            if kind in KINDS:
                raise unsupported()
            return _not_versioned(call)
        return handler(path, call)

    def _handlers(self) -> dict[tuple[str, str], Callable[[str, Call], Answer]]:
        return {
            ("data", "GET"): self._read,
            ("data", "POST"): self._write,
            ("data", "PATCH"): self._patch,
            ("data", "DELETE"): self._delete_latest,
            ("delete", "POST"): lambda path, call: self._mark(path, call, deleted=True),
            ("undelete", "POST"): lambda path, call: self._mark(path, call, deleted=False),
            ("destroy", "POST"): self._destroy,
            ("metadata", "GET"): self._metadata,
            ("metadata", "LIST"): lambda path, _: listed(self._secrets, path),
            ("metadata", "POST"): self._write_metadata,
            ("metadata", "DELETE"): self._forget,
        }

    def _read(self, path: str, call: Call) -> Answer:
        secret = self._secrets.get(path)
        number = _version_number(call.query.get("version", "0"))
        if secret is None or not secret.versions:
            raise missing()
        number = number or max(secret.versions)
        version = secret.versions.get(number)
        if version is None:
            raise missing()
        metadata = version.state() | {"custom_metadata": secret.custom, "version": number}
        if version.data is None or version.deleted is not None:
            return Answer({"data": None, "metadata": metadata}, status=404)
        return Answer({"data": dict(version.data), "metadata": metadata})

    def _write(self, path: str, call: Call) -> Answer:
        if not isinstance(call.body.get("data"), dict):
            raise Refusal(400, "no data provided")
        secret = self._secrets.setdefault(path, _Secret(self._clock()))
        latest = max(secret.versions, default=0)
        expected = (call.body.get("options") or {}).get("cas")
        if expected is not None and expected != latest:
            raise Refusal(400, "check-and-set parameter did not match the current version")
        version = secret.versions[latest + 1] = _Version(self._clock(), dict(call.body["data"]))
        return Answer(version.state() | {"custom_metadata": secret.custom, "version": latest + 1})

    def _patch(self, path: str, call: Call) -> Answer:
        before = self._read(path, call).data or {}
        if before.get("data") is None:
            raise missing()
        merged = {key: value for key, value in (before["data"] | call.body["data"]).items() if value is not None}
        return self._write(path, _with_body(call, {"data": merged}))

    def _delete_latest(self, path: str, call: Call) -> Answer:
        secret = self._secrets.get(path)
        if secret is not None and secret.versions:
            secret.versions[max(secret.versions)].deleted = self._clock()
        return NOTHING

    def _mark(self, path: str, call: Call, *, deleted: bool) -> Answer:
        for version in self._named(path, call):
            version.deleted = self._clock() if deleted else None
        return NOTHING

    def _destroy(self, path: str, call: Call) -> Answer:
        for version in self._named(path, call):
            version.data, version.destroyed = None, True
        return NOTHING

    def _named(self, path: str, call: Call) -> list[_Version]:
        if not call.body.get("versions"):
            raise Refusal(400, "No version number provided")
        secret = self._secrets.get(path)
        numbers = [int(number) for number in call.body["versions"]]
        return [secret.versions[number] for number in numbers if number in secret.versions] if secret else []

    def _metadata(self, path: str, _: Call) -> Answer:
        secret = self._secrets.get(path)
        if secret is None:
            raise missing()
        updated = max((version.created for version in secret.versions.values()), default=secret.created)
        return Answer(
            {
                "cas_required": False,
                "created_time": timestamp(secret.created),
                "current_version": max(secret.versions, default=0),
                "custom_metadata": secret.custom,
                "delete_version_after": "0s",
                "max_versions": 0,
                "oldest_version": 0,
                "updated_time": timestamp(updated),
                "versions": {str(number): version.state() for number, version in secret.versions.items()},
            }
        )

    def _write_metadata(self, path: str, call: Call) -> Answer:
        self._secrets.setdefault(path, _Secret(self._clock())).custom = call.body.get("custom_metadata")
        return NOTHING

    def _forget(self, path: str, _: Call) -> Answer:
        self._secrets.pop(path, None)
        return NOTHING


def _not_versioned(call: Call) -> Answer:
    return Answer(status=404, warnings=[ROOT if call.path in KINDS else NOT_VERSIONED.format(WORDS[call.method])])


def _version_number(text: str) -> int:
    try:
        return max(int(text), 0)
    except ValueError:
        why = f"cannot parse '' as int: strconv.ParseInt: parsing \"{text}\": invalid syntax"
        message = f'Field validation failed: error converting input {text} for field "version": {why}'
        raise Refusal(400, message) from None


def _ttl(document: Json) -> int:
    try:
        return duration(document.get("ttl") or document.get("lease"), DEFAULT_TTL)
    except Refusal:  # what is no duration is a value like the others
        return DEFAULT_TTL


def _with_body(call: Call, body: Json) -> Call:
    return replace(call, body=body)
