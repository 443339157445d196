"""Marks that distinguish what the author of a template wrote from data that the template has inserted."""

from __future__ import annotations

import re
import secrets
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, cast

from jinja2 import Environment
from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream
from jinja2.nativetypes import NativeEnvironment

from airflow_config_providers.core.nested import map_leaves
from airflow_config_providers.core.variable import scan

_UP: Final = ".."
_OPTION: Final = "?"
_IN_PATH: Final = frozenset({_UP, _OPTION})
_SIGNS: Final = r"""\$\{(?=[^\s'"${}:]*(?::|\Z))|[:{}?]"""
_STRUCTURE: Final = re.compile(rf"{_SIGNS}|(?<=[/:])\.\.(?=[/:}}])")
"""What can open, divide or close a reference, go up in its path or begin an option there, as in ``?version=1``; a
template can insert the provider of one."""
_STRUCTURE_IN_STRING: Final = re.compile(rf"{_SIGNS}|(?<![^/:])\.\.(?![^/:}}])")
"""The same in a string of an expression, which can be a whole step of a path."""

_PLAIN_TAGS: Final = frozenset({"if", "elif", "else", "endif", "for", "endfor", "include", "do"})
"""Blocks that write their content straight into the result; others can read it first."""

_EQUALITY: Final = frozenset({"eq ==", "ne !="})
_COMPARISON: Final = _EQUALITY | {"name in", "lt <", "lteq <=", "gt >", "gteq >="}
_NOT_IN: Final = ["name not", "name in"]

_BITS: Final = 64
"""Bits of the random number of a mark."""

_DIGITS: Final = 20
"""The most decimal digits of a number with ``_BITS`` bits."""

_NUMBER_DIGITS: Final = 6
"""Digits of the number of a place."""


class MayBeSeenError(Exception):
    """The template can read its marks, so its result with them can differ."""


@dataclass(frozen=True, slots=True)
class _MarkedSign:
    """
    A marked place in the author's text.

    :param sign: what is marked: ``${``, ``:``, ``}``, ``..`` or ``?``; empty for the end of a text in a reference
    :param former: the numbers of the places that can directly precede this one in its reference
    """

    sign: str
    former: set[int]


class Marks:
    """
    Marks the structure of the references that a template's author wrote: ``${``, colons, ``}``, steps up and ``?``.

    The mark follows the marked character. It begins with a random number, so data can neither know nor forge it. It
    ends with the number of its place, so data can neither join parts of two references nor hide a part of one. Digits
    survive encodings and changes of case.

    :param environment: the environment that renders the template; it is not changed
    :param may_be_seen: allow the template to read the marks; otherwise, rendering it raises ``MayBeSeenError`` before
        it calls anything, except in templates that it includes
    """

    def __init__(self, environment: Environment, *, may_be_seen: bool = False) -> None:
        self.is_redirected = False
        """Whether a reference would be the author's except for a step up, or a ``?``, that came from data."""
        self._secret = str(secrets.randbits(_BITS)).zfill(_DIGITS)
        pattern = rf"{self._secret}([0-9]{{{_NUMBER_DIGITS}}})"
        self._mark, self._mark_in_bytes = re.compile(pattern), re.compile(pattern.encode())
        self.environment = environment.overlay(extensions=[_Marking], bytecode_cache=None)
        """The environment that renders one template, once, with marks in the result."""
        self._marking = cast("_Marking", self.environment.extensions[_Marking.identifier])
        self._marking.secret = self._secret
        self._marking.is_stopping = not may_be_seen

    @property
    def are_needed(self) -> bool:
        """Whether anything is the author's: something was marked, or data has no part in the result."""
        return self._marking.has_marked or self._marking.is_literal

    @property
    def may_be_seen(self) -> bool:
        """Whether the template can read a mark, as in ``'${a:b}' | length``, so that its result differs."""
        return self._marking.has_marked and self._marking.may_be_seen

    def without(self, value: object, *, found: Callable[[str, bool], None]) -> object:
        """
        Return ``value`` without marks, however nested.

        :param found: is called with each string in the result, and whether the author wrote its references
        :raises RecursionError: collections are nested too deeply
        """

        def change(leaf: object) -> object:
            if isinstance(leaf, str):
                text, places = self._read(leaf) if self._secret in leaf else (leaf, [])
                found(text, self._marking.is_literal or self._are_around(text, places))
                return text
            return self._mark_in_bytes.sub(b"", leaf) if isinstance(leaf, bytes) else leaf

        return map_leaves(value, change)

    def _read(self, marked: str) -> tuple[str, list[tuple[int, int]]]:
        """Return the text without marks, and the position of each mark with the number of its place in the template."""
        pieces: list[str] = []
        found: list[tuple[int, int]] = []
        length = position = 0
        for mark in self._mark.finditer(marked):
            pieces.append(marked[position : mark.start()])
            length += len(pieces[-1])
            found.append((length - 1, int(mark[1])))
            position = mark.end()
        return "".join([*pieces, marked[position:]]), found

    def _are_around(self, text: str, found: list[tuple[int, int]]) -> bool:
        """Return whether the author wrote the structure of every reference in ``text``."""
        return all(
            self._is_around(text, span, found[bisect_left(found, (span[0],)) : bisect_left(found, (span[1],))])
            for span in scan(text)
        )

    def _is_around(self, text: str, span: tuple[int, int, str, str, str], found: list[tuple[int, int]]) -> bool:
        """
        Return whether the marks in one reference make it the author's: from ``${`` to ``}``, with none missing.

        An author who wrote one colon left path and key to the template, so the second colon can come from data. A
        step up in the path may not: data may only choose what is below the directory that the author wrote. Nor may a
        ``?``, after which Vault's provider reads a version.
        """
        start, end, provider, path, _ = span
        places = self._marking.places
        inner = {position for position, number in found if places[number].sign in _IN_PATH}
        found = [(position, number) for position, number in found if places[number].sign not in _IN_PATH]
        marks = [(position, places[number].sign) for position, number in found]
        if marks[:1] != [(start + 1, "${")] or marks[-1] != (end - 1, "}"):
            return False
        if not all(before in places[after].former for (_, before), (_, after) in pairwise(found)):
            return False
        colons = [position for position, sign in marks if sign == ":"]
        first = start + 2 + len(provider)
        is_divided = colons[:1] == [first] and colons[1:2] in ([], [first + 1 + len(path)])
        if not is_divided or any(text[colon] != ":" for colon in colons):
            return False
        inner = {position - start - len("${:") - len(provider) for position in inner}
        is_own = _goes_up_only_at(path, inner) and inner.issuperset(i for i, c in enumerate(path) if c == _OPTION)
        self.is_redirected |= not is_own
        return is_own


class _Marking(Extension):
    """Inserts marks into the first template that it gets, and into those that this one loads by name."""

    priority = 1000  # runs after other extensions have changed the source

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        self.secret = ""
        self.is_stopping = False
        self.has_marked = False
        self.is_literal = True
        self.may_be_seen = isinstance(environment, NativeEnvironment)  # it evaluates the result as Python
        self.places: list[_MarkedSign] = []
        self._has_begun = False

    def filter_stream(self, stream: TokenStream) -> TokenStream | Iterator[Token]:
        """Mark the author's strings. A later template without a name is data that a function renders."""
        if self._has_begun and stream.name is None:
            return stream
        self._has_begun = True
        tokens = list(self._marked(list(stream)))
        if self.is_stopping and self.has_marked and self.may_be_seen:
            raise MayBeSeenError
        return iter(tokens)

    def _marked(self, tokens: Sequence[Token]) -> Iterator[Token]:
        outside, inside = _TemplateText(self.secret, self.places), _TemplateText(self.secret, self.places)
        previous = ""
        for i, token in enumerate(tokens):
            value = token.value
            if token.type in {"variable_begin", "block_begin"}:
                inside = _TemplateText(self.secret, self.places)
            elif token.type in {"variable_end", "block_end"}:
                outside.go_on_from(inside)
            elif token.type == "data" or _is_alone(tokens, i):
                value = outside.marked(value)
                self.may_be_seen |= token.type == "string" and self.environment.finalize is not None
            elif token.type == "string" and not _is_compared(tokens, i):
                value = inside.marked_in_expression(value)
                self.may_be_seen |= value != token.value
            elif token.type == "name" and previous == "block_begin":
                outside.enter(value)
                self.may_be_seen |= value not in _PLAIN_TAGS
            self.may_be_seen |= token.type == "name" and value == "recursive"  # loop() returns what it has written
            self.has_marked |= value != token.value
            self.is_literal &= token.type == "data"
            previous = token.type
            yield Token(token.lineno, token.type, value)


def _goes_up_only_at(path: str, steps: set[int]) -> bool:
    """
    Return whether each ``..`` of ``path`` ends at one of ``steps`` and cancels a directory that has a name.

    If there is nothing to cancel, as in ``{{ x }}/../b`` with an empty ``x``, it would cancel what precedes it.
    """
    names: list[str] = []
    position = -1
    for name in path.split("/"):
        position += 1 + len(name)
        if name != _UP:
            names.append(name)
        elif position - 1 not in steps or names[-1:] in ([""], ["."]):
            return False
        elif names and names[-1] != _UP:
            names.pop()
        else:
            names.append(name)
    return True


def _is_alone(tokens: Sequence[Token], i: int) -> bool:
    """Return whether a token is a string that is a whole expression, and so equal to plain text."""
    return [token.type for token in tokens[max(i - 1, 0) : i + 2]] == ["variable_begin", "string", "variable_end"]


def _is_compared(tokens: Sequence[Token], i: int) -> bool:
    """
    Return whether a string is next to a comparison, as in ``'?' in u``, so that it cannot be a part of the result.

    With a mark, it would compare differently. Without one, it is taken for data, so this can only refuse more.
    """
    before, after, *later = (f"{token.type} {token.value}" for token in (tokens[i - 1], *tokens[i + 1 : i + 3]))
    return before in _EQUALITY or after in _COMPARISON or [after, *later] == _NOT_IN


@dataclass(slots=True)
class _TemplateBlock:
    """
    An open block.

    :param before: the possible last places before it, as in ``_TemplateText``
    :param begin: the number of the first place in it
    :param after: the possible last places at the ends of its previous branches
    """

    before: set[int]
    begin: int
    is_loop: bool
    has_else: bool = False
    after: set[int] = field(default_factory=set)


class _TemplateText:
    """
    A string that a template interrupts.

    Its state is a set: the numbers of all places that could be the last one in an open reference. It is empty if no
    reference is open.
    """

    def __init__(self, secret: str, places: list[_MarkedSign]) -> None:
        self._secret = secret
        self._places = places
        self._last: set[int] = set()
        self._blocks: list[_TemplateBlock] = []

    def marked(self, text: str) -> str:
        """Return the next piece of the text, with marks, also at its end, which data could otherwise hide in Python."""
        text, rest = self._with_structure(text, is_nesting=False)
        return text + (rest + self._mark("") if rest and self._last else rest)

    def marked_in_expression(self, text: str) -> str:
        """Return a string in an expression, with marks. Braces in it can be a placeholder instead of an end."""
        return "".join(self._with_structure(text, is_nesting=True))

    def _with_structure(self, text: str, *, is_nesting: bool) -> tuple[str, str]:
        """Return the text up to its last mark, and the rest."""
        pieces: list[str] = []
        position = depth = 0
        for found in (_STRUCTURE_IN_STRING if is_nesting else _STRUCTURE).finditer(text):
            sign = found.group()
            if sign == "${":
                depth = 0
            elif not self._last and sign not in _IN_PATH:
                continue
            elif sign == "{":
                depth += is_nesting
                continue
            pieces += [text[position : found.end()], self._mark(sign)]
            position = found.end()
            if sign == "}" and depth:
                depth -= 1
            elif sign == "}":
                self._last = set()
        return "".join(pieces), text[position:]

    def _mark(self, sign: str) -> str:
        number = len(self._places)
        if number >= 10**_NUMBER_DIGITS:
            return ""
        self._places.append(_MarkedSign(sign, self._last))
        self._last = self._last if sign in _IN_PATH else {number}
        return f"{self._secret}{number:0{_NUMBER_DIGITS}}"

    def go_on_from(self, expression: _TemplateText) -> None:
        """Continue with the reference that an expression left open."""
        self._last = self._last or expression._last

    def enter(self, tag: str) -> None:
        """Continue at another branch of the template."""
        if tag in {"if", "for"}:
            self._blocks.append(_TemplateBlock(self._last, len(self._places), is_loop=tag == "for"))
        elif tag in {"elif", "else"} and self._blocks:
            block = self._blocks[-1]
            self._end_branch(block)
            block.has_else |= tag == "else"
            self._last = block.before
        elif tag in {"endif", "endfor"} and self._blocks:
            block = self._blocks.pop()
            self._end_branch(block)
            self._last = block.after if block.has_else else block.after | block.before

    def _end_branch(self, block: _TemplateBlock) -> None:
        """Add what is open at the end of a branch; a loop can begin again from there."""
        block.after |= self._last
        if not block.is_loop or block.has_else:
            return
        for number in range(block.begin, len(self._places)):
            place = self._places[number]
            if place.former & block.before:
                self._places[number] = _MarkedSign(place.sign, place.former | self._last)
