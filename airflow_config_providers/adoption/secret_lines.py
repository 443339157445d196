"""The lines of a source that must not be shown, because a secret is written out there."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from airflow_config_providers.core.sensitive import shows_secret, sounds_secret
from airflow_config_providers.core.text import without_templates
from airflow_config_providers.core.variable import beside_references

_TELLING: Final = 4
"""The number of characters from which on a secret is looked for in other places."""

_HARMLESS: Final = frozenset({"", "true", "false", "none"})


def secret_lines(source: str, tree: ast.AST) -> frozenset[int]:
    """
    Return the numbers of the lines that show a secret, or might do so.

    Those are strings under a sensitive name, in whichever way Python names things, strings with
    a password in them, every other place that has the same string, and comments that speak of a secret.
    """
    strings = list(_secret_strings(tree))
    found = {line for node in strings for line in _lines(node)}
    texts = {text for node in strings if isinstance(node, ast.Constant) and len(text := _text(node)) >= _TELLING}
    found |= set(_repeating(source, texts))
    found |= {line for node in _strings(tree) if any(text in _text(node) for text in texts) for line in _lines(node)}
    return frozenset(found | set(_comments(source)))


def _strings(tree: ast.AST) -> Iterator[ast.Constant]:
    """Yield the strings in a part of the source, whichever escapes they are written with."""
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and _text(node))


def _secret_strings(tree: ast.AST) -> Iterator[ast.expr]:
    for value in _secret_values(tree):
        yield from (one for one in ast.walk(value) if isinstance(one, ast.Constant) and _is_text(one))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and shows_secret(node.value):
            yield node
        if isinstance(node, ast.JoinedStr) and shows_secret(_joined(node)):
            yield node


def _secret_values(tree: ast.AST) -> list[ast.expr]:
    """Return what has a sensitive name, and what is assigned to the names in it."""
    nodes = list(ast.walk(tree))
    keys = dict(_assigned_names(nodes))
    named = [pair for node in nodes for pair in (*_named(node), *_under_variable(node, keys), *_in_named_block(node))]
    named += [pair for node in _sums(nodes) for pair in _after_name(_operands(node))]
    found = [value for name, value in named if sounds_secret(name)]
    known: set[str] = set()
    for value in found:  # which grows
        used = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)} - known
        known |= used
        found += [other for name, other in named if name in used]
    return found


def _named(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield each name and its value: of an entry, an argument, a default, an assignment or a comparison."""
    if isinstance(node, ast.Dict):
        yield from ((_name(key), value) for key, value in zip(node.keys, node.values, strict=True) if key)
    elif isinstance(node, ast.Call):
        given = [*_formatted(node.func), *node.args, *(keyword.value for keyword in node.keywords)]
        yield from ((keyword.arg, keyword.value) for keyword in node.keywords if keyword.arg)
        yield from _beside(given)  # such as os.environ.get("PASSWORD", "x")
    elif isinstance(node, ast.Assign):
        yield from ((_name(target), node.value) for target in node.targets)
    elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and node.value is not None:
        yield _name(node.target), node.value
    elif isinstance(node, ast.Compare):
        yield from ((_name(node.left), other) for other in node.comparators)
    elif isinstance(node, ast.arguments):
        with_default = [*node.posonlyargs, *node.args][-len(node.defaults) :] if node.defaults else []
        yield from ((one.arg, value) for one, value in zip(with_default, node.defaults, strict=False))
        yield from ((one.arg, value) for one, value in zip(node.kwonlyargs, node.kw_defaults, strict=True) if value)
    elif isinstance(node, ast.Tuple | ast.List) and len(node.elts) > 1:  # such as ("spark.app.password", "x")
        yield from _beside(node.elts)


def _sums(nodes: Iterable[ast.AST]) -> list[ast.BinOp]:
    """Return the sums, and what is written like one, such as a format, but not those that a longer one begins with."""
    found = [node for node in nodes if isinstance(node, ast.BinOp)]
    beginnings = {node.left for node in found}
    return [node for node in found if node not in beginnings]


def _operands(node: ast.expr) -> list[ast.expr]:
    """Return what is added up, in order; the whole of what is no sum."""
    found: list[ast.expr] = []
    while isinstance(node, ast.BinOp):
        found.append(node.right)
        node = node.left
    return [node, *reversed(found)]


def _after_name(operands: Iterable[ast.expr]) -> Iterator[tuple[str, ast.expr]]:
    """Yield the first sensitive name with each operand after it, such as in "password=%s" % "x"."""
    name = ""
    for operand in operands:
        if name:
            yield name, operand
        name = name or next((text for one in _strings(operand) if sounds_secret(text := _text(one))), "")


def _assigned_names(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    """Yield each variable that has a string, with the string, which can be a name for something else."""
    for node in nodes:
        if isinstance(node, ast.Assign) and (text := _name(node.value)):
            yield from ((target.id, text) for target in node.targets if isinstance(target, ast.Name))


def _under_variable(node: ast.AST, names: Mapping[str, str]) -> Iterator[tuple[str, ast.expr]]:
    """Yield the name and the value of each entry whose key is a variable."""
    entries: list[tuple[ast.expr | None, ast.expr]] = []
    if isinstance(node, ast.Dict):
        entries = list(zip(node.keys, node.values, strict=True))
    elif isinstance(node, ast.Assign):
        entries = [(target.slice, node.value) for target in node.targets if isinstance(target, ast.Subscript)]
    yield from ((names[key.id], value) for key, value in entries if isinstance(key, ast.Name) and key.id in names)


def _in_named_block(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield the name of a class, a function or a loop with each value that it stands for."""
    if isinstance(node, ast.ClassDef):  # such as an enum of passwords
        values = [one.value for one in node.body if isinstance(one, ast.Assign | ast.AnnAssign)]
        yield from ((node.name, value) for value in values if isinstance(value, _WRITTEN))
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        values = [one.value for one in ast.walk(node) if isinstance(one, ast.Return)]
        yield from ((node.name, value) for value in values if isinstance(value, _WRITTEN))
    elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        yield _name(node.target), node.iter


_WRITTEN: Final = (ast.Constant, ast.JoinedStr, ast.BinOp, ast.Name)


def _formatted(function: ast.expr) -> list[ast.expr]:
    """Return the string whose method is called, such as "password={}".format("x")."""
    match function:
        case ast.Attribute(value=ast.Constant() as text):
            return [text]
    return []


def _beside(values: Sequence[ast.expr]) -> Iterator[tuple[str, ast.expr]]:
    """Yield each string that is a sensitive name, with each value beside it."""
    for one in values:
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and sounds_secret(one.value):
            yield from ((one.value, other) for other in values if other is not one)


def _name(node: ast.expr | None) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return _joined(node)
    if isinstance(node, ast.BinOp):
        return "".join(map(_name, _operands(node)))
    if isinstance(node, ast.Call):
        return "".join(map(_name, _formatted(node.func)))
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Subscript):
        return _name(node.slice)
    if isinstance(node, ast.Tuple):
        return " ".join(map(_name, node.elts))
    return ""


def _is_text(node: ast.Constant) -> bool:
    """Return whether a constant can be a secret: a string other than a reference, a template or a switch."""
    value = _text(node)
    return value.strip().lower() not in _HARMLESS and bool(beside_references(without_templates(value)).strip())


def _text(node: ast.Constant) -> str:
    """Return a string, or bytes as one; an empty one for what is neither."""
    value = node.value.decode("latin-1") if isinstance(node.value, bytes) else node.value
    return value if isinstance(value, str) else ""


def _joined(node: ast.JoinedStr) -> str:
    return "".join(str(one.value) if isinstance(one, ast.Constant) else "x" for one in node.values)


def _lines(node: ast.expr) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _repeating(source: str, texts: Iterable[str]) -> Iterator[int]:
    lines = source.split("\n")
    yield from (number for number, line in enumerate(lines, 1) if any(text in line for text in texts))


def _comments(source: str) -> Iterator[int]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and (shows_secret(token.string) or sounds_secret(token.string)):
            yield token.start[0]
