"""The way back: references where values stand (KIP-297)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from airflow_config_providers.core.encodings import forms
from airflow_config_providers.core.nested import map_leaves
from airflow_config_providers.core.search import Finder, Match, replace
from airflow_config_providers.core.text import octets
from airflow_config_providers.core.variable import ConfigVariable, scan

UNCHECKED: Final = "[hidden: could not be checked]"
"""Stands for what could not be searched."""

SHORTEST: Final = 5
"""Characters from which on a value is searched for inside texts."""

_COMMON = """
admin airflow default false hadoop local localhost master mysql password postgres public secret spark string token
username value
"""
COMMON_WORDS: Final = frozenset(_COMMON.split())
"""Words that say nothing as values and stand in many texts, so they are not searched for inside texts."""

_ENCODINGS_OF_LINES: Final = ("plain", "JSON")
"""A long text that is cut off, or printed line by line, is rarely encoded in another way."""


class ReverseTransformer:
    """
    Replaces values by the references they came from.

    Where two references have one value, the first in their order stands for it. A value of fewer than
    ``SHORTEST`` characters, or one of ``COMMON_WORDS``, is reversed where it is all there is, but not inside a
    text. What cannot be checked is not given back: ``UNCHECKED`` stands in its place.

    Has no text form that shows a value, and is not copied or pickled. False when there is nothing to hide. Safe to
    use from several threads.

    :param originals: config key -> text with references
    :param values: reference -> value
    """

    __slots__ = ("_index", "_originals", "_values")

    def __init__(self, originals: Mapping[str, str], values: Mapping[ConfigVariable, str]) -> None:
        self._originals = dict(originals)
        self._values = dict(values)
        self._index: _Index | None = None

    def reverse(self, configs: Mapping[str, Any]) -> dict[str, Any]:
        """
        Reverse a configuration, key by key.

        A key whose original text holds references gets that text back. Of the others each text, also inside
        mappings and sequences, becomes the reference if it equals a value, and is else reversed as a text. So
        are keys. What is not text stays as it is.
        """
        return {self.reverse_text(key): self._reversed(key, value) for key, value in configs.items()}

    def reverse_text(self, text: str) -> str:
        """
        Reverse any text, in time linear in its length.

        Finds values in every encoding of ``core.encodings``, and each line of a value on its own. Values that
        overlap are replaced as one, by the reference of the longest. A reference in the text stays, whatever it holds.
        """
        return reverse_text(text, (self,))

    def forget(self) -> None:
        """Drop the values; from then on only ``originals`` count."""
        self._values = {}
        self._index = None

    def find(self, data: bytes) -> list[Match]:
        """Give the places of values in ``data``, with what stands for each."""
        return (self._index or self._build()).finder.find(data)

    def _reversed(self, key: str, value: object) -> object:
        original = self._originals.get(key)
        if original is not None and scan(original):
            return original
        try:
            return map_leaves(value, self._leaf)
        except Exception:  # noqa: BLE001 - whatever a foreign mapping raises, the value must not be shown
            return UNCHECKED

    def _leaf(self, value: object) -> object:
        if isinstance(value, str):
            return (self._index or self._build()).references.get(value) or self.reverse_text(value)
        return reverse_bytes(value, (self,)) if isinstance(value, bytes) else value

    def _build(self) -> _Index:
        """Build the index when it is first needed; two threads may both build it, which does no harm."""
        index = self._index = _Index.of(self._values)
        return index

    def __bool__(self) -> bool:
        return any(self._values.values())

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self._values)} references>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("A ReverseTransformer is not pickled or copied: it holds secrets.")


def reverse_text(text: str, reversers: Sequence[ReverseTransformer]) -> str:
    """Reverse ``text`` for all ``reversers`` at once, so that a value of one is not cut up by another."""
    try:
        data = text.encode("utf-8", "surrogatepass")
        hidden = _replaced(data, reversers)
        return text if hidden == data else hidden.decode("utf-8", "surrogatepass")
    except Exception:  # noqa: BLE001 - fail closed
        return UNCHECKED


def reverse_bytes(data: bytes, reversers: Sequence[ReverseTransformer]) -> bytes:
    """Do as ``reverse_text`` with octets."""
    try:
        hidden = _replaced(data, reversers)
        return data if hidden == data else hidden
    except Exception:  # noqa: BLE001 - fail closed
        return UNCHECKED.encode()


def reverse_object(value: object, reversers: Sequence[ReverseTransformer]) -> object:
    """
    Reverse ``value`` as it would be shown.

    Texts and octets are reversed, also inside collections, as are keys. Any other object is left as it is unless
    its text form or its ``repr`` shows a value: then that form, reversed, stands for it.
    """
    try:
        return map_leaves(value, lambda leaf: _shown(leaf, reversers))
    except Exception:  # noqa: BLE001 - a foreign object's repr may raise anything; what it holds is not shown
        return UNCHECKED


def _shown(value: object, reversers: Sequence[ReverseTransformer]) -> object:
    if isinstance(value, str):
        return reverse_text(value, reversers)
    if isinstance(value, bytes | bytearray | memoryview):
        hidden = reverse_bytes(bytes(value), reversers)
        return value if hidden == value else hidden
    if value is None or isinstance(value, bool):
        return value
    for shown in (str(value), repr(value)):
        if (hidden_text := reverse_text(shown, reversers)) != shown:
            return hidden_text
    return value


def _replaced(data: bytes, reversers: Sequence[ReverseTransformer]) -> bytes:
    matches: list[Match] = []
    for reverser in reversers:
        matches += reverser.find(data)
    return replace(data, matches) if matches else data


@dataclass(frozen=True, slots=True, repr=False)
class _Index:
    """
    What is looked up for each text.

    :param references: value -> its reference
    :param finder: finds the forms of the values, and the references, which stand for themselves: what is found
        inside a reference is part of its name
    """

    references: Mapping[str, str]
    finder: Finder

    @classmethod
    def of(cls, values: Mapping[ConfigVariable, str]) -> _Index:
        references: dict[str, str] = {}
        for variable in sorted(values):
            references.setdefault(values[variable], str(variable))
        references.pop("", None)
        labels = {octets(reference): octets(reference) for reference in map(str, values)}
        for form, reference in _searched(references):
            labels.setdefault(form, octets(reference))
        return cls(references, Finder(labels))


def _searched(references: Mapping[str, str]) -> Iterator[tuple[bytes, str]]:
    """Give what is searched for inside texts: whole values first, then single lines of longer ones."""
    for value, reference in references.items():
        for text in dict.fromkeys((value, value.strip())):  # a blank at the end is often lost on the way
            if len(text) >= SHORTEST and text.strip() and text.casefold() not in COMMON_WORDS:
                yield from ((form, reference) for form in forms(text))
    for value, reference in references.items():
        for line in map(str.strip, value.splitlines()):
            if _is_telling(line):
                yield from ((form, reference) for form in forms(line, _ENCODINGS_OF_LINES))


def _is_telling(line: str) -> bool:
    """Tell a line that gives a secret away from brackets, rulers and the first and last line of a PEM file."""
    return (
        sum(map(str.isalnum, line)) >= SHORTEST and not line.startswith("-----") and line.casefold() not in COMMON_WORDS
    )
