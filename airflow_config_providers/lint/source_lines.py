"""The lines of a DAG file on which a task and its literals are written."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_WITH_NAME = (ast.FunctionDef, ast.AsyncFunctionDef)


class SourceLines:
    """
    Finds lines by reading the source, which is never run.

    :param source: the text of a DAG file; one that is no Python has no lines
    """

    def __init__(self, source: str | bytes) -> None:
        try:
            nodes = list(ast.walk(ast.parse(source)))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            nodes = []
        self._tasks: dict[str, list[ast.AST]] = {}
        self._literals: dict[str, list[int]] = {}
        self._of_nodes: dict[ast.AST, dict[str, int]] = {}
        for node in nodes:
            for name in _task_names(node):
                self._tasks.setdefault(name, []).append(node)
            for name, line in _literals(node):
                self._literals.setdefault(name, []).append(line)

    def of_task(self, task_id: str) -> int | None:
        """Return the line where the task is created; None if no single place has its id as a literal."""
        node = self._node(task_id)
        return None if node is None else node.lineno

    def of_literal(self, task_id: str, *names: str) -> int | None:
        """
        Return the line where a key or an argument of the task is written.

        :param names: the key and the arguments that can have it, the most exact first
        :return: the line of the task if none of the names is written there, or once in the file
        """
        node = self._node(task_id)
        below = {} if node is None else self._below(node)
        if line := next((below[name] for name in names if name in below), None):
            return line
        once = [lines[0] for name in names[:1] if len(lines := self._literals.get(name, [])) == 1]
        return once[0] if once else self.of_task(task_id)

    def _node(self, task_id: str) -> ast.expr | ast.stmt | None:
        found = self._tasks.get(task_id) or self._tasks.get(task_id.rpartition(".")[2], [])
        return found[0] if len(found) == 1 and isinstance(found[0], ast.expr | ast.stmt) else None

    def _below(self, node: ast.AST) -> dict[str, int]:
        """Return the literals in a task, each with its first line."""
        if node not in self._of_nodes:
            lines = self._of_nodes[node] = {}
            for below in ast.walk(node):
                for name, line in _literals(below):
                    lines.setdefault(name, line)
        return self._of_nodes[node]


def _task_names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, _WITH_NAME) and node.decorator_list:
        yield node.name
    elif isinstance(node, ast.Call):
        for keyword in node.keywords:
            if keyword.arg == "task_id" and isinstance(keyword.value, ast.Constant):
                yield str(keyword.value.value)


def _literals(node: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the keys of a mapping, and the arguments of a call, each with its line."""
    if isinstance(node, ast.Dict):
        for key in node.keys:
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, key.lineno
    elif isinstance(node, ast.Call):
        yield from ((keyword.arg, keyword.value.lineno) for keyword in node.keywords if keyword.arg)
