"""A record as JSON, within limits: others could have written one that fills the memory of its reader."""

from __future__ import annotations

import json
from typing import Any, Final

from airflow_config_providers.exceptions import LimitExceededError
from airflow_config_providers.job.record import TryRecord

LARGEST: Final = 32 * 1024 * 1024
"""The most bytes of a record."""

_MOST_VALUES: Final = 500_000
"""The most values in a record, whose objects take much more memory than their text. 10,000 keys in five layers fit."""


def written(record: TryRecord) -> bytes:
    """
    Return ``record`` as one line of JSON.

    :raises LimitExceededError: the record is too large to be read again
    """
    text = json.dumps(record.document(), separators=(",", ":")).encode()
    if not _fits(text):
        raise LimitExceededError(f"The record has more than {LARGEST} bytes or {_MOST_VALUES} values.")
    return text


def parsed(text: bytes) -> Any:
    """Return the document in ``text``, which others could have written; None if it is not JSON, or too large."""
    try:
        return json.loads(text) if text and _fits(text) else None
    except (ValueError, RecursionError):
        return None


def _fits(text: bytes) -> bool:
    """Return whether ``text`` is within the limits. Commas and brackets in strings are counted, too: it is faster."""
    return len(text) <= LARGEST and sum(map(text.count, (b",", b"[", b"{"))) < _MOST_VALUES
