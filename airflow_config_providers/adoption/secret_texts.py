"""The strings that appear in a DAG file together with a sensitive name, any of which could be a secret."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from airflow_config_providers.core.sensitive import sounds_secret
from airflow_config_providers.core.templates import without_templates
from airflow_config_providers.core.variable import beside_references

_LEAST: Final = 4
"""A shorter string is not looked for in others."""

_LARGE: Final = 1_000
"""A smaller number is rarely a secret."""


@dataclass(frozen=True, slots=True)
class SecretTexts:
    """
    Strings that could be secrets, to compare with others.

    :param joined: all of them, to find out quickly whether a string is part of one
    :param words: those that are long enough to be looked for in others
    """

    joined: str = field(repr=False)
    words: tuple[str, ...] = field(repr=False)

    @classmethod
    def of(cls, tree: ast.Module, known: Container[ast.AST], under: Iterable[ast.expr]) -> SecretTexts:
        """
        Return the strings of each statement with a sensitive name, and of each that assigns a variable used by one.

        :param known: the constants whose meaning is known; they are left out, also as names
        :param under: the values that a configuration has under sensitive keys
        """
        texts = (_text_of(node.value) for node in _constants(tree, known, list(under)) if could_be_secret(node.value))
        found = tuple(dict.fromkeys(text for text in texts if not _is_sensitive_name(text)))
        return cls("\0".join(found), tuple(text for text in found if len(text) >= _LEAST))

    def overlap(self, value: object) -> bool:
        """Return whether a constant is part of one of the strings, or contains one of them."""
        text = _without_references(_text_of(value))
        is_part = len(text) >= _LEAST and text in self.joined
        return is_part or any(_has(text, word) for word in self.words if word in text)


def could_be_secret(value: object) -> bool:
    """Return whether a constant is neither empty, nor a switch, a small number, a reference or a template."""
    if isinstance(value, int | float | complex):
        return abs(value) >= _LARGE
    if isinstance(value, str):
        return _without_references(value).lower() not in {"", "true", "false", "none"}
    return bool(value) and value is not ...


def _text_of(value: object) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _without_references(text: str) -> str:
    return beside_references(without_templates(text)).strip()


def _has(text: str, word: str) -> bool:
    """Return whether ``word`` is in ``text``; if it has only letters, as a word by itself."""
    return not word.isalpha() or re.search(rf"(?<!\w){word}(?!\w)", text) is not None


def _is_sensitive_name(text: str) -> bool:
    return sounds_secret(text) and re.fullmatch(r"[\w.-]+", text) is not None


def _constants(tree: ast.Module, known: Container[ast.AST], under: list[ast.expr]) -> Iterator[ast.Constant]:
    """Yield the constants that ``SecretTexts.of`` describes, following variables to where they are assigned."""
    statements = list(_statements(tree, known))
    assigning: dict[str, list[_Statement]] = {}
    for one in statements:
        for name in one.assigned():
            assigning.setdefault(name, []).append(one)
    waiting = [_Statement([node for node in ast.walk(value) if node not in known]) for value in under]
    waiting += [one for one in statements if one.is_named]
    seen: set[str] = set()
    for one in waiting:  # which grows
        yield from one.constants()
        used = one.names() - seen
        seen |= used
        waiting += [other for name in used for other in assigning.get(name, ())]


@dataclass(frozen=True, slots=True)
class _Statement:
    """
    A statement, without the statements inside it.

    :param parts: its nodes, without known constants
    :param is_named: whether it has a sensitive name, or is in a block that has one
    :param blocks: the names of the functions and classes that it is in, by which others use it
    """

    parts: list[ast.AST]
    is_named: bool = True
    blocks: tuple[str, ...] = ()

    def constants(self) -> Iterator[ast.Constant]:
        yield from (node for node in self.parts if isinstance(node, ast.Constant))

    def names(self) -> set[str]:
        return {node.id for node in self.parts if isinstance(node, ast.Name)}

    def assigned(self) -> Iterator[str]:
        yield from self.blocks
        for node in self.parts:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
            elif isinstance(node, ast.arg):
                yield node.arg


def _statements(tree: ast.Module, known: Container[ast.AST]) -> Iterator[_Statement]:
    """Yield all statements except docstrings, which are about other things."""
    waiting: list[tuple[ast.AST, tuple[str, ...]]] = [(tree, ())]
    keys = set(_keys(tree))
    while waiting:
        statement, blocks = waiting.pop()
        own, inner = _parts(statement)
        parts = [one for one in own if one not in known]
        if not _is_docstring(statement):
            names = {*blocks, *(name for one in parts for name in _written(one))}
            yield _Statement(parts, not keys.isdisjoint(names) or any(map(sounds_secret, names)), blocks)
        below = (*blocks, name) if (name := _name_of_block(statement)) else blocks
        waiting += [(one, below) for one in inner]


def _keys(tree: ast.Module) -> Iterator[str]:
    """Yield the variables whose string is a sensitive name, and which can therefore name something else."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant | ast.JoinedStr | ast.BinOp):
            names = (name for one in ast.walk(node.value) for name in _written(one))
            if any(map(sounds_secret, names)):
                yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def _parts(statement: ast.AST) -> tuple[list[ast.AST], list[ast.stmt]]:
    """Return the nodes of a statement itself, and the statements in it."""
    parts, inner = [statement], []
    for node in parts:  # which grows
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                inner.append(child)
            else:
                parts.append(child)
    return parts, inner


def _name_of_block(statement: ast.AST) -> str:
    match statement:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return name
    return ""


def _written(node: ast.AST) -> Iterator[str]:
    """Yield each name and each string in the fields of a node."""
    for _, value in ast.iter_fields(node):
        yield from (one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str))


def _is_docstring(statement: ast.AST) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
