"""Files with fingerprints: they hold no values, and only an audit with the same key can use them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Final

from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.spark.audit.fingerprint import Fingerprint, FingerprintKey
from airflow_config_providers.spark.audit.leak_finder import CURRENT
from airflow_config_providers.spark.audit.open_file import ContentError, opened_text
from airflow_config_providers.spark.audit.report_file import replace_lines

_KIND: Final = "airflow-config-providers fingerprints"
_FORMAT: Final = 2
_LONGEST_LINE: Final = 64 * 1024
_MOST: Final = 5_000_000
_WRONG: Final = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


class OtherKeyError(ConfigException):
    """The fingerprints were made with another key."""


def write_fingerprints(path: str, fingerprints: Iterable[Fingerprint], key: FingerprintKey) -> None:
    """
    Write a file that only this user can read. One of an earlier audit is replaced, but no other file.

    :raises ConfigException: it cannot be written, or is a file of another kind
    """
    target = Path(os.path.realpath(path))
    if os.path.lexists(target):
        _require_fingerprints(path)
    header = {"kind": _KIND, "format": _FORMAT, "key": key.id}
    rows = (one.row() for one in sorted({one.of_age(CURRENT) for one in fingerprints}))  # an age is of a search
    try:
        replace_lines(target, map(json.dumps, chain([header], rows)))
    except OSError as error:
        problem = error.strerror or type(error).__name__
    else:
        return
    raise ConfigException(f"The fingerprints cannot be written to {printable(path)}: {problem}. Name another file.")


def read_fingerprints(path: str, key: FingerprintKey) -> list[Fingerprint]:
    """
    Return the fingerprints in a file.

    :raises OtherKeyError: they were made with another key
    :raises ConfigException: the file cannot be read, or is of another kind
    """
    rows = _rows(path)
    if _header(path, rows)["key"] != key.id:
        raise OtherKeyError(
            f"The fingerprints in {printable(path)} were made with another key. Set [config_providers] "
            f"password_encoder_secret to that of the deployment that wrote them."
        )
    try:
        return [Fingerprint.read(row) for row in rows]
    except _WRONG:
        pass
    raise _wrong(path)


def _require_fingerprints(path: str) -> None:
    _header(path, _rows(path))


def _header(path: str, rows: Iterator[Any]) -> dict[str, Any]:
    header = next(rows, None)
    if not isinstance(header, dict) or header.get("kind") != _KIND or header.get("format") != _FORMAT:
        raise _wrong(path)
    return {"key": "", **header}


def _rows(path: str) -> Iterator[Any]:
    """Yield what the lines of a file say."""
    try:
        with opened_text(os.path.realpath(path)) as file:
            for _ in range(_MOST):
                if not (line := file.readline(_LONGEST_LINE)):
                    return
                yield json.loads(line if line.endswith("\n") else "")
    except ContentError as error:
        problem = str(error)
    except (ValueError, RecursionError):
        raise _wrong(path) from None
    else:
        raise ConfigException(f"{printable(path)} has more than {_MOST:,} fingerprints. Search for fewer at a time.")
    raise ConfigException(f"The fingerprints in {printable(path)} cannot be read: {problem}")


def _wrong(path: str) -> ConfigException:
    return ConfigException(
        f"{printable(path)} has no fingerprints, or is damaged. Name a file that --write-fingerprints has written."
    )
