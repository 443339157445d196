"""Paths in Vault: as references write them, and the mounts that they lead into."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, unquote

from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import AccessDeniedError, ConfigException

SYSTEM: Final = frozenset({"sys", "auth"})
"""Vault's own paths: policies, mounts, tokens, logins."""

_VERSION: Final = re.compile(r"version=([0-9]{1,9})")
_DECODINGS: Final = 5
"""How many times a name is decoded, because each proxy in front of Vault can decode it again."""

Segments = tuple[str, ...]

_KV: Final = frozenset({"kv", "generic"})
_SECONDS_CLOSED: Final = 60.0
_SYSTEM_TYPES: Final = frozenset({"system", "ns_system", "token", "ns_token"})


@dataclass(frozen=True, slots=True)
class VaultPath:
    """
    The path of a secret.

    :param segments: names, not quoted; none is empty, ``.`` or ``..``
    :param version: version of the secret; None for the latest
    """

    segments: tuple[str, ...]
    version: int | None = None

    @classmethod
    def parse(cls, text: str) -> VaultPath:
        """
        Return the path of a reference, such as ``secret/apps/db`` or ``secret/apps/db?version=3``.

        :raises ConfigException: it is not a path
        :raises AccessDeniedError: it contains ``.`` or ``..``, or is one of Vault's own
        """
        names, mark, query = text.partition("?")
        segments = tuple(names.split("/"))
        _refuse_odd(text, segments)
        _refuse_wandering(text, segments)
        return cls(segments, _version(text, query) if mark else None)

    def __str__(self) -> str:
        version = "" if self.version is None else f"?version={self.version}"
        return "/".join(self.segments) + version


def quoted(segments: tuple[str, ...]) -> str:
    """Return ``segments`` as part of a URL."""
    return "/".join(quote(segment, safe="") for segment in segments)


def form_problem(path: str, key: str) -> str:
    """Return what a reference without a path lacks: Vault has no secret without one."""
    if path:
        return ""
    missing = "the key after the path" if "/" in key else "its path or its key"
    return f"lacks {missing}. Write it as in ${{vault:secret/apps/db:password}}."


def _refuse_odd(text: str, segments: tuple[str, ...]) -> None:
    if not text:
        raise ConfigException(f"A reference to Vault {form_problem(text, '')}")
    if not text.isprintable():
        problem = "contains a character that cannot be printed"
    elif "" in segments:
        problem = "has an empty name: it begins or ends with a slash, or has two in a row"
    else:
        return
    raise ConfigException(
        f"The path '{printable(text)}' of a reference to Vault {problem}. "
        f"Write it as in ${{vault:secret/apps/db:password}}."
    )


def could_be_own(segments: Segments) -> bool:
    """Return whether a path could be one of Vault's own, perhaps in a namespace below, as ``team/auth/token/...``."""
    return not SYSTEM.isdisjoint(_names(segments))


def _refuse_wandering(text: str, segments: tuple[str, ...]) -> None:
    if any(_decoded(segment) in {".", ".."} for segment in segments):
        raise AccessDeniedError(
            f"The path '{printable(text)}' of a reference to Vault contains '.' or '..'. Write it without them."
        )
    first = next(iter(_names(segments)), "")
    if first in SYSTEM:
        raise AccessDeniedError(
            f"The path '{printable(text)}' begins with '{first}', which belongs to Vault itself; no reference can "
            f"read there. If you mean a secret of that name, begin with its mount, as in secret/{first}/..."
        )


def _names(segments: Segments) -> list[str]:
    """Return the names that a proxy in front of Vault would see that decodes a path more than once."""
    return [name for segment in segments for name in _decoded(segment).split("/") if name]


def _decoded(segment: str) -> str:
    for _ in range(_DECODINGS):
        segment = unquote(segment)
    return segment


def _version(text: str, query: str) -> int:
    found = _VERSION.fullmatch(query)
    if found is None:
        raise ConfigException(
            f"The path '{printable(text)}' of a reference to Vault has an unknown option. The only one is ?version= "
            f"with a number, at the end. Everything else belongs in the provider's definition."
        )
    return int(found[1])


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
        is_kv = data.get("type") in _KV
        if data.get("type") in _SYSTEM_TYPES or (could_be_own(segments) and not is_kv):
            raise AccessDeniedError(
                "The path leads to a place that belongs to Vault itself; no reference can read there. Name a secret."
            )
        return cls(segments, _kv_version(data) if is_kv else None)

    def holds(self, segments: Segments) -> bool:
        """Return whether ``segments`` are a path in this engine."""
        return segments[: len(self.segments)] == self.segments

    def address(self, segments: Segments) -> Segments:
        """Return the path in Vault's API for ``segments``, a path in this engine."""
        if self.kv_version != 2:
            return segments
        return (*self.segments, "data", *segments[len(self.segments) :])

    def metadata_address(self, segments: Segments) -> Segments:
        """Return the path in Vault's API of the metadata of ``segments``, in a key-value engine of version 2."""
        return (*self.segments, "metadata", *segments[len(self.segments) :])

    def proves_itself(self, body: Mapping[str, Any]) -> bool:
        """Return whether only KV version 2 answers like ``body``."""
        data = body.get("data")
        if self.kv_version != 2 or not isinstance(data, Mapping):
            return False
        metadata = data.get("metadata")
        return "data" in data and isinstance(metadata, Mapping) and "version" in metadata


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
        longest = min(len(segments), max(map(len, known), default=0))
        found = (known.get(segments[:length]) for length in range(longest, 0, -1))
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
