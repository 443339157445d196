"""Names and patterns of names: ``spark.jars``, ``spark.jars.*``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import translate

from airflow_config_providers.dynamic.policies.key_names import current_name, names_of


class Patterns:
    """
    Patterns in which ``*`` matches any string, ``?`` any character, and ``[ab]`` one of the two. Case matters.

    :param excluded: patterns of exceptions, which do not match
    """

    def __init__(self, patterns: Iterable[str], *, excluded: Iterable[str] = ()) -> None:
        self._included, self._excluded = _Compiled(patterns), _Compiled(excluded)

    @classmethod
    def of(cls, patterns: Iterable[str] | None) -> Patterns | None:
        """Return the patterns; None for None."""
        return None if patterns is None else cls(patterns)

    def matches(self, text: str) -> bool:
        """Return whether a pattern matches all of ``text``, and no exception does."""
        return self._included.fits(text) and not self._excluded.fits(text)

    def matching(self, keys: Iterable[str]) -> list[str]:
        """Return the keys of which at least one name matches, in order."""
        return sorted(key for key in keys if any(map(self.matches, names_of(key))))


class _Compiled:
    """Compiled patterns. Most are plain names, which are looked up instead of tried one after the other."""

    def __init__(self, patterns: Iterable[str]) -> None:
        texts = set(patterns)
        plain = {text for text in texts if not re.search(r"[*?\[]", text)}
        self._plain = plain | {current_name(name) for name in plain}
        self._others = re.compile("|".join(translate(text) for text in sorted(texts - plain)) or r"(?!)")

    def fits(self, text: str) -> bool:
        return text in self._plain or self._others.fullmatch(text) is not None
