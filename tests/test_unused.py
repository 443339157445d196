"""Nothing in the package is left over: what no module uses is a name for users, and they can find it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "airflow_config_providers"


def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text()) for path in PACKAGE.rglob("*.py")}


def made(tree: ast.Module) -> Iterator[str]:
    """Yield the functions, classes and constants of a module, but not what Airflow calls by its decorator."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if not any(ast.unparse(one) == "hookimpl" for one in node.decorator_list):
                yield node.name
        elif isinstance(node, ast.AnnAssign | ast.Assign):
            targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets
            yield from (target.id for target in targets if isinstance(target, ast.Name))


def used(tree: ast.Module) -> Iterator[str]:
    """Yield the names that a module reads or imports, and the words of its short strings, such as class paths."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name):
                yield name
            case ast.alias(name=path):
                yield path.rpartition(".")[2]
            case ast.Constant(value=str(text)) if " " not in text:
                yield from re.findall(r"\w+", text)


def told() -> str:
    """Return what tells users and other programs which names there are, and what writes modules."""
    pages = [*ROOT.glob("docs/**/*.md"), ROOT / "README.md", ROOT / "pyproject.toml", *ROOT.glob("tools/*.py")]
    return "\n".join(page.read_text() for page in pages)


def unused(modules: dict[Path, ast.Module], text: str) -> list[str]:
    names = {name for tree in modules.values() for name in used(tree)} | set(re.findall(r"\w+", text))
    documented = re.findall(r"^::: ([\w.]+)$", text, flags=re.MULTILINE)
    return [
        f"{path.relative_to(PACKAGE)}: {name}"
        for path, tree in modules.items()
        if ".".join(path.relative_to(ROOT).with_suffix("").parts) not in documented
        for name in made(tree)
        if name not in names and not re.fullmatch("__[a-z]+__", name)
    ]


def test_each_name_is_used_or_told_to_users() -> None:
    assert unused(trees(), told()) == []


@pytest.mark.parametrize(
    "source",
    ["def new_findings(job): ...", "class NewRule: ...", "NEW: Final = 1", "def again():\n    return 1\nsecond = 2"],
)
def test_what_is_left_over_is_found(source: str) -> None:
    assert unused({PACKAGE / "new.py": ast.parse(source)}, "") != []
