"""The path of a reference: names between slashes, and perhaps a version."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote

from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import AccessDeniedError, ConfigException

SYSTEM: Final = frozenset({"sys", "auth"})
"""Vault's own paths: policies, mounts, tokens, logins."""

_VERSION: Final = re.compile(r"version=([0-9]{1,9})")
_DECODINGS: Final = 5


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


def _refuse_odd(text: str, segments: tuple[str, ...]) -> None:
    if not text.isprintable():
        problem = "contains a character that cannot be printed"
    elif not text:
        problem = "is empty"
    elif "" in segments:
        problem = "has an empty name: it begins or ends with a slash, or has two in a row"
    else:
        return
    raise ConfigException(
        f"The path '{printable(text)}' of a reference to Vault {problem}. "
        f"Write it as in ${{vault:secret/apps/db:password}}."
    )


def _refuse_wandering(text: str, segments: tuple[str, ...]) -> None:
    if any(_decoded(segment) in {".", ".."} for segment in segments):
        raise AccessDeniedError(
            f"The path '{printable(text)}' of a reference to Vault contains '.' or '..'. Write it without them."
        )
    if segments[0] in SYSTEM:
        raise AccessDeniedError(
            f"The path '{printable(text)}' begins with '{segments[0]}', which belongs to Vault itself; no reference "
            f"can read there. If you mean a secret of that name, begin with its mount, as in secret/{segments[0]}/..."
        )


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
