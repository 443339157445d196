"""The way back: references where values stand (KIP-297)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NoReturn

from airflow_config_providers.core.nested import map_leaves
from airflow_config_providers.core.reversal.encodings import ENCODINGS, EVEN, forms
from airflow_config_providers.core.reversal.parts import Match, Source
from airflow_config_providers.core.reversal.search import Finder, replace
from airflow_config_providers.core.text import octets, one_line
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

_OTHERS: Final = tuple(name for name in ENCODINGS if name != "plain" and name not in EVEN)
_ENCODINGS_OF_LINES: Final = ("JSON", "XML and HTML", "shell")
"""The others write the line ends of a long text as something else, so it does not come line by line."""


class ReverseTransformer:
    """
    Replaces values by the references they came from.

    Where two references have one value, the one stands for it that the configuration key has, or whose own key the
    configuration key ends in, else the first in their order. A value of fewer than ``SHORTEST`` characters, or one
    of ``COMMON_WORDS``, is reversed where it is all there is, but not inside a text. What cannot be checked is not
    given back: ``UNCHECKED`` stands in its place.

    Has no text form that shows a value, and is not copied or pickled. False when there is nothing to hide. Safe to
    use from several threads.

    :param originals: config key -> text with references
    :param values: reference -> value
    """

    __slots__ = ("_finder", "_named", "_originals", "_references", "_values")

    def __init__(self, originals: Mapping[str, str], values: Mapping[ConfigVariable, str]) -> None:
        self._originals = dict(originals)
        self._values = dict(values)
        self._references: Mapping[str, str] = {}
        self._named: Mapping[tuple[str, str], str] = {}
        self._finder: Finder | None = None

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

        Finds values in every encoding of ``core.reversal.encodings``, and each line of a value on its own. Values that
        overlap are replaced as one, by the reference of the longest. A reference in the text stays, whatever it holds.
        """
        try:
            data = text.encode("utf-8", "surrogatepass")
            matches = self.find(data)
            return replace(data, matches).decode("utf-8", "surrogatepass") if matches else text
        except Exception:  # noqa: BLE001 - fail closed
            return UNCHECKED

    def forget(self) -> None:
        """Drop the values; from then on only ``originals`` count."""
        self._values = {}
        self._references = {}
        self._named = {}
        self._finder = None

    def find(self, data: bytes) -> list[Match]:
        """Give the places of values in ``data``, with what stands for each."""
        return (self._finder or self._build()).find(data)

    def is_clear(self, data: bytes) -> bool:
        """Whether no value begins in ``data``, but for one of which too little is at its end to tell."""
        return (self._finder or self._build()).is_clear(data)

    @property
    def finder(self) -> Finder:
        """What finds values in octets; made when it is first needed."""
        return self._finder or self._build()

    def _reversed(self, key: str, value: object) -> object:
        original = self._originals.get(key)
        if original is not None and scan(original):
            return original
        try:
            return map_leaves(value, lambda leaf: self._leaf(leaf, key.rpartition(".")[2]))
        except Exception:  # noqa: BLE001 - whatever a foreign mapping raises, the value must not be shown
            return UNCHECKED

    def _leaf(self, value: object, name: str) -> object:
        if isinstance(value, str):
            if self._finder is None:
                self._build()
            return self._named.get((value, name)) or self._references.get(value) or self.reverse_text(value)
        return reverse_bytes(value, (self,)) if isinstance(value, bytes) else value

    def _build(self) -> Finder:
        """Build what finds, when it is first needed; two threads may both build it, which does no harm."""
        references: dict[str, str] = {}
        named: dict[tuple[str, str], str] = {}
        for variable in sorted(self._values):
            if value := self._values[variable]:
                references.setdefault(value, str(variable))
                named.setdefault((value, variable.key), str(variable))
        self._references, self._named = references, named
        finder = self._finder = _finder(references, map(str, self._values))
        return finder

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
        matches = find(data, reversers)
        return replace(data, matches).decode("utf-8", "surrogatepass") if matches else text
    except Exception:  # noqa: BLE001 - fail closed
        return UNCHECKED


def reverse_bytes(data: bytes, reversers: Sequence[ReverseTransformer]) -> bytes:
    """Do as ``reverse_text`` with octets."""
    try:
        matches = find(data, reversers)
        return replace(data, matches) if matches else data
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


def find(data: bytes, reversers: Sequence[ReverseTransformer]) -> list[Match]:
    """Give the places of the values of all ``reversers`` in ``data``; they may overlap."""
    if len(reversers) == 1:
        return reversers[0].find(data)
    return [match for reverser in reversers for match in reverser.find(data)]


def _finder(references: Mapping[str, str], shown: Iterable[str]) -> Finder:
    """
    Make what finds the values, and what stands for each, which has no control characters.

    References are found, too, and stand for themselves: what is found inside a reference is part of its name.
    """
    labels = {octets(reference): octets(one_line(reference)) for reference in shown}
    sources: dict[bytes, Source] = {}
    for form, source, reference in _searched(references):
        if form not in labels:
            labels[form] = labels[octets(reference)]
            sources[form] = source
    return Finder(labels, sources)


def _searched(references: Mapping[str, str]) -> Iterator[tuple[bytes, Source, str]]:
    """Give what is searched for inside texts, with what it is a form of: whole values, then single lines of them."""
    whole = [
        (text, reference)
        for value, reference in references.items()
        for text in dict.fromkeys((value, value.strip()))  # a blank at the end is often lost on the way
        if len(text) >= SHORTEST and text.strip() and text.casefold() not in COMMON_WORDS
    ]
    lines = [
        (line, reference)
        for value, reference in references.items()
        for line in map(str.strip, value.splitlines())
        if _is_telling(line)
    ]
    for text, reference in (*whole, *lines):
        yield octets(text), Source(octets(text)), reference
    for texts, encodings in ((whole, _OTHERS), (whole, EVEN), (lines, _ENCODINGS_OF_LINES)):
        for text, reference in texts:
            source = Source(octets(text), is_even=encodings is EVEN)
            for form in forms(text, encodings):
                yield form, source, reference


def _is_telling(line: str) -> bool:
    """Tell a line that gives a secret away from brackets, rulers and the first and last line of a PEM file."""
    return (
        sum(map(str.isalnum, line)) >= SHORTEST and not line.startswith("-----") and line.casefold() not in COMMON_WORDS
    )
