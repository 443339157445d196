"""Where engines are mounted in Vault, and of which kind they are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from airflow_config_providers.exceptions import AccessDeniedError
from airflow_config_providers.providers.vault.path import quoted

Segments = tuple[str, ...]

_KV: Final = frozenset({"kv", "generic"})
_SECONDS_CLOSED: Final = 60.0
_SYSTEM_TYPES: Final = frozenset({"system", "ns_system", "token", "ns_token"})


@dataclass(frozen=True, slots=True)
class Mount:
    """
    One mounted engine.

    :param segments: its path, as one or more names
    :param kv_version: 1 or 2 for a key-value engine; None for any other
    """

    segments: Segments
    kv_version: int | None = None

    @classmethod
    def of(cls, data: object) -> Mount | None:
        """
        Return the mount that Vault describes; None if the description is not usable.

        :raises AccessDeniedError: it belongs to Vault itself, perhaps in a namespace below
        """
        if not isinstance(data, Mapping) or not isinstance(data.get("path"), str):
            return None
        segments = tuple(data["path"].strip("/").split("/"))
        if data.get("type") in _SYSTEM_TYPES:
            raise AccessDeniedError(
                "The path leads to a place that belongs to Vault itself; no reference can read there. Name a secret."
            )
        return cls(segments, _kv_version(data) if data.get("type") in _KV else None)

    def holds(self, segments: Segments) -> bool:
        """Return whether ``segments`` are a path in this engine."""
        return segments[: len(self.segments)] == self.segments

    def address(self, segments: Segments) -> Segments:
        """Return the path in Vault's API for ``segments``, a path in this engine."""
        if self.kv_version != 2:
            return segments
        return (*self.segments, "data", *segments[len(self.segments) :])

    def proves_itself(self, body: Mapping[str, Any]) -> bool:
        """Return whether only KV version 2 answers like ``body``."""
        data = body.get("data")
        metadata = data.get("metadata") if isinstance(data, Mapping) else None
        return (
            self.kv_version == 2 and "data" in (data or {}) and isinstance(metadata, Mapping) and "version" in metadata
        )


class Mounts:
    """
    The mounts that a session knows. Thread-safe without a lock: each change is a new table.

    A path has one mount at most, since Vault mounts no engine below another one.
    """

    def __init__(self) -> None:
        self._known: Mapping[Segments, Mount] = {}
        self._absent: frozenset[str] = frozenset()
        self._closed: Mapping[Segments, tuple[float, str]] = {}

    def find(self, segments: Segments) -> Mount | None:
        """Return the mount that holds ``segments``; None if it is not known."""
        known = self._known
        found = (known.get(segments[:length]) for length in range(len(segments), 0, -1))
        return next((mount for mount in found if mount is not None), None)

    def remember(self, mount: Mount) -> None:
        """Remember ``mount``."""
        self._known = {**self._known, mount.segments: mount}

    def is_absent(self, name: str) -> bool:
        """Return whether ``name`` is known not to begin a mount."""
        return name in self._absent

    def remember_absent(self, name: str) -> None:
        """Remember that no mount begins with ``name``."""
        self._absent |= {name}

    def is_closed(self, segments: Segments, *, now: float, token: str | None = None) -> bool:
        """Return whether Vault recently refused everything in the folder of ``segments``, to ``token`` or to any."""
        until, refused = self._closed.get(segments[:-1], (-math.inf, ""))
        return now < until and token in {None, refused}

    def remember_closed(self, segments: Segments, *, now: float, token: str) -> None:
        """Remember for a while that Vault refused everything there: policies change."""
        self._closed = {**self._closed, segments[:-1]: (now + _SECONDS_CLOSED, token)}


def question(segments: Segments) -> str:
    """Return the path at which Vault names the mount of ``segments``, if our token may read anything there."""
    return f"sys/internal/ui/mounts/{quoted(segments)}"


def _kv_version(data: Mapping[str, Any]) -> int:
    options = data.get("options")
    return 2 if isinstance(options, Mapping) and str(options.get("version")) == "2" else 1
