"""Errors that name a line of a file."""

from __future__ import annotations

import re
from pathlib import PurePath

from airflow_config_providers.lint.finding import SourcePlace


def located(problem: str, path: str) -> tuple[SourcePlace, str]:
    """Return the place in the file at ``path`` that ``problem`` names, and the rest of the sentence."""
    names = "|".join(map(re.escape, (path, PurePath(path).name)))
    match = re.match(rf"(?:{names})(?::(\d+))?: ", problem)
    if match is None:
        return SourcePlace(path), problem
    return SourcePlace(path, int(match[1]) if match[1] else None), problem[match.end() :]
