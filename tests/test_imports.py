"""What importing this package costs, and what it does not do."""

from __future__ import annotations

import ast
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import airflow_config_providers
import airflow_config_providers.core

HEAVY = ("airflow", "pyspark", "py4j", "hvac", "requests", "pandas", "cryptography", "cel_expr_python", "yaml")
EDGE = ("airflow_compat", "hooks", "operators", "providers", "settings", "spark")

CORE = sorted(
    module.name
    for module in pkgutil.walk_packages(airflow_config_providers.core.__path__, "airflow_config_providers.core.")
)

IMPORT_AND_LIST = """
import importlib, sys
importlib.import_module(sys.argv[1])
print("\\n".join(sys.modules))
"""

IMPORT_AND_WATCH = """
import importlib, sys

CODE = (".py", ".pyc", ".so", "__pycache__")
seen = []

def watch(event, args):
    if event == "open" and isinstance(args[0], str) and not args[0].endswith(CODE):
        seen.append(f"open {args[0]}")
    if event in ("socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.system", "os.putenv"):
        seen.append(event)

sys.addaudithook(watch)
importlib.import_module(sys.argv[1])
print("\\n".join(seen))
"""


def run(script: str, module: str) -> list[str]:
    """Run ``script`` for ``module`` in a process of its own and give the lines it prints."""
    done = subprocess.run([sys.executable, "-B", "-c", script, module], capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.parametrize(
    "module",
    [
        "airflow_config_providers",
        "airflow_config_providers.core",
        "airflow_config_providers.dynamic",
        "airflow_config_providers.dynamic.password_encoder",
        "airflow_config_providers.dynamic.policies",
        "airflow_config_providers.dynamic.policies.policy_set",
        "airflow_config_providers.providers",
        "airflow_config_providers.spark",
        "airflow_config_providers.spark.driver",
    ],
)
def test_importing_loads_neither_airflow_nor_spark(module: str) -> None:
    """A DAG file, a cluster policy or a Spark job may import the package for the price of the package."""
    loaded = {name.partition(".")[0] for name in run(IMPORT_AND_LIST, module)}

    assert loaded.isdisjoint(HEAVY)


def test_an_operator_loads_no_provider() -> None:
    """A task pays for those that its connection defines."""
    loaded = run(IMPORT_AND_LIST, "airflow_config_providers.operators.spark_submit")
    providers = [point.module for point in entry_points(group="airflow_config_providers.providers")]

    assert len(providers) > 5
    assert set(loaded).isdisjoint({*providers, "hvac", "airflow_config_providers.providers.vault"})


@pytest.mark.parametrize("module", CORE)
def test_core_module_loads_nothing_above_core(module: str) -> None:
    """Each module of core, alone, brings in neither an edge module nor Airflow or Spark."""
    loaded = run(IMPORT_AND_LIST, module)

    assert [name for name in loaded if name.startswith(tuple(f"airflow_config_providers.{e}" for e in EDGE))] == []
    assert {name.partition(".")[0] for name in loaded}.isdisjoint(HEAVY)


@pytest.mark.parametrize("module", ["airflow_config_providers", *CORE])
def test_importing_reads_no_file_and_connects_nowhere(module: str) -> None:
    """Configuration is read when it is used, so that a process may differ from the next."""
    assert run(IMPORT_AND_WATCH, module) == []


PACKAGE = Path(airflow_config_providers.__file__).parent

WITHOUT_CIRCLES = ["core", "core.definition", "core.reversal"]
"""Folders of the package, by dotted name, in which modules and subfolders import each other in no circle."""


def dotted(path: Path) -> str:
    """Return the name of the module in the file ``path``."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {dotted(path): path for path in PACKAGE.rglob("*.py")}


def modules_imported_by(path: Path) -> Iterator[str]:
    """Yield each module of the package that a file imports, also inside a function, and for types alone."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module in MODULES:
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name if name in MODULES else node.module for name in names)


def imports_in(folder: str) -> dict[str, set[str]]:
    """Return, for each module and subfolder of ``folder``, those that it imports; the public names are ``__init__``."""
    root = f"{PACKAGE.name}.{folder}"

    def part(module: str) -> str:
        return module.removeprefix(f"{root}.").partition(".")[0] if module != root else "__init__"

    inside = {module: path for module, path in MODULES.items() if f"{module}.".startswith(f"{root}.")}
    found: dict[str, set[str]] = {part(module): set() for module in inside}
    for module, path in inside.items():
        found[part(module)] |= {part(name) for name in modules_imported_by(path) if name in inside} - {part(module)}
    return found


def circle(imports: dict[str, set[str]]) -> list[str]:
    """Return a circle in ``imports``; empty if there is none."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.mark.parametrize("folder", WITHOUT_CIRCLES)
def test_a_folder_has_no_import_circle(folder: str) -> None:
    """Each part of a folder can be read after those it builds on."""
    assert circle(imports_in(folder)) == []


def test_a_circle_is_found_wherever_an_import_hides_it() -> None:
    """An import counts inside of a function, for types alone, and in a subfolder."""
    imports = imports_in("core")

    assert "plain_search" in imports_in("core.reversal")["automaton"]
    assert imports["__init__"] >= {"definition", "reversal", "transformer"}
    assert imports["resolver"] >= {"definition", "layers", "reversal", "transformer"}
    assert circle({**imports, "text": {"__init__"}}) != []
