"""The Spark that is installed: its command, its home and its version."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from glob import glob
from pathlib import Path
from typing import Final

from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import SubmitError

Which = Callable[..., str | None]
"""``shutil.which``, or a replacement that takes a command and ``path=``."""


def require_spark_binary(spark_binary: str, environ: Mapping[str, str], *, which: Which = shutil.which) -> Path:
    """
    Return the path of ``spark_binary``, after a check that it can be started.

    :raises SubmitError: it is not on the ``PATH``, or there is no Spark or no Java for it
    """
    binary = find_command(spark_binary, environ, which=which)
    if binary is None:
        raise SubmitError(
            f"{printable(spark_binary)} is not on the PATH of this worker. Install Spark there, for example with "
            f"'pip install pyspark', and put the directory of {printable(spark_binary)} on the PATH."
        )
    if problem := _home_problem(binary, environ):
        raise SubmitError(problem)
    if (problem := _java_problem(environ, which)) and not _finds_java_itself(binary, environ):
        raise SubmitError(problem)
    return binary


def conf_directory(binary: Path | None, environ: Mapping[str, str]) -> Path | None:
    """Return the directory of Spark's configuration files, which need not exist; None if it cannot be determined."""
    if directory := environ.get("SPARK_CONF_DIR"):
        return Path(directory)
    home = home_directory(binary, environ)
    return home / "conf" if home else None


def home_directory(binary: Path | None, environ: Mapping[str, str]) -> Path | None:
    """Return the directory of Spark itself; None if it cannot be determined."""
    if home := environ.get("SPARK_HOME"):
        return Path(home)
    homes = _homes(binary.resolve().parent) if binary else ()
    return next((home for home in homes if _is_home(home)), None)


def is_file(path: Path) -> bool:
    """Return whether there is a file; false, as for Spark's scripts, if a directory above it may not be entered."""
    return os.path.isfile(path)  # noqa: PTH113 - Path.is_file() raises an error then


def matching(pattern: str, directory: Path) -> list[str]:
    """Return the paths below a directory that match a pattern; none if it may not be entered."""
    return sorted(glob(pattern, root_dir=directory))  # noqa: PTH207 - Path.glob() raises an error then


def find_command(command: str, environ: Mapping[str, str], *, which: Which = shutil.which) -> Path | None:
    """Return the path of a command on the ``PATH``; None if it is not there."""
    found = which(command, path=environ.get("PATH", os.defpath))
    return Path(found) if found else None


def _home_problem(binary: Path, environ: Mapping[str, str]) -> str:
    """Return what is wrong with ``SPARK_HOME``, for a script of Spark's own; other scripts may set it themselves."""
    home = environ.get("SPARK_HOME")
    if not home or _is_home(Path(home)) or not is_file(binary.resolve().parent / "find-spark-home"):
        return ""
    lack = _lack(home, "bin/spark-class")
    return (
        f"SPARK_HOME is {printable(home)}, but {lack}. Correct it, or remove it: "
        f"{printable(binary.name)} then uses the Spark that it belongs to."
    )


def _lack(home: str, name: str) -> str:
    """Return why a file cannot be used, as the end of a sentence about its directory."""
    try:
        Path(home, name).stat()
    except PermissionError:
        return f"user {os.geteuid()} may not enter it"
    except OSError:  # as when there is none
        pass
    return f"there is no {name} in it"


def _java_problem(environ: Mapping[str, str], which: Which) -> str:
    home = environ.get("JAVA_HOME")
    if home and not os.access(Path(home, "bin", "java"), os.X_OK):
        lack = _lack(home, "bin/java")
        return f"JAVA_HOME is {printable(home)}, but {lack}. Correct it, or install Java 17 there."
    if not home and not which("java", path=environ.get("PATH", os.defpath)):
        return "Spark needs Java, and there is none on this worker. Install Java 17, or set JAVA_HOME."
    return ""


def _finds_java_itself(binary: Path, environ: Mapping[str, str]) -> bool:
    """Return whether Spark's ``spark-env.sh``, or the script of a distribution, could locate Java by itself."""
    directory = conf_directory(binary, environ)
    return directory is None or is_file(directory / "spark-env.sh")


def _homes(scripts: Path) -> Iterator[Path]:
    prefix = scripts.parent
    if not is_file(scripts / "find_spark_home.py"):
        yield prefix
        return
    # Spark was installed by pip, which copies the scripts out of the package.
    yield prefix / "pyspark"
    yield from (prefix / name for name in matching("lib*/python3*/*-packages/pyspark", prefix))


def _is_home(path: Path) -> bool:
    return is_file(path / "bin" / "spark-class")


_RELEASE: Final = re.compile(r"Spark (\d+\.\d+\.\d+\S*)")
_CORE: Final = re.compile(r"spark-core_[\d.]+-(\d+\.\d+\.\d+.*)\.jar")


def installed_version(spark_binary: str, environ: Mapping[str, str]) -> str | None:
    """
    Return the version of the Spark that ``spark_binary`` starts. No Java is started.

    :return: None if there is no Spark, or if its version is not written where Spark's archives and packages have it
    """
    home = home_directory(find_command(spark_binary, environ), environ)
    return version_in(home) if home else None


def version_at_hand(environ: Mapping[str, str]) -> str | None:
    """
    Return the version of the Spark that ``spark-submit`` starts here; None if there is none.

    :param environ: empty for a process whose Spark, if it has one, runs no job, such as an API server
    """
    return installed_version("spark-submit", environ) if environ.get("PATH") else None


def version_in(home: Path) -> str | None:
    """Return the version of the Spark in ``home``: from its file ``RELEASE``, or from the name of its main jar."""
    if found := _RELEASE.match(_first_line(home / "RELEASE")):
        return found[1]
    jars = matching("spark-core_*.jar", home / "jars")
    return next((found[1] for jar in jars if (found := _CORE.fullmatch(jar))), None)


def _first_line(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.readline(200)
    except OSError:
        return ""
