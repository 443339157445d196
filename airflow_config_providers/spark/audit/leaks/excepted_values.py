"""Values that are no secrets, and in which a part of a secret is none either."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final

from airflow_config_providers.core.reversal.encodings import forms
from airflow_config_providers.core.reversal.windows import BytesAhoCorasick, Find

_SEPARATORS: Final = frozenset(b" \t\r\n\"'/:;,=@&?|()[]{}<>")
"""Bytes that can be beside a value both in a secret that contains it and elsewhere, and reveal nothing."""

Range = tuple[int, int]


class ExceptedValues:
    """
    Finds values that are no secrets, whole, in every encoding.

    A secret can contain such a value, as a JDBC URL contains a user name. Wherever the user name is, it is also a part
    of the URL, but reveals nothing more.

    :param values: long enough that they do not cut up a secret by chance
    """

    def __init__(self, values: Iterable[str]) -> None:
        texts = dict.fromkeys(text for value in values for text in (value, value.strip()))
        self._forms = list(dict.fromkeys(form for text in texts for form in forms(text)))
        self.margin = max(map(len, self._forms), default=0)

    def __bool__(self) -> bool:
        return bool(self._forms)

    def places(self, data: bytes) -> list[Range]:
        """Return where the values are in ``data``, in order; those that touch are one."""
        found: list[Range] = []
        for start, end in sorted((start, end) for _, start, end in self._find(data, True)):
            if found and start <= found[-1][1]:
                found[-1] = (found[-1][0], max(end, found[-1][1]))
            else:
                found.append((start, end))
        return found

    @cached_property
    def _find(self) -> Find:
        find: Find = BytesAhoCorasick(self._forms).find_matches_as_indexes
        return find


def covers(places: Sequence[Range], data: bytes, part: Range) -> bool:
    """Return whether all of a part of ``data``, except separators, is in ``places``, which are in order."""
    return not any(_outside(places, data, part))


def _outside(places: Sequence[Range], data: bytes, part: Range) -> Iterator[bool]:
    """Yield whether each byte of ``part`` that is in none of ``places`` is more than a separator."""
    place, end = part
    while place < end:
        index = bisect_right(places, (place, len(data))) - 1
        if index >= 0 and place < places[index][1]:
            place = places[index][1]
        else:
            yield data[place] not in _SEPARATORS
            place += 1
