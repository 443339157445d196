"""A request as the parts of the stand-in see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from tests.servers.stand_in.answers import Answer, Json
from tests.servers.stand_in.tokens import Token


@dataclass(frozen=True, slots=True)
class Call:
    """
    A request to a mount.

    :param method: GET, LIST, POST, PATCH or DELETE; PUT has become POST
    :param mount: where the engine hangs, with its last slash
    :param path: below the mount
    """

    method: str
    mount: str
    path: str
    query: Mapping[str, str] = field(repr=False)
    body: Json = field(repr=False)
    token: Token | None = field(repr=False)

    def below(self, mount: str, path: str) -> Call:
        """Return the same call as the engine at ``mount`` sees it."""
        return replace(self, mount=mount, path=path)

    def of(self, token: Token) -> Call:
        """Return the same call by the holder of ``token``."""
        return replace(self, token=token)

    @property
    def segments(self) -> list[str]:
        """The parts of the path."""
        return self.path.split("/")


class Engine(Protocol):
    """What hangs at a mount."""

    def answer(self, call: Call) -> Answer:
        """Answer, or raise a Refusal."""
        ...
