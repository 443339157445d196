"""
Decides which lines of a DAG file a patch can show.

A string, a number or a comment could be a secret. Around a change, a patch shows no line that has one; in a changed
line, it shows only those whose meaning is known.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from airflow_config_providers.adoption.dag_source import DagSource, OperatorCall, Setting
from airflow_config_providers.adoption.references import has_hidden_text
from airflow_config_providers.adoption.secret_texts import SecretTexts, could_be_secret
from airflow_config_providers.core.sensitive import shows_secret, sounds_secret

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
