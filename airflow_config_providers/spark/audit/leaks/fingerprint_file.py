"""The file of fingerprints, which people and later audits read."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Final

from airflow_config_providers.core.named_file import replace_lines
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException, system_reason
from airflow_config_providers.spark.audit.leaks.fingerprint import Fingerprint, FingerprintKey
from airflow_config_providers.spark.audit.leaks.leak_finder import CURRENT
from airflow_config_providers.spark.audit.leaks.open_file import ContentError, opened_text

_KIND: Final = "airflow-config-providers fingerprints"
_FORMAT: Final = 2
"""The version of the format of the file."""

_LONGEST_LINE: Final = 64 * 1024
"""The most characters of a line; a file of another kind can have a longer one."""

_MOST: Final = 5_000_000
"""The most fingerprints in a file."""


class OtherKeyError(ConfigException):
    """The fingerprints were made with another key."""


class DamagedFingerprintsError(ConfigException):
    """A file has no fingerprints, or is damaged."""


def write_fingerprints(
    path: str, fingerprints: Iterable[Fingerprint], key: FingerprintKey, *, way_out: str = "Name another file."
) -> None:
    """
    Write a file that only this user can read. One of an earlier audit is replaced, but no other file.

    :param way_out: what to do if it cannot be written
    :raises ConfigException: it cannot be written, is a file of another kind, or there are more than can be read
    """
    target = Path(os.path.realpath(path))
    if os.path.lexists(target):
        _header(path, _rows(path))  # which every file of fingerprints has
    rows = [one.row() for one in sorted({one.of_age(CURRENT) for one in fingerprints})]  # an age is of a search
    if len(rows) > _MOST:
        raise _too_many(path)
    header = {"kind": _KIND, "format": _FORMAT, "key": key.id, "count": len(rows)}
    try:
        replace_lines(target, map(json.dumps, chain([header], rows)))
    except OSError as error:
        problem = system_reason(error)
    else:
        return
    raise ConfigException(f"The fingerprints cannot be written to {printable(path)}: {problem}. {way_out}")


def read_fingerprints(path: str, key: FingerprintKey) -> list[Fingerprint]:
    """
    Return the fingerprints in a file.

    :raises OtherKeyError: they were made with another key
    :raises DamagedFingerprintsError: the file is of another kind, or damaged
    :raises ConfigException: the file cannot be read, or has too many
    """
    rows = _rows(path)
    header = _header(path, rows)
    if header["key"] != key.id:
        raise OtherKeyError(
            f"The fingerprints in {printable(path)} were made with another key. Set [config_providers] "
            f"password_encoder_secret to that of the deployment that wrote them."
        )
    try:
        found = [Fingerprint.read(row) for row in rows]
    except ValueError:
        pass
    else:
        if header.get("count", len(found)) == len(found):  # older files have none
            return found
    raise _wrong(path)


def _header(path: str, rows: Iterator[Any]) -> dict[str, Any]:
    header = next(rows, None)
    if not isinstance(header, dict) or header.get("kind") != _KIND or header.get("format") != _FORMAT:
        raise _wrong(path)
    return {"key": "", **header}


def _rows(path: str) -> Iterator[Any]:
    """Yield what the lines of a file say."""
    try:
        with opened_text(os.path.realpath(path)) as file:
            for _ in range(_MOST + 2):  # with the header, and the end
                if not (line := file.readline(_LONGEST_LINE)):
                    return
                yield json.loads(line if line.endswith("\n") else "")
    except ContentError as error:
        problem = str(error)
    except (ValueError, RecursionError):  # which has the line, and the file can be any
        problem = ""
    else:
        raise _too_many(path)
    if not problem:
        raise _wrong(path)
    raise ConfigException(
        f"The fingerprints in {printable(path)} cannot be read: {problem} Run the audit again when they can be."
    )


def _too_many(path: str) -> ConfigException:
    return ConfigException(
        f"There are more fingerprints for {printable(path)} than the {_MOST:,} that a file can have. Search for fewer "
        f"values at a time, some in each --write-fingerprints file or --state folder."
    )


def _wrong(path: str) -> DamagedFingerprintsError:
    return DamagedFingerprintsError(
        f"{printable(path)} has no fingerprints, or is damaged. Name a file that --write-fingerprints has written."
    )
