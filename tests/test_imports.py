"""What importing this package costs, and what it does not do."""

from __future__ import annotations

import pkgutil
import subprocess
import sys

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
