"""What CONTRIBUTING.md shows works."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CORE = ROOT / "airflow_config_providers" / "core"

ASK = """
import importlib.metadata, sys, tomllib
from airflow_config_providers.core.registry import ProviderRegistry
from airflow_config_providers.providers.netrc import NetrcConfigProvider

with open("pyproject.toml", "rb") as file:
    listed = tomllib.load(file)["project"]["entry-points"]["airflow_config_providers.providers"]
assert listed["netrc"] == f"{NetrcConfigProvider.__module__}:{NetrcConfigProvider.__name__}"

definition = {
    "config.providers": "machines",
    "config.providers.machines.class": "airflow_config_providers.providers.netrc.NetrcConfigProvider",
    "config.providers.machines.param.file": sys.argv[1],
}
with ProviderRegistry(allowed_classes=[definition["config.providers.machines.class"]]).open(definition) as providers:
    print(dict(providers["machines"].get("db.example.com", {"login", "password", "none"}).data))
"""


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    """A copy of the package to which the diff of the page was applied."""
    if shutil.which("git") is None:
        pytest.skip("needs git: install it with the package manager of the machine")
    (diff,) = re.findall(
        r"^```diff\n(.*?)^```$", (ROOT / "CONTRIBUTING.md").read_text(), flags=re.MULTILINE | re.DOTALL
    )
    shutil.copytree(ROOT / "airflow_config_providers", tmp_path / "airflow_config_providers")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    subprocess.run(["git", "apply", "-"], input=diff, cwd=tmp_path, text=True, check=True)
    return tmp_path


def test_the_provider_in_the_diff_answers(changed: Path) -> None:
    machines = changed / "netrc"
    machines.write_text("machine db.example.com login etl password s3cr3t\n")
    machines.chmod(0o600)
    command, environment = [sys.executable, "-c", ASK, machines], {"PYTHONPATH": str(changed)}
    done = subprocess.run(command, cwd=changed, env=environment, capture_output=True, text=True, check=False)

    assert done.stderr == ""
    assert done.stdout == "{'login': 'etl', 'password': 's3cr3t'}\n"


def test_the_pages_in_italics_exist() -> None:
    table = re.findall(r"^\|.*\|$", (ROOT / "CONTRIBUTING.md").read_text(), flags=re.MULTILINE)
    named = set(re.findall(r"\*([^*|]+)\*", "\n".join(table)))
    titles = {page.read_text().partition("\n")[0].removeprefix("# ") for page in (ROOT / "docs").rglob("*.md")}

    assert named - titles == set(), "write the titles of pages as they are"
    assert len(named) > 5


def test_what_the_table_names_in_the_package_exists() -> None:
    table = re.findall(r"^\|.*\|$", (ROOT / "CONTRIBUTING.md").read_text(), flags=re.MULTILINE)
    files = set(re.findall(r"`([\w/]+(?:\.py|/))`", "\n".join(table)))
    found = {str(path.relative_to(ROOT)) + "/" * path.is_dir() for path in ROOT.glob("[!.]*/**/*")} | {
        "tests/",
        "docs/",
    }

    assert [name for name in files if not any(f"/{path}".endswith(f"/{name}") for path in found)] == []


def test_the_map_of_the_core_has_each_of_its_modules() -> None:
    text = ast.get_docstring(ast.parse((CORE / "__init__.py").read_text())) or ""
    modules = {path.stem for path in CORE.iterdir() if not path.name.startswith("__")}

    assert set(re.findall("``([a-z_]+)``", text)) == modules
