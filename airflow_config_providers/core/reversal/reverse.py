"""Reversal: replace values by the references they came from (KIP-297)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NoReturn

from airflow_config_providers.core.nested import map_leaves
from airflow_config_providers.core.reversal.encodings import ENCODINGS, EVEN, forms
from airflow_config_providers.core.reversal.patterns import Match, Source
from airflow_config_providers.core.reversal.search import Finder, replace
from airflow_config_providers.core.sensitive import HIDDEN
from airflow_config_providers.core.text import octets, one_line
from airflow_config_providers.core.variable import ConfigVariable, scan

UNCHECKED: Final = "[hidden: could not be checked]"
"""Replaces anything that could not be searched."""

SHORTEST: Final = 5
"""Length from which on a value is searched for inside texts."""

KEPT: Final = 500
"""How many earlier values of each reference are known: those of 83 minutes, if a value changes every ten seconds."""

_COMMON = """
admin airflow default false hadoop local localhost master mysql password postgres public secret spark string token
username value
"""
COMMON_WORDS: Final = frozenset(_COMMON.split())
"""Words too common to reveal anything; they are not searched for inside texts."""

_OTHERS: Final = tuple(name for name in ENCODINGS if name != "plain" and name not in EVEN)
_ENCODINGS_OF_LINES: Final = ("JSON", "XML and HTML", "shell")
"""The other encodings escape line ends, so a long text does not arrive line by line."""


class ReverseTransformer:
    """
    Replaces values by the references they came from.

    If two references have the same value, the one in the configuration key's original is used, or the one whose own
    key ends the configuration key, otherwise the first in sort order. A value shorter than ``SHORTEST``, or one of
    ``COMMON_WORDS``, is replaced only as a whole, not inside a text. Anything that cannot be checked is replaced by
    ``UNCHECKED``.

    Its string form shows no values, and it cannot be copied or pickled. False if there is nothing to hide. Safe to use
    from several threads.

    :param originals: config key -> string with references
    :param values: reference -> value
    :param hidden: values that have no reference; they are replaced by ``[hidden]``
    """

    __slots__ = ("_finder", "_named", "_originals", "_references", "hidden", "pairs")

    def __init__(
        self, originals: Mapping[str, str], values: Mapping[ConfigVariable, str], *, hidden: Iterable[str] = ()
    ) -> None:
        self._originals = dict(originals)
        self.pairs = tuple(values.items())
        """The references with their values; of several values of one, the current one comes first."""
        self.hidden = frozenset(filter(None, hidden))
        self._references: Mapping[str, str] = {}
        self._named: Mapping[tuple[str, str], str] = {}
        self._finder: Finder | None = None

    @classmethod
    def of_pairs(cls, pairs: Iterable[tuple[ConfigVariable, str]], *, hidden: Iterable[str] = ()) -> ReverseTransformer:
        """Return one for references of which some can have several values."""
        made = cls({}, {}, hidden=hidden)
        made.pairs = tuple(dict.fromkeys(pairs))
        return made

    @property
    def current(self) -> dict[ConfigVariable, str]:
        """Reference -> its current value."""
        return dict(reversed(self.pairs))

    def changed_from(self, other: ReverseTransformer) -> set[ConfigVariable]:
        """Return the references that have another value in ``other``."""
        theirs = other.current
        return {variable for variable, value in self.current.items() if theirs.get(variable, value) != value}

    def reverse(self, configs: Mapping[str, Any]) -> dict[str, Any]:
        """
        Reverse a configuration, key by key.

        A key whose original contains references gets the original back. In other values, each string, also inside
        mappings and sequences, becomes the reference if it equals a value; otherwise it is reversed as text, and so
        are keys. Anything that is not a string or bytes stays unchanged.
        """
        return {self.reverse_text(key): self._reversed(key, value) for key, value in configs.items()}

    def reverse_text(self, text: str) -> str:
        """
        Reverse any text, in time linear in its length.

        Finds values in every encoding of ``core.reversal.encodings``, and each line of a value on its own. Values that
        overlap are replaced as one, by the reference of the longest. A reference in the text stays unchanged.
        """
        return reverse_text(text, (self,))

    def knowing(self, earlier: ReverseTransformer) -> ReverseTransformer:
        """Return one that also replaces the values of ``earlier``, which the same references had before."""
        both = self.of_pairs((*self.pairs, *earlier.pairs), hidden=self.hidden | earlier.hidden)
        both._originals = self._originals
        return both

    def recent(self, kept: int) -> ReverseTransformer:
        """Return one for the last ``kept`` values of each reference and its first; all of them would make it slow."""
        seen: Counter[ConfigVariable] = Counter()
        last = []
        for variable, value in self.pairs:  # the newest first
            seen[variable] += 1
            if seen[variable] <= kept:
                last.append((variable, value))
        return self.of_pairs((*last, *dict(self.pairs).items()), hidden=self.hidden)

    def forget(self) -> None:
        """Drop the values; from then on, only ``originals`` are used."""
        self.pairs = ()
        self.hidden = frozenset()
        self._references = {}
        self._named = {}
        self._finder = None

    @property
    def finder(self) -> Finder:
        """The finder for values in bytes; built on first use."""
        return self._finder or self._build()

    def _reversed(self, key: str, value: object) -> object:
        original = self._originals.get(key)
        if original is not None and scan(original):
            return original
        try:
            return map_leaves(value, lambda leaf: self._leaf(leaf, key.rpartition(".")[2]))
        except Exception:  # noqa: BLE001 - a foreign mapping can raise anything, and the value must not be shown
            return UNCHECKED

    def _leaf(self, value: object, name: str) -> object:
        if isinstance(value, str):  # both tables were built to reverse its key
            return self._named.get((value, name)) or self._references.get(value) or self.reverse_text(value)
        return reverse_bytes(value, (self,)) if isinstance(value, bytes) else value

    def _build(self) -> Finder:
        """Build the finder on first use; if two threads both build it, that does no harm."""
        references = dict.fromkeys(self.hidden, HIDDEN)
        named: dict[tuple[str, str], str] = {}
        for variable, value in sorted(self.pairs):
            if value:
                references.setdefault(value, str(variable))
                named.setdefault((value, variable.key), str(variable))
        self._references, self._named = references, named
        labels, sources = _labelled(references, (str(variable) for variable, _ in self.pairs))
        finder = self._finder = Finder(labels, sources)
        return finder

    def __bool__(self) -> bool:
        return any(value for _, value in self.pairs) or bool(self.hidden)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(dict(self.pairs))} references>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("A ReverseTransformer is not pickled or copied: it holds secrets.")


def reverse_text(text: str, reversers: Sequence[ReverseTransformer]) -> str:
    """Reverse ``text`` for all ``reversers`` at once, so that one does not cut up a value of another."""
    try:
        data = text.encode("utf-8", "surrogatepass")
        matches = find(data, reversers)
        return replace(data, matches).decode("utf-8", "surrogatepass") if matches else text
    except Exception:  # noqa: BLE001 - fail closed
        return UNCHECKED


def reverse_bytes(data: bytes, reversers: Sequence[ReverseTransformer]) -> bytes:
    """Do the same as ``reverse_text`` for bytes."""
    try:
        matches = find(data, reversers)
        return replace(data, matches) if matches else data
    except Exception:  # noqa: BLE001 - fail closed
        return UNCHECKED.encode()


def reverse_object(value: object, reversers: Sequence[ReverseTransformer]) -> object:
    """
    Reverse ``value`` as it would be shown.

    Strings and bytes are reversed, also inside collections, and so are keys. Any other object stays unchanged unless
    its ``str`` or ``repr`` shows a value: then it is replaced by that string, reversed.
    """
    try:
        if isinstance(value, str):
            return reverse_text(value, reversers)
        return map_leaves(value, lambda leaf: _shown(leaf, reversers))
    except Exception:  # noqa: BLE001 - a foreign object can raise anything, even when asked for its class; it is not shown
        return UNCHECKED


def _shown(value: object, reversers: Sequence[ReverseTransformer]) -> object:
    if isinstance(value, str):
        return reverse_text(value, reversers)
    if isinstance(value, bytes | bytearray | memoryview):
        hidden = reverse_bytes(bytes(value), reversers)
        return value if hidden == value else hidden
    if value is None or isinstance(value, bool):
        return value
    for shown in _texts_of(value):
        if (hidden_text := reverse_text(shown, reversers)) != shown:
            return hidden_text
    return value


def _texts_of(value: object) -> Iterable[str]:
    """Return what ``value`` would be shown as. Most objects show only the name of their class, and an address."""
    kind = type(value)
    if kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__:
        return (f"{kind.__module__}.{kind.__qualname__}",)
    return dict.fromkeys((str(value), repr(value)))


def find(data: bytes, reversers: Sequence[ReverseTransformer]) -> list[Match]:
    """Return the matches of the values of all ``reversers`` in ``data``, as one for all would; they can overlap."""
    if len(reversers) == 1:  # most logs have one, and each of their lines comes here
        return reversers[0].finder.find(data)
    finders = [reverser.finder for reverser in reversers]
    return [match for finder in finders for match in finder.find(data, finders)]


def telling_forms(value: str) -> list[bytes]:
    """Return the forms of a value that are searched for inside texts: in all encodings, whole, then line by line."""
    return list(dict.fromkeys(form for form, _, _ in _searched({value: ""})))


def telling_lines(value: str) -> list[str]:
    """Return the lines of a value of several lines, without those that reveal nothing; none for a value of one line."""
    split = value.splitlines()
    return [line for line in map(str.strip, split) if _is_telling(line)] if len(split) > 1 else []


def _labelled(references: Mapping[str, str], shown: Iterable[str]) -> tuple[dict[bytes, bytes], dict[bytes, Source]]:
    """
    Return all forms of the values with their labels, which have no control characters, and with their sources.

    References are found, too, and labelled with themselves: a value inside a reference is part of its name.
    """
    labels = {octets(each): octets(one_line(each)) for each in (*shown, *references.values())}
    sources: dict[bytes, Source] = {}
    for form, source, reference in _searched(references):
        if form not in labels:
            labels[form] = labels[octets(reference)]
            sources[form] = source
    return labels, sources


def _searched(references: Mapping[str, str]) -> Iterator[tuple[bytes, Source, str]]:
    """Yield the forms to search for inside texts, with their sources: whole values, then single lines of them."""
    whole = [
        (text, reference)
        for value, reference in references.items()
        for text in dict.fromkeys((value, value.strip()))  # trailing whitespace is often lost on the way
        if len(text) >= SHORTEST and text.strip() and text.casefold() not in COMMON_WORDS
    ]
    lines = [(line, reference) for value, reference in references.items() for line in telling_lines(value)]
    for text, reference in (*whole, *lines):
        yield octets(text), Source(octets(text)), reference
    for texts, encodings in ((whole, _OTHERS), (whole, EVEN), (lines, _ENCODINGS_OF_LINES)):
        for text, reference in texts:
            source = Source(octets(text), is_even=encodings is EVEN)
            for form in forms(text, encodings):
                yield form, source, reference


def _is_telling(line: str) -> bool:
    """Return whether ``line`` reveals a secret, unlike brackets, rulers, and the first and last line of a PEM file."""
    return (
        sum(map(str.isalnum, line)) >= SHORTEST and not line.startswith("-----") and line.casefold() not in COMMON_WORDS
    )
