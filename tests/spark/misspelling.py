"""Misspells keys, in one place each, always in the same way."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final


def letter_left_out(key: str) -> str:
    return _changed(key, lambda word, at: word[:at] + word[at + 1 :])


def letter_doubled(key: str) -> str:
    return _changed(key, lambda word, at: word[:at] + word[at] + word[at:])


def letter_replaced(key: str) -> str:
    return _changed(key, lambda word, at: word[:at] + ("q" if word[at] != "q" else "z") + word[at + 1 :])


def letters_swapped(key: str) -> str:
    return _changed(key, lambda word, at: word[: at - 1] + word[at] + word[at - 1] + word[at + 1 :])


def part_left_out(key: str) -> str:
    """Leave out the part before the last one."""
    first, *parts = key.split(".")
    return ".".join([first, *parts[:-2], *parts[-1:]]) if len(parts) > 1 else key


def word_of_a_part_left_out(key: str) -> str:
    return re.sub(r"([a-z])[A-Z][a-z]+", r"\1", key, count=1)


def part_doubled(key: str) -> str:
    first, second, *others = key.split(".")
    return ".".join([first, second, second, *others])


def another_number(key: str) -> str:
    return key[:-1] if key.endswith("s") else f"{key}s"


def dots_for_capitals(key: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z])", lambda found: f".{found[1].lower()}", key)


def capitals_for_dots(key: str) -> str:
    head, _, tail = key.rpartition(".")
    return head + tail[:1].upper() + tail[1:]


def underscores_for_dots(key: str) -> str:
    first, _, others = key.partition(".")
    return f"{first}.{others.replace('.', '_')}"


def without_capitals(key: str) -> str:
    return key.lower()


def _changed(key: str, change: Callable[[str, int], str]) -> str:
    """Change the longest part of ``key`` in its middle."""
    parts = key.split(".")
    place = max(range(1, len(parts)), key=lambda index: len(parts[index]))
    parts[place] = change(parts[place], len(parts[place]) // 2)
    return ".".join(parts)


KINDS: Final = (
    letter_left_out,
    letter_doubled,
    letter_replaced,
    letters_swapped,
    part_left_out,
    word_of_a_part_left_out,
    part_doubled,
    another_number,
    dots_for_capitals,
    capitals_for_dots,
    underscores_for_dots,
    without_capitals,
)
