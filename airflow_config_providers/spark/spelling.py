"""The number of letters in which two words differ."""

from __future__ import annotations


def letters(word: str) -> int:
    """Return a number with a bit for each letter of ``word``: a difference of n letters changes at most 2n bits."""
    found = 0
    for letter in word.lower():
        found |= 1 << (ord(letter) & 63)
    return found


def distance_within(one: str, other: str, most: int) -> int | None:
    """
    Return how many letters must be added, removed, replaced or swapped with the next to get from one to the other.

    Case is ignored. The time is bounded for small ``most``, however long the words are.

    :return: None if it is more than ``most``
    """
    return _distance(one.lower(), other.lower(), most)


def _distance(one: str, other: str, most: int) -> int | None:
    same = _same_letters(one, other)
    one, other = one[same:], other[same:]
    if not one or not other:
        rest = len(one) + len(other)
        return rest if rest <= most else None
    if most == 0 or abs(len(one) - len(other)) > most:
        return None
    ways = [(one[1:], other), (one, other[1:]), (one[1:], other[1:])]
    if one[:2] == other[1::-1]:
        ways.append((one[2:], other[2:]))
    found = [cost for way in ways if (cost := _distance(*way, most - 1)) is not None]
    return 1 + min(found) if found else None


def _same_letters(one: str, other: str) -> int:
    """Return the length of the common prefix of both words."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))
