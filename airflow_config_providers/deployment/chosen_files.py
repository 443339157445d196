"""The layer files that are not read, such as those that only a run chooses, and the values that they can override."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from airflow_config_providers.core.layers import ConfigSource
from airflow_config_providers.core.templates import is_known_only_in_run
from airflow_config_providers.deployment.rows import Row, file_of

BELOW_FILES: Final = frozenset({ConfigSource.STATIC_FILE_CONFIG.name, ConfigSource.DEFAULT_CONFIG.name})
"""The sources of values that another file can beat."""


NOT_READ_HERE: Final = "not read here"
"""What is known of a key that a file can have, if the server does not read it."""


def with_chosen_files(rows: Sequence[Row], files: Callable[[], Sequence[str]]) -> list[Row]:
    """
    Return ``rows`` with the column ``or_from``: the files that only a run chooses and that would beat the value.

    :param files: returns the paths of the files that are layers, strongest last; called if a file could beat a value
    """
    paths = files() if any(row["source"] in BELOW_FILES for row in rows) else ()
    return [{**row, "or_from": files_that_beat(row, paths)} for row in rows]


def files_that_beat(value: Row, paths: Sequence[str]) -> list[str]:
    """
    Return the files that only a run chooses and that would beat a value.

    :param value: a row with ``source`` and ``origin``
    :param paths: the paths of the files that are layers, strongest last
    """
    if value["source"] not in BELOW_FILES:
        return []
    after = paths.index(file) + 1 if (file := file_of(value)) in paths else 0
    return list(filter(is_known_only_in_run, paths[after:]))
