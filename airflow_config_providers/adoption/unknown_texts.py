"""
The strings, numbers and comments of a DAG file, each of which could be a secret unless it is known what it is.

A patch shows none of them around a change, and none that is not known in a changed line.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from airflow_config_providers.adoption.dag_source import DagSource, OperatorCall
from airflow_config_providers.adoption.references import has_hidden_text
from airflow_config_providers.core.sensitive import sounds_secret
from airflow_config_providers.core.text import without_templates
from airflow_config_providers.core.variable import beside_references

_CODE: Final = frozenset(
    {tokenize.NAME, tokenize.OP, tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
)
"""The tokens that are no string, no number and no comment, in every version of Python."""

_NAMES: Final = frozenset(
    {"application", "java_class", "name", "pool", "queue", "task_display_name", "task_id", "trigger_rule"}
)
"""Arguments of operators that name something, besides those that set a key of Spark or name a connection."""

_WORD: Final = re.compile(r"[\"'(]*(?:[A-Za-z]?[a-z']{0,19}|[A-Z]{1,20})[\"'),.:;?!]*|-+")
"""A word as it is in a sentence; a password is rarely one."""

_FOR_LINTERS: Final = re.compile(
    r"#\s*(?:noqa(?::\s?[A-Z]{1,4}\d{1,4}(?:,\s?[A-Z]{1,4}\d{1,4})*)?|type: ignore(?:\[[a-z, -]+\])?)"
)

_LONG_NUMBER: Final = 1_000
_LEAST: Final = 4
"""The number of characters from which on a string is looked for in other places."""


def lines_with_text(source: str) -> frozenset[int]:
    """
    Return the numbers of the lines that have a string, a number or a comment.

    :raises SyntaxError, TokenError: it is no Python
    """
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return frozenset(line for one in tokens if one.type not in _CODE for line in range(one.start[0], one.end[0] + 1))


def unknown_lines(dag: DagSource, calls: Sequence[OperatorCall]) -> frozenset[int]:
    """
    Return the numbers of the lines with a string, a number or a comment that could be anything.

    It is known what names something: the keys of a configuration, the arguments of operators that set a key of Spark,
    and what is read from Airflow. A value of a configuration is known by its key, unless the file also has it together
    with a sensitive name.
    """
    names, values = set(_names(dag, calls)), set(_values(calls))
    known = names | values
    unknown = (node for node in ast.walk(dag.tree) if isinstance(node, ast.Constant) and node not in known)
    beside = _Texts.of(_beside_sensitive_names(dag.tree, known))
    found = [node for node in unknown if _could_be_secret(node.value)]
    found += [node for node in values if _is_doubtful(node.value, beside)]
    return frozenset({line for node in found for line in _lines(node)} | set(_odd_comments(dag.text)))


def _names(dag: DagSource, calls: Iterable[OperatorCall]) -> Iterator[ast.AST]:
    for read in dag.reads():
        if read.is_plain:
            yield from ast.walk(read.node)
    for call in calls:
        mappings = {setting.mapping for setting in (*call.conf, *call.env_vars)}
        mappings |= {one.value for one in call.node.keywords if one.arg is None and isinstance(one.value, ast.Dict)}
        yield from (key for mapping in mappings for key in mapping.keys if isinstance(key, ast.Constant))


def _values(calls: Iterable[OperatorCall]) -> Iterator[ast.Constant]:
    for call in calls:
        for setting in (*call.conf, *call.env_vars):
            if isinstance(setting.node, ast.Constant) and (setting.text is not None or not sounds_secret(setting.key)):
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


def _could_be_secret(value: object) -> bool:
    """Return whether a constant is neither empty, nor a switch, a short number, a reference or a plain template."""
    if isinstance(value, int | float | complex):
        return abs(value) >= _LONG_NUMBER
    if isinstance(value, str):
        return _without_references(value).lower() not in {"", "true", "false", "none"} or has_hidden_text(value)
    return bool(value) and value is not ...


def _is_doubtful(value: object, beside: _Texts) -> bool:
    """Return whether a constant has a template that hides a string, or is also beside a sensitive name."""
    if isinstance(value, str) and has_hidden_text(value):
        return True
    return _could_be_secret(value) and beside.share(_without_references(_text(value)))


@dataclass(frozen=True, slots=True)
class _Texts:
    """Strings in which others are looked for, and the other way round."""

    joined: str = field(repr=False)
    words: tuple[str, ...] = field(repr=False)

    @classmethod
    def of(cls, texts: Iterable[str]) -> _Texts:
        found = tuple(dict.fromkeys(texts))
        return cls("\0".join(found), tuple(text for text in found if len(text) >= _LEAST))

    def share(self, text: str) -> bool:
        """Return whether ``text`` is in one of the strings, or has one of them as a word."""
        is_part = len(text) >= _LEAST and text in self.joined
        return is_part or any(_has_word(text, word) for word in self.words if word in text)


def _without_references(text: str) -> str:
    return beside_references(without_templates(text)).strip()


def _has_word(text: str, word: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None


def _beside_sensitive_names(tree: ast.Module, known: Container[ast.AST]) -> Iterator[str]:
    """Yield the strings of each statement that has a sensitive name anywhere, as Python or as a string."""
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        statement, is_inside = waiting.pop()
        own, inner = _parts(statement)
        parts = [one for one in own if one not in known]
        is_named = is_inside or any(sounds_secret(name) for one in parts for name in _written(one))
        if is_named and not _is_docstring(statement):
            texts = [_text(one.value) for one in parts if isinstance(one, ast.Constant) and _could_be_secret(one.value)]
            yield from (text for text in texts if not _is_sensitive_name(text))
        waiting += [(one, is_inside or sounds_secret(_name_of_block(statement))) for one in inner]


def _text(value: object) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _is_sensitive_name(text: str) -> bool:
    return sounds_secret(text) and re.fullmatch(r"[\w.-]+", text) is not None


def _name_of_block(statement: ast.AST) -> str:
    match statement:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return name
    return ""


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


def _written(node: ast.AST) -> Iterator[str]:
    """Yield each name or string that a node has in whichever field."""
    for _, value in ast.iter_fields(node):
        yield from (one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str))


def _is_docstring(statement: ast.AST) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _lines(node: ast.expr) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _odd_comments(source: str) -> Iterator[int]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            words = _FOR_LINTERS.sub(" ", token.string).lstrip("#").split()
            if not all(_WORD.fullmatch(word) for word in words):
                yield token.start[0]
