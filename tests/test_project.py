"""What the repository promises about itself."""

from __future__ import annotations

import ast
import configparser
import re
import subprocess
import tomllib
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder
from packaging.requirements import Requirement
from packaging.version import Version

import airflow_config_providers
from airflow_config_providers.get_provider_info import OPTIONS, get_provider_info

ROOT = Path(__file__).parents[1]
OLDEST, NEXT = (ROOT / ".ci" / f"constraints-airflow-{version}.txt" for version in ("3.2", "3.4"))
PINS = [ROOT / "constraints.txt", OLDEST, NEXT]
PIN = re.compile(r"""[a-z0-9][a-z0-9-]*==[0-9][0-9a-z.+]*( ; python_version >= "3\.\d+")?""")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OPTIONAL = PROJECT["optional-dependencies"]


def pins(file: Path) -> dict[str, str]:
    """Return name -> version for the pins in ``file``."""
    lines = [line for line in file.read_text().splitlines() if line and not line.startswith("#")]
    assert [line for line in lines if not PIN.fullmatch(line)] == []
    return dict(line.partition(" ")[0].split("==") for line in lines)


def tracked_files() -> list[Path]:
    """Return the files that are, or would be, in the repository."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [path for name in names.split("\0") if name and (path := ROOT / name).is_file()]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel of this source tree."""
    built = next(WheelBuilder(str(ROOT)).build(directory=str(tmp_path_factory.mktemp("wheel"))))
    return zipfile.ZipFile(built)


@pytest.mark.parametrize("file", PINS, ids=lambda file: file.name)
def test_pins_are_a_name_and_a_version(file: Path) -> None:
    """Neither an address nor a path, so that every machine installs from where it is set up to."""
    assert len(pins(file)) > 100


@pytest.mark.parametrize("file", PINS, ids=lambda file: file.name)
def test_both_distributions_that_share_a_folder_have_one_version(file: Path) -> None:
    """pyspark and pyspark-client install over each other, which is harmless at one version only."""
    pinned = pins(file)

    assert pinned["pyspark"] == pinned["pyspark-client"]


def test_direct_dependencies_are_pinned() -> None:
    """Nothing that the project asks for by name is left to the day of the installation."""
    asked = [*PROJECT["dependencies"], *(item for extra in PROJECT["optional-dependencies"].values() for item in extra)]
    names = {re.split(r"[\[<>=!]", item)[0].lower() for item in asked} - {PROJECT["name"]}

    assert names - pins(PINS[0]).keys() == set()


@pytest.mark.parametrize("asked", [*PROJECT["dependencies"], *OPTIONAL["policies"], *OPTIONAL["vault"]])
def test_the_oldest_that_is_promised_is_what_is_tested_with_the_oldest_airflow(asked: str) -> None:
    """An untested lower bound is a guess."""
    name, bound = re.split(r">=|,", asked)[:2]

    assert Version(pins(OLDEST)[name]) == Version(bound)


def test_the_next_airflow_is_within_the_bounds() -> None:
    (bounds,) = (asked for asked in PROJECT["dependencies"] if asked.startswith("apache-airflow>"))

    assert Requirement(bounds).specifier.contains(pins(NEXT)["apache-airflow"], prereleases=True)


def test_no_file_records_where_it_was_downloaded() -> None:
    """A lock file with addresses would tie the project to one machine's registry."""
    address = re.compile(rb"https?://[^\s\"']+(\.whl|\.tar\.gz|\.tgz|\.jar)\b")
    files = [path for path in tracked_files() if path.suffix in {".txt", ".toml", ".lock", ".json", ".xml", ".cfg"}]

    assert [path.name for path in files if address.search(path.read_bytes())] == []


def test_changelog_has_the_version() -> None:
    """What is released is described, the newest first."""
    released = re.findall(r"^## \[([^\]]+)\]", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)

    assert released[:2] == ["Unreleased", airflow_config_providers.__version__]


def test_provider_info_has_the_version() -> None:
    """Airflow's page of providers shows what is installed."""
    assert get_provider_info()["versions"][0] == airflow_config_providers.__version__


def test_every_target_of_the_makefile_is_in_its_help() -> None:
    """``make help`` is the only list of the targets."""
    makefile = (ROOT / "Makefile").read_text()
    phony = re.search(r"^\.PHONY: (.*)$", makefile, flags=re.MULTILINE)
    described = set(re.findall(r"^([a-z-]+):.* ## ", makefile, flags=re.MULTILINE))

    assert phony is not None
    assert set(phony[1].split()) - described == {"python", "java"}


def test_wheel_holds_the_package_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    """No test, DAG or page of the documentation lands in site-packages."""
    tops = {name.partition("/")[0] for name in wheel.namelist()}

    assert tops == {
        "airflow_config_providers",
        f"airflow_config_providers-{airflow_config_providers.__version__}.dist-info",
    }


def test_wheel_has_every_file_of_the_package(wheel: zipfile.ZipFile) -> None:
    """What a module imports or reads in the source tree is there in the wheel, and no more."""
    names = {str(path.relative_to(ROOT)) for path in tracked_files()}
    sources = {name for name in names if name.startswith("airflow_config_providers/")}

    assert {name for name in wheel.namelist() if ".dist-info/" not in name} == sources


def test_wheel_registers_with_airflow_and_names_its_providers(wheel: zipfile.ZipFile) -> None:
    """The entry points are those of the source tree."""
    text = next(wheel.read(name).decode() for name in wheel.namelist() if name.endswith("entry_points.txt"))
    parser = configparser.ConfigParser(delimiters=("=",))
    parser.read_string(text)

    assert {group: dict(parser[group]) for group in parser.sections()} == PROJECT["entry-points"]


def test_the_drawing_of_the_house_has_each_folder_and_each_module_at_the_top() -> None:
    package = Path(airflow_config_providers.__file__).parent
    folders = {f"{path.parent.name}/" for path in package.rglob("__init__.py") if path.parent != package}
    modules = {path.name for path in package.glob("*.py")} - {"__init__.py"}
    drawing = (ROOT / "CONTRIBUTING.md").read_text().partition("```text\n")[2].partition("```")[0]

    drawn = set(re.findall(r"^ +(\S+)", drawing, re.MULTILINE))
    assert drawn == folders | modules, "draw each folder and each top module in CONTRIBUTING.md"


def test_a_whole_run_has_every_stage() -> None:
    script = (ROOT / ".ci" / "run").read_text()
    listed = re.findall(r"^stages=\((.*?)\)", script, flags=re.MULTILINE)[0].split()

    assert sorted(listed) == sorted(re.findall(r"^stage_(\w+)\(\)", script, flags=re.MULTILINE))


def test_what_may_run_beside_the_leak_matrix_begins_right_after_it() -> None:
    """A stage that has to wait for it would leave a core idle, and so would those that could have run meanwhile."""
    script = (ROOT / ".ci" / "run").read_text()
    stages, beside = (
        re.findall(rf"^{name}=\((.*?)\)", script, flags=re.MULTILINE)[0].split() for name in ("stages", "beside_leaks")
    )

    assert stages[: len(beside) + 1] == ["leaks", *beside]


def test_the_tests_that_a_stage_names_are_there() -> None:
    """pytest runs nothing at all if one of its arguments is missing."""
    script = (ROOT / ".ci" / "run").read_text()
    words = " ".join(re.findall(r"(?<=[ =])tests/[^\s;)]+", script))
    expanded = ["bash", "-c", f"shopt -s failglob; printf '%s\\n' {words}"]
    named = set(subprocess.run(expanded, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split())

    assert len(named) > 50
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_each_setting_is_read() -> None:
    """A setting that has a row in ``get_provider_info.py`` and no reader has no effect."""
    package = ROOT / "airflow_config_providers"
    source = "".join(path.read_text() for path in package.rglob("*.py") if path.name != "get_provider_info.py")
    unread = [name for name in OPTIONS if f'"{name}"' not in source]

    assert unread == [], "add a reader of each to settings.py"


def test_a_class_name_means_one_thing() -> None:
    """Two classes of one name, private ones included, would need their modules to be told apart."""
    modules: dict[str, list[str]] = {}
    for path in sorted((ROOT / "airflow_config_providers").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                modules.setdefault(node.name.lstrip("_"), []).append(str(path.relative_to(ROOT)))

    assert {name: where for name, where in modules.items() if len(where) > 1} == {}


def test_no_pattern_repeats_a_group_possessively() -> None:
    """Python before 3.11.5 then matches too much or too little, as Debian 12 has it: write an atomic group."""
    possessive = re.compile(r"[^(]\)(?:[?*+]|\{\{?[0-9,]*\}?\})\+")
    lines = (
        (str(path.relative_to(ROOT)), line)
        for path in sorted((ROOT / "airflow_config_providers").rglob("*.py"))
        for line in path.read_text().splitlines()
    )

    assert [(path, line) for path, line in lines if possessive.search(line)] == []
