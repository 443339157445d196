"""Checks the spark-submit and the Java of this machine."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Final

from airflow_config_providers.core.diagnosis import Diagnosis, doubt, fault, fine
from airflow_config_providers.doctor.check import Site
from airflow_config_providers.spark.catalogue_file import minor_version, versions
from airflow_config_providers.spark.defaults import find_command, require_spark_binary
from airflow_config_providers.spark.installed_version import installed_version

_BINARY: Final = "spark-submit"
_VERSION: Final = re.compile(r'version "(?:1\.)?(\d+)')
_SECONDS: Final = 10


def check(site: Site) -> Iterator[Diagnosis]:
    """
    Yield the versions of Spark and Java, and whether they fit together.

    :raises SubmitError: spark-submit or Java is missing
    """
    binary = require_spark_binary(_BINARY, site.environ)
    version = installed_version(_BINARY, site.environ)
    if version is None:
        yield doubt(f"The version of {binary} is not known.", "Set SPARK_HOME to the directory of Spark.")
    else:
        yield _spark(str(binary), version)
        yield from _pyspark(version)
    yield from _java(version or "", site.environ)


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
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    match = _VERSION.search(done.stderr + done.stdout)
    return int(match[1]) if match else None
