"""
Decides which lines of a DAG file a patch can show.

A string, a number or a comment could be a secret. Around a change, a patch shows no line that has one; in a changed
line, it shows only those whose meaning is known. Any string that appears together with a sensitive name could be one.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from airflow_config_providers.adoption.dag_source import DagSource, OperatorCall, Setting
from airflow_config_providers.adoption.references import has_hidden_text
from airflow_config_providers.core.sensitive import shows_secret, sounds_secret
from airflow_config_providers.core.templates import without_templates
from airflow_config_providers.core.text import grouped
from airflow_config_providers.core.variable import beside_references

_CODE: Final = frozenset(
    {tokenize.NAME, tokenize.OP, tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
)
"""The tokens that are no string, no number and no comment, in every version of Python."""

_NAMES: Final = frozenset(
    {"application", "java_class", "name", "pool", "queue", "task_display_name", "task_id", "trigger_rule"}
)
"""Arguments of operators that name something, besides those that set a key of Spark or name a connection."""

_WORD: Final = re.compile(r"[\"'(]*+(?:[A-Za-z]?[a-z']{0,19}+|[A-Z]{1,20}+)[\"'),.:;?!]*|-+")
"""A word as it is in a sentence; a password is rarely one."""

_FOR_LINTERS: Final = re.compile(
    r"#\s*(?:noqa(?::\s?[A-Z]{1,4}\d{1,4}(?:,\s?[A-Z]{1,4}\d{1,4})*)?|type: ignore(?:\[[a-z, -]+\])?)"
)

_LEAST: Final = 4
"""A shorter string is not looked for in others."""

_LARGE: Final = 1_000
"""A smaller number is rarely a secret."""


def lines_with_text(source: str) -> frozenset[int]:
    """
    Return the numbers of the lines that have a string, a number or a comment.

    :raises SyntaxError, TokenError: it is no Python
    """
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return frozenset(line for one in tokens if one.type not in _CODE for line in range(one.start[0], one.end[0] + 1))


def unknown_lines(dag: DagSource, calls: Sequence[OperatorCall]) -> frozenset[int]:
    """
    Return the numbers of the lines with a string, a number or a comment that could be a secret.

    It is known what names something: the keys of a configuration, the arguments of operators that set a key of Spark,
    and what is read from Airflow. A value of a configuration is known by its key, unless the file also has it together
    with a sensitive name.
    """
    names, values = set(_names(dag, calls)), set(_values(calls))
    known = names | values
    secrets = SecretTexts.of(dag.tree, known, _under_sensitive_keys(calls))
    constants = [node for node in ast.walk(dag.tree) if isinstance(node, ast.Constant)]
    found = [
        node for node in constants if _shows_secret(node.value) or (node not in known and could_be_secret(node.value))
    ]
    found += [node for node in values if could_be_secret(node.value) and secrets.overlap(node.value)]
    return frozenset(
        {line for node in found for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
        | set(_odd_comments(dag.text))
    )


def _names(dag: DagSource, calls: Iterable[OperatorCall]) -> Iterator[ast.AST]:
    for read in dag.reads():
        if read.is_plain:
            yield from ast.walk(read.node)
    for call in calls:
        mappings = {setting.mapping for setting in call.entries()}
        mappings |= {one.value for one in call.node.keywords if one.arg is None and isinstance(one.value, ast.Dict)}
        yield from (key for mapping in mappings for key in mapping.keys if isinstance(key, ast.Constant))


def _values(calls: Iterable[OperatorCall]) -> Iterator[ast.Constant]:
    for call in calls:
        for setting in call.entries():
            if isinstance(setting.node, ast.Constant) and not _is_sensitive(setting):
                yield setting.node
        for keyword in call.node.keywords:
            yield from _of_argument(call, keyword.arg, keyword.value)


def _of_argument(call: OperatorCall, name: str | None, value: ast.expr) -> Iterator[ast.Constant]:
    if name is None and isinstance(value, ast.Dict):
        for key, one in zip(value.keys, value.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield from _of_argument(call, key.value, one)
    elif name and _is_name(call, name):
        items = value.elts if isinstance(value, ast.List) else [value]
        yield from (one for one in items if isinstance(one, ast.Constant))


def _is_name(call: OperatorCall, argument: str) -> bool:
    of_spec = argument in call.spec.named.keys or argument in call.spec.paths
    return of_spec or argument in _NAMES or argument.endswith("conn_id")


def _under_sensitive_keys(calls: Sequence[OperatorCall]) -> Iterator[ast.expr]:
    settings = (setting for call in calls for setting in call.entries())
    yield from (setting.node for setting in settings if _is_sensitive(setting))


def _is_sensitive(setting: Setting) -> bool:
    return not setting.key or sounds_secret(setting.key)


def _shows_secret(value: object) -> bool:
    """Return whether a constant has a secret in it by its form, or a template that hides a string."""
    return isinstance(value, str) and (shows_secret(value) or has_hidden_text(value))


def _odd_comments(source: str) -> Iterator[int]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            words = _FOR_LINTERS.sub(" ", token.string).lstrip("#").split()
            if sounds_secret(token.string) or not all(_WORD.fullmatch(word) for word in words):
                yield token.start[0]


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
    assigning = grouped((name, one) for one in statements for name in one.assigned())
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
