"""
What is wrong below the paths that a provider may read, found without opening a file.

To close a file drops the locks that this process has on it, such as those of SQLite, whose database another process
could then damage.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Final, Protocol

from airflow_config_providers.core.diagnosis import Diagnosis, Severity, doubt, of_problem
from airflow_config_providers.core.text import counted, printable
from airflow_config_providers.exceptions import problems_of
from airflow_config_providers.providers.checks import rights_of

_MOST_LOOKED_AT: Final = 1_000
"""How many names below one path are looked at: on a network file system, each takes milliseconds."""

_MOST_SHOWN: Final = 3


class Readable(Protocol):
    """Files of which some may be read."""

    def is_broken_link(self, path: str) -> bool:
        """Return whether a link that leads to nothing is at ``path``."""

    def require_access(self, path: str) -> None:
        """
        Require that this process may read what is at ``path``, without opening it.

        :raises ConfigProvidersError: it may not
        """


def diagnose_below(files: Readable, root: str) -> Iterator[Diagnosis]:
    """
    Yield what is wrong with the first files and directories below ``root``.

    Who may read them is not judged, since a file need not hold a secret, and Kubernetes lets everyone read those that
    it mounts.

    :param files: says whether a path may be read
    """
    paths = _paths(root)
    found = (one for path in islice(paths, _MOST_LOOKED_AT) for one in _diagnoses(files, path))
    yield from islice(found, _MOST_SHOWN)
    if next(found, None) is not None:
        yield doubt(
            f"More is wrong below '{printable(root)}'.", "Correct what is named here first, and repeat the check."
        )
    elif next(paths, None) is not None:
        looked_at = counted(_MOST_LOOKED_AT, "name")
        yield doubt(
            f"Only {looked_at} below '{printable(root)}' were looked at.", "Allow only the directories that are read."
        )


def _paths(root: str) -> Iterator[str]:
    """Yield the printable paths below ``root``, without following links; no reference can have another path."""
    for folder, folders, names in os.walk(root):
        folders.sort()
        yield from (path for name in (*folders, *sorted(names)) if (path := os.path.join(folder, name)).isprintable())  # noqa: PTH118 - of strings


def _diagnoses(files: Readable, path: str) -> Iterator[Diagnosis]:
    if files.is_broken_link(path):
        yield doubt(
            f"'{printable(path)}' is a link that leads to nothing.", "Remove it, or create the file that it leads to."
        )
        return
    for problem in problems_of(lambda: files.require_access(path)):
        yield replace(of_problem(problem), severity=Severity.WARNING)  # perhaps nothing refers to it
    if not Path(path).is_symlink():
        yield from rights_of(path)
