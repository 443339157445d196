"""Names and patterns of names: ``spark.jars``, ``spark.jars.*``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import translate

from airflow_config_providers.dynamic.policies.older_names import current_name


class Patterns:
    """
    Texts in which ``*`` stands for any text, ``?`` for any character, and ``[ab]`` for one of those. Case counts.

    :param excluded: patterns of what does not match all the same
    """

    def __init__(self, patterns: Iterable[str], *, excluded: Iterable[str] = ()) -> None:
        self._included, self._excluded = _compiled(patterns), _compiled(excluded)

    @classmethod
    def of(cls, patterns: Iterable[str] | None) -> Patterns | None:
        """Make one where there are patterns."""
        return None if patterns is None else cls(patterns)

    def matches(self, text: str) -> bool:
        """Tell whether a pattern fits all of ``text``."""
        return self._included.fullmatch(text) is not None and self._excluded.fullmatch(text) is None

    def matching(self, keys: Iterable[str]) -> list[str]:
        """Give the keys that match, in order; an older name of Spark's matches as the current one does too."""
        return sorted(key for key in keys if self.matches(key) or self.matches(current_name(key)))


def _compiled(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(translate(pattern) for pattern in patterns) or r"(?!)")
