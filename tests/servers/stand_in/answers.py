"""The shapes of what Vault answers."""

from __future__ import annotations

import json
import re
import secrets
import string
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tests.servers.web import Response

Json = dict[str, Any]

LETTERS = string.ascii_letters + string.digits
DURATION = re.compile(r"(\d+)([smhd]?)")
SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Type": "application/json",
    "Strict-Transport-Security": "max-age=31536000; includeSubDomains",
}


class Refusal(Exception):  # noqa: N818 - an answer like the others
    """An answer that is an error: a status and the server's messages."""

    def __init__(self, status: int, *errors: str) -> None:
        super().__init__(status)
        self.status = status
        self.errors = list(errors)


@dataclass(frozen=True, slots=True)
class Answer:
    """
    What an engine answers, before it is put into Vault's envelope.

    :param data: None for none
    :param status: 204 has no body at all
    """

    data: Json | None = None
    status: int = 200
    auth: Json | None = None
    lease_id: str = ""
    lease_duration: int = 0
    renewable: bool = False
    warnings: Sequence[str] | None = None


NOTHING = Answer(status=204)


def missing() -> Refusal:
    """Return the answer for what does not exist."""
    return Refusal(404)


def denied_by_policy() -> Refusal:
    """Return the answer for a known token without permission."""
    return Refusal(403, "1 error occurred:\n\t* permission denied\n\n")


def denied() -> Refusal:
    """Return the answer for a token that is unknown, or no longer valid."""
    return Refusal(403, "permission denied")


def unsupported() -> Refusal:
    """Return the answer for a method that a path does not support."""
    return Refusal(405, "1 error occurred:\n\t* unsupported operation\n\n")


def unsupported_in_public() -> Refusal:
    """Return the same answer for a path that needs no token."""
    return Refusal(405, "unsupported operation")


def unsupported_path() -> Refusal:
    """Return the answer for a path that an engine does not have."""
    return Refusal(404, "1 error occurred:\n\t* unsupported path\n\n")


def no_route(path: str) -> Refusal:
    """Return the answer for a path at which nothing is mounted."""
    return Refusal(404, f'no handler for route "{path}". route entry not found.')


def listed(paths: Iterable[str], folder: str) -> Answer:
    """List what lies directly in ``folder``: names, and folders with their slash."""
    prefix = folder.rstrip("/") + "/" if folder.strip("/") else ""
    below = [path.removeprefix(prefix) for path in paths if path.startswith(prefix)]
    keys = sorted({name + slash for name, slash, _ in (path.partition("/") for path in below)})
    if not keys:
        raise missing()
    return Answer({"keys": keys})


def response(answer: Answer) -> Response:
    """Put ``answer`` into Vault's envelope."""
    if answer.status == 204:
        return Response(204, b"", HEADERS)
    envelope = {
        "request_id": str(uuid.uuid4()),
        "lease_id": answer.lease_id,
        "renewable": answer.renewable,
        "lease_duration": answer.lease_duration,
        "data": answer.data,
        "wrap_info": None,
        "warnings": list(answer.warnings) if answer.warnings else None,
        "auth": answer.auth,
    }
    return bare(envelope, status=answer.status)


def bare(body: Mapping[str, Any], *, status: int = 200) -> Response:
    """Send ``body`` without an envelope."""
    return Response(status, json.dumps(body).encode() + b"\n", HEADERS)


def identifier(length: int) -> str:
    """Return a random name of letters and digits."""
    return "".join(secrets.choice(LETTERS) for _ in range(length))


def timestamp(seconds: float) -> str:
    """Write seconds since 1970 as Vault writes times."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "000Z")


def duration(given: object, default: int = 0, *, name: str = "ttl") -> int:
    """Read ``30``, ``"30"``, ``"30s"`` or ``"5m"`` as seconds; nothing is the default."""
    if given in {None, "", 0, "0"}:
        return default
    found = DURATION.fullmatch(str(given))
    if found is None:
        is_negative = isinstance(given, int) and given < 0
        why = f"cannot provide negative value '{given}'" if is_negative else f'time: invalid duration "{given}"'
        raise Refusal(400, f'Field validation failed: error converting input {given} for field "{name}": {why}')
    return int(found[1]) * SECONDS[found[2]]


def duration_text(seconds: int) -> str:
    """Write seconds as Go does: ``1h30m``."""
    hours, rest = divmod(seconds, 3600)
    parts = [(hours, "h"), (rest // 60, "m"), (rest % 60, "s")]
    return "".join(f"{number}{unit}" for number, unit in parts if number) or "0s"


def capped(asked: int, left: int, max_ttl: int) -> list[str]:
    """Warn that more was asked for than is left."""
    if asked <= left:
        return []
    asked_text, most_text = duration_text(asked), duration_text(max_ttl)
    return [f'TTL of "{asked_text}" exceeded the effective max_ttl of "{most_text}"; TTL value is capped accordingly']
