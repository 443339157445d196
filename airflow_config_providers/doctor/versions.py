"""Checks the versions of the packages that this one leans on."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata
from typing import Final

from airflow_config_providers import __version__, foreign
from airflow_config_providers.core.diagnosis import Diagnosis, doubt, fault, fine, of_problem
from airflow_config_providers.doctor.check import Site
from airflow_config_providers.exceptions import UnsupportedVersionError

_OURS: Final = "airflow-config-providers"
_NAMES: Final = ("apache-airflow", "apache-airflow-providers-apache-spark", "pyspark", "hvac")
_OPTIONAL: Final = {"pyspark": "spark", "hvac": "vault"}
"""Distribution -> the extra that installs it."""


def check(site: Site) -> Iterator[Diagnosis]:
    """Yield the versions that are installed, and whether they are supported."""
    yield fine(f"{_OURS} {__version__} is installed.")
    for name in _NAMES:
        yield _version(name)
    yield from _private_names()


def _version(name: str) -> Diagnosis:
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return _missing(name)
    wanted = _required(name)
    if wanted is None or _is_in(version, wanted):
        return fine(f"{name} {version} is supported.")
    return fault(f"{name} {version} is not supported.", f"pip install '{name}{wanted}'")


def _missing(name: str) -> Diagnosis:
    if extra := _OPTIONAL.get(name):
        return fine(f"{name} is not installed; {_OURS}[{extra}] installs it.")
    return doubt(f"{name} is not installed.", f"pip install {name}")


def _required(name: str) -> str | None:
    """Return the versions of a distribution that this package requires; None if it requires none."""
    from packaging.requirements import Requirement  # noqa: PLC0415 - few ask for it

    try:
        lines = metadata.requires(_OURS) or []
    except metadata.PackageNotFoundError:
        return None
    return next((str(one.specifier) for one in map(Requirement, lines) if one.name == name and one.specifier), None)


def _is_in(version: str, specifier: str) -> bool:
    from packaging.specifiers import SpecifierSet  # noqa: PLC0415 - few ask for it

    return SpecifierSet(specifier).contains(version, prereleases=True)


def _private_names() -> Iterator[Diagnosis]:
    """Yield the private names of other packages that have changed; of packages that are not installed, none."""
    problems: list[str] = []
    for owner in dict.fromkeys(row.owner for row in foreign.TABLE):
        try:
            foreign.require(owner)
        except UnsupportedVersionError as error:
            problems += error.problems
        except (ImportError, AttributeError):
            continue
    yield from map(of_problem, problems)
