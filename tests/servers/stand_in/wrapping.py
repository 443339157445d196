"""Answers that can be taken out of their wrapping once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from tests.servers.stand_in.answers import HEADERS, Answer, Json, Refusal, bare, duration, identifier, timestamp
from tests.servers.web import Response

GONE = "wrapping token is not valid or does not exist"


@dataclass(frozen=True, slots=True)
class _Wrapped:
    response: Response = field(repr=False)
    made: float
    ttl: int
    path: str


class Wrappings:
    """
    The wrapped answers of a server that are not unwrapped yet.

    :param clock: seconds since 1970
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._held: dict[str, _Wrapped] = {}

    def wrap(self, response: Response, *, ttl: str, path: str) -> Response:
        """Keep ``response``, and answer with the token that takes it out."""
        token, seconds = f"hvs.{identifier(90)}", duration(ttl)
        self._held[token] = _Wrapped(response, self._clock(), seconds, path)
        info = {
            "token": token,
            "accessor": identifier(24),
            "ttl": seconds,
            "creation_time": timestamp(self._clock()),
            "creation_path": path,
            "wrapped_accessor": identifier(36),
        }
        envelope = {"request_id": "", "lease_id": "", "renewable": False, "lease_duration": 0, "data": None}
        return bare({**envelope, "wrap_info": info, "warnings": None, "auth": None})

    def lookup(self, token: str) -> Answer:
        """Return where the answer came from."""
        if not token:
            raise Refusal(403, "error validating wrapping token: token is empty")
        found = self._found(token)
        made = datetime.fromtimestamp(found.made, UTC).isoformat()
        data: Json = {"creation_path": found.path, "creation_time": made, "creation_ttl": found.ttl}
        return Answer(data)

    def unwrap(self, token: str) -> Response:
        """Return the answer, and forget it."""
        found = self._found(token)
        del self._held[token]
        return Response(found.response.status, found.response.body, HEADERS)

    def _found(self, token: str) -> _Wrapped:
        found = self._held.get(token)
        if found is None or self._clock() >= found.made + found.ttl:
            raise Refusal(400, GONE)
        return found
