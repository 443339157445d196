"""Keys whose words are right, but not their separators, their case, their number, or how often each is there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from airflow_config_providers.core.cached import cached_property

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Za-z][a-z]*|\d+")

_SEPARATORS: Final = str.maketrans("", "", "._-")

_FEWEST: Final = 3
"""The fewest words of a key in which one can be missing: shorter ones resemble too many others."""

_OF_JOBS: Final = "spark.app."
"""People choose names below it for their jobs, so that no word is missing there."""


class WordSlips:
    """
    Finds the key that is meant by one with a slip in its words.

    :param names: the keys to choose from, the most likely first
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = list(names)

    def meant(self, key: str) -> str | None:
        """Return the key that differs in separators or case, in the number of a word, or in a word written twice."""
        texts = (_squashed(key), _squashed(_once(key)), *_in_other_numbers(words(key)))
        return next((self._name(text) for text in texts if text in self._known), None)

    def with_missing_word(self, key: str) -> str | None:
        """Return the only key that has the words of ``key`` and one word or part more; None if there are several."""
        known, text = words(key), _squashed(key)
        if len(known) < _FEWEST or key.startswith(_OF_JOBS):
            return None
        splits = {"".join(known[:place]) for place in range(1, len(known) + 1)}
        longer = {name for start in splits for name in self._between(start, text[len(start) :])}
        found = [name for name in longer if text in _shortened(name)]
        return found[0] if len(found) == 1 else None

    def _between(self, start: str, end: str) -> Iterator[str]:
        """Yield the keys that begin with ``start``, end with ``end``, and have more between them."""
        wanted = f"\n{start}" if len(start) > len(end) else f"{end}\n"
        place = self._text.find(wanted)
        while place >= 0:
            first = self._text.rfind("\n", 0, place + 1) + 1
            last = self._text.index("\n", first)
            line = self._text[first:last]
            if len(line) > len(start) + len(end) and line.startswith(start) and line.endswith(end):
                yield self._name(line)
            place = self._text.find(wanted, last)

    @cached_property
    def _text(self) -> str:
        """Every key without separators, one a line: searching one text takes less time than making a table."""
        return _squashed("\n".join(["", *self._names, ""]))

    @cached_property
    def _lines(self) -> list[str]:
        return self._text.split("\n")[1:-1]

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self._lines)

    def _name(self, line: str) -> str:
        """Return the first name that is ``line`` without separators."""
        return self._names[self._lines.index(line)]


def words(key: str) -> list[str]:
    """Return the words of ``key`` in lower case: ``maxExecutors`` has two."""
    return [word.lower() for word in _WORD.findall(key)]


def _squashed(key: str) -> str:
    """Return ``key`` without the separators and the case, which people confuse."""
    return key.lower().translate(_SEPARATORS)


def _once(key: str) -> str:
    """Return the words of ``key`` without parts and words that are there twice in a row."""
    return "".join(_without_repetition(words(".".join(_without_repetition(key.split("."))))))


def _without_repetition(of: Sequence[str]) -> list[str]:
    return [*of[:1], *(later for earlier, later in pairwise(of) if later != earlier)]


def _in_other_numbers(of: Sequence[str]) -> Iterator[str]:
    """Yield the joined words, each time with another one in the singular or the plural."""
    for place, word in enumerate(of):
        other = word[:-1] if word.endswith("s") else f"{word}s"
        yield "".join([*of[:place], other, *of[place + 1 :]])


def _shortened(name: str) -> set[str]:
    """Return the words of ``name`` without one of them, and without those of one part."""
    return {"".join(rest) for of in (words(name), _squashed_parts(name)) for rest in _with_one_left_out(of)}


def _squashed_parts(name: str) -> list[str]:
    return [_squashed(part) for part in name.split(".")]


def _with_one_left_out(of: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield ``of`` without one item, which is not the first: that is ``spark``."""
    return ([*of[:place], *of[place + 1 :]] for place in range(1, len(of)))
