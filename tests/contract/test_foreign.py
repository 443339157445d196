"""Every private name of another package that we lean on: it is there, it is in the table, and it is used."""

from __future__ import annotations

import ast
import contextlib
import dis
import importlib
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import BaseOperator

import airflow_config_providers
from airflow_config_providers import foreign
from airflow_config_providers.exceptions import UnsupportedVersionError
from airflow_config_providers.foreign import TABLE, ForeignName, imported_owner
from airflow_config_providers.operators.configure import configured
from airflow_config_providers.operators.job_operator import JobOperator
from airflow_config_providers.operators.reversal import backend_guards

OURS = airflow_config_providers.__name__
ROOT = Path(airflow_config_providers.__file__).parent
SOURCES = sorted(path for path in ROOT.rglob("*.py") if path != Path(foreign.__file__))
NAMES = {row.name for row in TABLE}
OF_OPERATORS = {*vars(JobOperator), *JobOperator.__annotations__} - {*dir(BaseOperator)}
"""What the parts of our operators may ask of them, besides what Airflow's have."""
OF_NAMED_TUPLES = {"_asdict", "_fields", "_make", "_replace"}
"""Public, in spite of their names: Python documents them."""


def owner_of(row: ForeignName) -> Any:
    try:
        return imported_owner(row.owner)
    except ModuleNotFoundError as error:
        pytest.skip(f"needs {error.name}: install the extra of its provider")


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.owner.rpartition('.')[2]}.{row.name}")
def test_what_is_installed_has_the_name(row: ForeignName) -> None:
    owner = owner_of(row)

    assert row.problem(owner) == ""
    if inspect.isclass(owner) and not hasattr(owner, row.name) and not row.since:
        assert row.name in set(stored_by(owner, "__init__"))


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.owner.rpartition('.')[2]}.{row.name}")
def test_the_row_of_a_method_has_its_parameters(row: ForeignName) -> None:
    """Or nobody would notice that a release has other ones."""
    found = inspect.getattr_static(owner_of(row), row.name, None)

    if inspect.isfunction(found) and not isinstance(owner_of(row), type(ast)) and not row.since:
        assert row.parameters is not None


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_private_name_that_is_not_ours_has_a_row(path: Path) -> None:
    nodes = nodes_of(path)
    ours = {*defined(nodes), *OF_OPERATORS}

    assert {*read_elsewhere(nodes), *imported_names(nodes)} - ours - NAMES - OF_NAMED_TUPLES == set()


@lru_cache(maxsize=1)
def nodes_of(path: Path) -> list[ast.AST]:
    """Return all nodes of a module, kept for the next call: to find them takes longer than to look at each."""
    return list(ast.walk(ast.parse(path.read_text())))


def read_elsewhere(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Yield the private names that are read of something else than the object itself."""
    for node in nodes:
        if isinstance(node, ast.Attribute) and is_private(node.attr) and not is_own_object(node.value):
            yield node.attr


def imported_names(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Yield the private names that are imported from elsewhere; of a private module, all names."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and not (node.module or "").startswith(OURS):
            is_module_private = any(map(is_private, (node.module or "").split(".")))
            yield from (
                alias.name
                for alias in node.names
                if (is_module_private or is_private(alias.name)) and f"{node.module}.{alias.name}" not in OWNERS
            )
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if any(map(is_private, alias.name.split("."))))


OWNERS = {row.owner for row in TABLE}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def is_own_object(node: ast.AST) -> bool:
    return ast.unparse(node) in {"self", "cls", "super()"}


def defined(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Yield the private names that a module of ours defines; what a class of ours sets in another's object is not."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_own_object(node.value):
            yield node.attr


MODULES = [
    ".".join([OURS, *path.relative_to(ROOT).with_suffix("").parts])
    for path in SOURCES
    if path.name != "__init__.py" and path.parent.name != "applications"  # scripts of a driver
]


@pytest.mark.parametrize("module", MODULES)
def test_a_class_shares_no_private_name_with_its_bases_that_has_no_row(module: str) -> None:
    """What it would override, or set, by accident or without a row."""
    try:
        classes = [*vars(importlib.import_module(module)).values()]
    except ModuleNotFoundError as error:
        pytest.skip(f"needs {error.name}")
    own = [cls for cls in classes if inspect.isclass(cls) and cls.__module__ == module]

    assert {cls.__name__: found for cls in own if (found := shared(cls))} == {}


def shared(cls: type) -> set[str]:
    theirs = [base for base in cls.__mro__ if not base.__module__.startswith((OURS, "builtins", "abc", "typing"))]
    rows = {row.name for row in TABLE if any(issubclass(base, tuple(classes_of(row))) for base in theirs)}
    return set(private_names(cls)) & {name for base in theirs for name in names_of(base)} - rows


@cache
def classes_of(row: ForeignName) -> list[type]:
    try:
        owner = imported_owner(row.owner)
    except ModuleNotFoundError:
        return []
    return [owner] if inspect.isclass(owner) else []


def private_names(cls: type) -> Iterator[str]:
    """Yield the private names that the source of a class has, or of any in its module that is called the same."""
    nodes = nodes_of(Path(inspect.getfile(cls)))
    found = [node for node in nodes if isinstance(node, ast.ClassDef) and node.name == cls.__name__]
    assert found, cls
    for node in (inner for each in found for inner in ast.walk(each)):
        if isinstance(node, ast.Attribute) and is_own_object(node.value) and is_private(node.attr):
            yield node.attr
        elif isinstance(node, ast.FunctionDef) and is_private(node.name):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and is_private(node.id):
            yield node.id


@cache
def names_of(base: type) -> set[str]:
    """Return the private names that a class of somebody else has, and those that its methods set."""
    stored = (name for method, member in vars(base).items() if callable(member) for name in stored_by(base, method))
    return set(filter(is_private, [*vars(base), *stored]))


def stored_by(cls: type, method: str) -> Iterator[str]:
    for base in cls.__mro__:
        function = inspect.unwrap(vars(base).get(method, object.__init__))
        if code := getattr(function, "__code__", None):
            yield from (found.argval for found in dis.get_instructions(code) if found.opname == "STORE_ATTR")


def test_no_row_is_there_for_nothing() -> None:
    words = {word for path in SOURCES for word in re.findall(r"\w+", path.read_text())}
    made_of_a_word = {f"_{name}" for name in foreign._ARGUMENTS}  # f"_{name}" in hooks.spark_submit

    assert NAMES - made_of_a_word - words == set()


CHECKS_BASES = {"require_bases", "taken_over"}
"""What a method of ours calls that checks the rows of each class that its own class is derived from."""
IN_DRIVERS_WITHOUT_US = {foreign._JDBC_SCRIPT}


def test_every_owner_is_required_where_it_is_leaned_on() -> None:
    """Not only by the doctor, or nobody else would notice that a release has renamed what a guard takes."""
    checking, asked = set[str](), set[str]()
    for nodes in map(nodes_of, SOURCES):
        checking.update(checking_classes(nodes))
        asked.update(required(nodes), of_imports(nodes))
    asked.update(required_bases(checking))

    assert {*filter(is_installed, OWNERS - asked)} == IN_DRIVERS_WITHOUT_US


def is_installed(owner: str) -> bool:
    """Return whether a base can be seen: a lane for another version of Airflow lacks the providers of operators."""
    try:
        foreign.imported_owner(owner)
    except ImportError:
        return False
    return True


def required(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Yield the owners that a module of ours calls ``require`` with, by the names of their constants."""
    for node in nodes:
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "require" and isinstance(node.args[0], ast.Name):
            yield getattr(foreign, node.args[0].id, "")


def checking_classes(nodes: Sequence[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.ClassDef):
            calls = {ast.unparse(each.func) for each in ast.walk(node) if isinstance(each, ast.Call)}
            yield from {node.name} if calls & CHECKS_BASES else ()


def required_bases(checking: set[str]) -> Iterator[str]:
    """Yield the classes that those of ours are derived from which check their bases."""
    operators = [kind for row in TABLE for kind in classes_of(row) if issubclass(kind, BaseOperator)]
    for cls in [*classes_of_ours(), *map(configured, operators)]:
        if any(base.__module__.startswith(f"{OURS}.") and base.__name__ in checking for base in cls.__mro__):
            yield from (f"{base.__module__}:{base.__qualname__}" for base in cls.__mro__)


def classes_of_ours() -> Iterator[type]:
    for module in MODULES:
        with contextlib.suppress(ModuleNotFoundError):
            yield from filter(inspect.isclass, vars(importlib.import_module(module)).values())


def of_imports(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Yield the modules of which an import names all rows, and which have no parameters to check: it fails itself."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            rows, names = [row for row in TABLE if row.owner == node.module], {alias.name for alias in node.names}
            if rows and all(row.name in names and row.parameters is None for row in rows):
                yield rows[0].owner


@pytest.mark.parametrize(
    ("name", "guard"),
    [
        pytest.param("_get_worker_state_store_backend", backend_guards._guard_state, id="the backend of state"),
        pytest.param("_EXTERNAL_STATE_REF_KEY", lambda: backend_guards.is_reference({}), id="the mark of a reference"),
    ],
)
def test_a_guard_does_not_vanish_when_a_release_renames_what_it_guards(
    name: str, guard: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    context = imported_owner(foreign.CONTEXT)
    if not hasattr(context, name):
        pytest.skip("an older Airflow has no backend of state")
    foreign.require.cache_clear()
    monkeypatch.delattr(context, name)

    with pytest.raises(UnsupportedVersionError, match=name):
        guard()


def test_an_owner_that_is_not_in_the_table_is_an_error() -> None:
    with pytest.raises(KeyError):
        foreign.require("json")


def test_no_name_has_two_rows() -> None:
    assert len({(row.owner, row.name) for row in TABLE}) == len(TABLE)
