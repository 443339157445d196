"""Which versions of Spark have a key."""

from __future__ import annotations

import re
from typing import Final

from airflow_config_providers.spark.catalogue_file import catalogued, minor_version, versions, versions_with

_NUMBERS: Final = re.compile(r"(\d+)\.(\d+)\.(\d+)")


def absence(key: str, version: str) -> str:
    """
    Return since or until when Spark has ``key``, such as ``since 4.1``, if Spark ``version`` does not have it.

    :return: empty if it has the key, if no version has it, and if ``version`` is later than all in the catalogue
    """
    if not (names := versions_with(key)):  # as for most keys of a job
        return ""
    here, having = minor_version(version), [minor_version(one) or (0, 0) for one in names]
    if here is None or here > max(minor_version(one) or (0, 0) for one in versions()):
        return ""
    if here in having or here < min(minor_version(one) or (0, 0) for one in versions()):
        return _not_yet(key, version)
    earlier = [one for one in having if one < here]
    return f"until {_text(earlier[-1])}" if earlier else f"since {_text(having[0])}"


def _not_yet(key: str, version: str) -> str:
    """Return when ``key`` came, if ``version`` is a bug fix version before that, or older than the catalogue."""
    from airflow_config_providers.spark.key_notes import since  # noqa: PLC0415 - only for keys of other versions

    introduced = since(key, version)
    came, here, read = map(_numbers, (introduced, version, versions()[catalogued(version)]))
    # A key that was ported back is there, although Spark calls it newer than the version that was read.
    return f"since {introduced}" if here < came <= read else ""


def _numbers(version: str) -> list[int]:
    found = _NUMBERS.match(version)
    return [int(number) for number in found.groups()] if found else []


def _text(minor: tuple[int, int]) -> str:
    return f"{minor[0]}.{minor[1]}"
