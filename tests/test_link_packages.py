"""What `.ci/run` takes from one environment for another is what pip would have installed there."""

from __future__ import annotations

import py_compile
import subprocess
import sys
from importlib.util import cache_from_source
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / ".ci" / "link_packages.py"


class Venv:
    """The folder of an environment; ``venv.install("name", "1.0")`` puts a package with a script there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.site = folder / "lib" / "python3" / "site-packages"
        for made in (self.site, folder / "bin"):
            made.mkdir(parents=True)

    def install(self, name: str, version: str) -> None:
        about = self.site / f"{name}-{version}.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        files = (f"{name}.py", f"{about.name}/METADATA", f"{about.name}/RECORD", f"../../../bin/{name}")
        (about / "RECORD").write_text("".join(f"{file},,\n" for file in files))
        (self.site / f"{name}.py").write_text(f"version = {version!r}\n")
        (self.folder / "bin" / name).write_text(f"#!{self.folder}/bin/python\n")


@pytest.fixture
def lender(tmp_path: Path) -> Venv:
    return Venv(tmp_path / "lender")


@pytest.fixture
def other(tmp_path: Path) -> Venv:
    return Venv(tmp_path / "other")


def linked(lender: Venv, other: Venv, *pins: str) -> list[str]:
    """Return the modules of the other environment, after what is named in ``pins`` was linked."""
    constraints = other.folder / "constraints.txt"
    constraints.write_text("\n".join(["# pinned", *pins]))
    subprocess.run([sys.executable, SCRIPT, lender.site, other.site, constraints], check=True)
    return sorted(file.name for file in other.site.glob("*.py"))


def test_a_package_of_the_same_version_is_linked(lender: Venv, other: Venv) -> None:
    lender.install("some_package", "1.0")

    assert linked(lender, other, 'some-package==1.0 ; python_version >= "3.11"') == ["some_package.py"]
    assert (other.site / "some_package.py").samefile(lender.site / "some_package.py")


def test_a_script_runs_with_the_python_of_its_own_environment(lender: Venv, other: Venv) -> None:
    lender.install("a", "1.0")

    linked(lender, other, "a==1.0")

    assert (other.folder / "bin" / "a").read_text() == f"#!{other.folder}/bin/python\n"
    assert (lender.folder / "bin" / "a").read_text() == f"#!{lender.folder}/bin/python\n"


@pytest.mark.parametrize("pins", [pytest.param(["a==2.0"], id="another-version"), pytest.param([], id="not-named")])
def test_what_the_constraints_do_not_have_is_not_linked(lender: Venv, other: Venv, pins: list[str]) -> None:
    lender.install("a", "1.0")

    assert linked(lender, other, *pins) == []


def test_what_is_there_at_another_version_is_left_alone(lender: Venv, other: Venv) -> None:
    lender.install("a", "1.0")
    other.install("a", "2.0")

    linked(lender, other, "a==1.0")

    assert (other.site / "a.py").read_text() == "version = '2.0'\n"


def test_what_python_has_compiled_is_linked_though_pip_has_not_listed_it(lender: Venv, other: Venv) -> None:
    lender.install("a", "1.0")
    py_compile.compile(str(lender.site / "a.py"))

    linked(lender, other, "a==1.0")

    assert Path(cache_from_source(str(other.site / "a.py"))).exists()
