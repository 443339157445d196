"""Checks the versions of the packages that this one leans on."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Final

from airflow_config_providers import __version__, foreign
from airflow_config_providers.core.diagnosis import Diagnosis, doubt, fault, fine, of_problem
from airflow_config_providers.doctor.examination import Site
from airflow_config_providers.exceptions import UnsupportedVersionError
from airflow_config_providers.spark.catalogue_file import minor_version, versions
from airflow_config_providers.spark.installation import SparkInstallation, find_command
from airflow_config_providers.spark.jvm import unwritable

_OURS: Final = "airflow-config-providers"
_NAMES: Final = ("apache-airflow", "apache-airflow-providers-apache-spark", "pyspark", "hvac")
_OPTIONAL: Final = {"pyspark": "spark", "hvac": "vault"}
"""Distribution -> the extra that installs it."""


def check_versions(site: Site) -> Iterator[Diagnosis]:
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


_BINARY: Final = "spark-submit"
_VERSION: Final = re.compile(r'version "(?:1\.)?(\d+)')
_SECONDS_FOR_JAVA: Final = 10
"""The time limit for ``java -version``."""


def check_spark(site: Site) -> Iterator[Diagnosis]:
    """
    Yield the versions of Spark and Java, whether they fit together, and why they cannot write temporary files.

    :raises SubmitError: spark-submit or Java is missing
    """
    spark = SparkInstallation.of(_BINARY, site.environ)
    binary, version = spark.require_command(), spark.version
    if version is None:
        yield doubt(f"The version of {binary} is not known.", "Set SPARK_HOME to the directory of Spark.")
    else:
        yield _spark(str(binary), version)
        yield from _pyspark(version)
    yield from _java(version or "", site.environ)
    yield from (fault(problem, way_out) for problem, way_out in unwritable(site.environ))


def _spark(binary: str, version: str) -> Diagnosis:
    known = [*versions()]
    if ".".join(version.split(".")[:2]) in known:
        return fine(f"{binary} is Spark {version}, whose keys are known.")
    return doubt(
        f"{binary} is Spark {version}; the keys of {known[0]} to {known[-1]} are known.",
        "Install a newer airflow-config-providers, or one of these versions of Spark.",
    )


def _pyspark(version: str) -> Iterator[Diagnosis]:
    try:
        installed = metadata.version("pyspark")
    except metadata.PackageNotFoundError:
        return
    if minor_version(installed) != minor_version(version):
        yield doubt(f"PySpark is {installed}, and spark-submit is {version}.", f"pip install pyspark=={version}")


def _java(spark: str, environ: Mapping[str, str]) -> Iterator[Diagnosis]:
    major = _major(environ)
    least = 17 if (minor_version(spark) or (4, 0)) >= (4, 0) else 8
    if major is None:
        yield doubt("The version of Java is not known.", f"Set JAVA_HOME to a Java {max(least, 17)}.")
    elif major < least:
        yield fault(f"Java {major} is too old for Spark {spark}.", f"Install Java {least}, and set JAVA_HOME to it.")
    else:
        yield fine(f"Java {major} fits.")


def _major(environ: Mapping[str, str]) -> int | None:
    """Return the first number of Java's version; None if it cannot be asked."""
    home = environ.get("JAVA_HOME")
    java = Path(home, "bin", "java") if home else find_command("java", environ)
    if java is None:
        return None
    try:
        done = subprocess.run(  # noqa: S603 - the Java that spark-submit would run
            [str(java), "-version"],
            env={"PATH": environ.get("PATH", os.defpath)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS_FOR_JAVA,
            check=False,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    match = _VERSION.search(done.stderr + done.stdout)
    return int(match[1]) if match else None
