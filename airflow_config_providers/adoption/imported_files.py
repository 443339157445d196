"""The DAG files that other DAG files import."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path


def imported_files(sources: Mapping[str, str], root: Path) -> frozenset[str]:
    """
    Return those of the files that another one imports by name.

    :param sources: path of a file -> its text
    :param root: the folder from which the files import modules
    """
    names = {path: _module(Path(path).resolve().relative_to(root)) for path in sources}
    imported = {name for path, text in sources.items() for name in _imported(text, names[path])}
    return frozenset(path for path, name in names.items() if name in imported)


def _module(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(text: str, module: str) -> Iterator[str]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return  # it is reported where it is changed
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from _imported_from(node, module)


def _imported_from(node: ast.ImportFrom, module: str) -> Iterator[str]:
    above = module.split(".")[: -node.level] if node.level else []
    base = ".".join([*above, *([node.module] if node.module else [])])
    yield base
    yield from (f"{base}.{alias.name}" if base else alias.name for alias in node.names)
