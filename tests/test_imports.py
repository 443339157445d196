"""What importing this package costs, and what it does not do."""

from __future__ import annotations

import ast
import json
import pkgutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import entry_points
from importlib.util import find_spec
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

LIGHT = (
    "airflow_config_providers",
    "airflow_config_providers.core",
    "airflow_config_providers.dynamic",
    "airflow_config_providers.dynamic.password_encoder",
    "airflow_config_providers.dynamic.policies",
    "airflow_config_providers.dynamic.policies.policy_set",
    "airflow_config_providers.providers",
    "airflow_config_providers.spark",
    "airflow_config_providers.spark.driver",
)

IMPORT_EACH = """
import importlib, json, os, sys

CODE = (".py", ".pyc", ".so", "__pycache__")
seen = []

def watch(event, args):
    if event == "open" and isinstance(args[0], str) and not args[0].endswith(CODE):
        seen.append(f"open {args[0]}")
    if event in ("socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.system", "os.putenv"):
        seen.append(event)

for module in sys.argv[1:]:
    if child := os.fork():
        os.waitpid(child, 0)
        continue
    sys.addaudithook(watch)
    importlib.import_module(module)
    did = list(seen)
    print(json.dumps([module, sorted(sys.modules), did]), flush=True)
    os._exit(0)
"""


@dataclass(frozen=True)
class Imported:
    """What importing one module did."""

    loaded: list[str]
    did: list[str]

    @property
    def packages(self) -> set[str]:
        return {name.partition(".")[0] for name in self.loaded}


@pytest.fixture(scope="module")
def imported() -> Mapping[str, Imported]:
    """Module -> what importing it did, in a process that had imported nothing: each is forked from one that waits."""
    command = [sys.executable, "-B", "-c", IMPORT_EACH, *{*LIGHT, *CORE}]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return {module: Imported(loaded, did) for module, loaded, did in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize("module", LIGHT)
def test_importing_loads_neither_airflow_nor_spark(imported: Mapping[str, Imported], module: str) -> None:
    """A DAG file, a cluster policy or a Spark job may import the package for the price of the package."""
    assert imported[module].packages.isdisjoint(HEAVY)


RARELY_NEEDED = ("core.policy", "dynamic.history", "job.job_reload", "job.sealed_values", "job.template_marks")
"""What is for tasks with policies, reloads, deferrals and templates."""


LIFE_OF_A_JOB = """
import json, sys

import airflow_config_providers.operators.spark_submit
print(json.dumps(["the operator", [*sys.modules]]))

from airflow.sdk import DAG
from airflow.serialization.serialized_objects import DagSerialization
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator

with DAG("d", schedule=None) as dag:
    ConfiguredSparkSubmitOperator(task_id="t", application="job.py", conf={"spark.app.x": "${file:/etc/x:y}"})
DagSerialization.to_dict(dag)
print(json.dumps(["its DAG", [*sys.modules]]))

import airflow_config_providers.job.authorship, airflow_config_providers.job.configuration
print(json.dumps(["its rendering", [*sys.modules]]))
"""


@pytest.fixture(scope="module")
def loaded() -> Mapping[str, set[str]]:
    """What a process has loaded after each step, and those before it: it takes seconds to import Airflow."""
    if find_spec("airflow") is None:
        pytest.skip("an operator needs Airflow, which is not installed")
    done = subprocess.run([sys.executable, "-c", LIFE_OF_A_JOB], stdout=subprocess.PIPE, text=True, check=True)
    steps = (json.loads(line) for line in done.stdout.splitlines() if line.startswith("["))
    return {step: set(modules) for step, modules in steps}


def test_an_operator_loads_no_provider_and_nothing_that_few_tasks_need(loaded: Mapping[str, set[str]]) -> None:
    """A task pays for the providers that its connection defines."""
    providers = [point.module for point in entry_points(group="airflow_config_providers.providers")]

    assert len(providers) > 5
    assert "airflow_config_providers.operators.spark_submit" in loaded["the operator"]
    assert loaded["the operator"].isdisjoint({*providers, "hvac", "airflow_config_providers.providers.vault"})
    assert loaded["the operator"].isdisjoint(f"airflow_config_providers.{module}" for module in RARELY_NEEDED)


OF_A_RUN = ("core.layers", "core.resolver", "core.reversal", "dynamic", "hooks", "log", "providers", "spark.catalogue")
OF_A_RUN_OF_A_JOB = ("job.authorship", "job.configuration", "job.record", "job.job_reload", "job.run")


def test_reading_and_storing_a_dag_loads_nothing_that_only_a_run_needs(loaded: Mapping[str, set[str]]) -> None:
    """Each DAG file is read in a process of its own, again and again."""
    assert "airflow_config_providers.operators.spark_submit" in loaded["its DAG"]
    assert loaded["its DAG"].isdisjoint(f"airflow_config_providers.{name}" for name in (*OF_A_RUN, *OF_A_RUN_OF_A_JOB))


OF_FEW_RUNS = (
    *(
        "core.environment",
        "dynamic",
        "job.template_paths",
        "log.sentry",
        "operators.record_keeper",
    ),
    *("spark.delivery", "spark.private_file"),
)


def test_rendering_a_job_loads_nothing_that_is_for_a_message_a_file_or_the_command(
    loaded: Mapping[str, set[str]],
) -> None:
    """Each task that renders pays for what it imports."""
    assert "airflow_config_providers.job.run" in loaded["its rendering"]
    assert loaded["its rendering"].isdisjoint(f"airflow_config_providers.{name}" for name in OF_FEW_RUNS)


OF_THREADS = (
    "threading",
    "concurrent.futures",
    "logging",
    "queue",
    "airflow_config_providers.core.concurrency.workers",
)
OF_DEFINITIONS = tuple(
    f"airflow_config_providers.core.{name}"
    for name in ("definition.config_def", "definition.config_type", "provider_definition")
)

OF_FEW_VALUES = ("difflib", "fnmatch", "hashlib", "random", "traceback", "unicodedata")


def test_what_resolves_and_reverses_loads_no_threads_no_definitions_and_nothing_that_few_values_need(
    imported: Mapping[str, Imported],
) -> None:
    """A process that only reverses, or has no definition, never needs them."""
    for module in ("resolver", "reversal.reverse"):
        loaded = imported[f"airflow_config_providers.core.{module}"].loaded
        assert set(loaded).isdisjoint({*OF_THREADS, *OF_DEFINITIONS, *OF_FEW_VALUES})


def test_what_opens_providers_in_threads_loads_no_calls_with_a_time_limit(imported: Mapping[str, Imported]) -> None:
    """Each task that has references imports it while it runs; only diagnoses and completion limit the time of calls."""
    assert (
        "airflow_config_providers.core.concurrency.timed_calls"
        not in imported["airflow_config_providers.core.concurrency.shared_calls"].loaded
    )


@pytest.mark.parametrize("module", CORE)
def test_core_module_loads_nothing_above_core(imported: Mapping[str, Imported], module: str) -> None:
    """Each module of core, alone, brings in neither an edge module nor Airflow or Spark."""
    loaded = imported[module].loaded

    assert [name for name in loaded if name.startswith(tuple(f"airflow_config_providers.{e}" for e in EDGE))] == []
    assert imported[module].packages.isdisjoint(HEAVY)


@pytest.mark.parametrize("module", ["airflow_config_providers", *CORE])
def test_importing_reads_no_file_and_connects_nowhere(imported: Mapping[str, Imported], module: str) -> None:
    """Configuration is read when it is used, so that a process may differ from the next."""
    assert imported[module].did == []


PACKAGE = Path(airflow_config_providers.__file__).parent

FOLDERS = sorted(
    ".".join(path.parent.relative_to(PACKAGE).parts) for path in PACKAGE.rglob("__init__.py") if path.parent != PACKAGE
)
"""The folders of the package, by dotted name."""


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


def imports_in(folder: str, *, by_file: bool = False) -> dict[str, set[str]]:
    """
    Return, for each module and subfolder of ``folder``, those that it imports; the public names are ``__init__``.

    :param by_file: look at each module of a subfolder by itself
    """
    root = f"{PACKAGE.name}.{folder}"

    def part(module: str) -> str:
        below = module.removeprefix(f"{root}.") if module != root else "__init__"
        return below if by_file else below.partition(".")[0]

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


@pytest.mark.parametrize("folder", [folder for folder in FOLDERS if folder != "providers.vault"])
def test_a_folder_has_no_import_circle(folder: str) -> None:
    """Each part of a folder can be read after those it builds on."""
    assert circle(imports_in(folder)) == []


def test_vault_has_no_import_circle() -> None:
    """Its logins lean on some of its files, and others on them."""
    imports = imports_in("providers.vault", by_file=True)

    assert circle(imports) == []
    assert imports["session"] >= {"transport", "settings", "logins.signing_in"}


def test_a_circle_is_found_wherever_an_import_hides_it() -> None:
    """An import counts inside of a function, for types alone, and in a subfolder."""
    imports = imports_in("core")

    assert "catalogue" in imports_in("spark")["delivery"]
    assert imports["__init__"] >= {"definition", "reversal", "transformer"}
    assert imports["resolver"] >= {"definition", "layers", "transformer"}
    assert imports["resolved_config"] >= {"reversal"}
    assert circle({**imports, "text": {"__init__"}}) != []
