"""The Spark that is installed: its command, its home, its version and its ``spark-defaults.conf``."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from glob import glob
from pathlib import Path
from typing import Final, Self

from airflow_config_providers.core.cached import cached_property
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import SubmitError
from airflow_config_providers.spark.layer_files import ConfigFile

Which = Callable[..., str | None]
"""``shutil.which``, or a replacement that takes a command and ``path=``."""


@dataclass(frozen=True, repr=False, eq=False)
class SparkInstallation:
    """
    The Spark that a program starts. What is asked of it is looked up then, and its home once; no Java is started.

    :param program: the program, as it is written
    :param command: its path; None if it is not on the ``PATH``
    :param environ: the environment in which it is started
    """

    program: str
    command: Path | None
    environ: Mapping[str, str] = field(repr=False)

    @classmethod
    def of(cls, program: str, environ: Mapping[str, str], *, which: Which = shutil.which) -> Self:
        """Return the Spark of a program that is looked for on the ``PATH`` of ``environ``."""
        return cls(program, find_command(program, environ, which=which), environ)

    @cached_property
    def home(self) -> Path | None:
        """Return the directory of Spark itself; None if it cannot be determined."""
        if home := self.environ.get("SPARK_HOME"):
            return Path(home)
        homes = _homes(self.command.resolve().parent) if self.command else ()
        return next((home for home in homes if _is_home(home)), None)

    @property
    def conf_directory(self) -> Path | None:
        """The directory of Spark's configuration files, which need not exist; None if it cannot be determined."""
        if directory := self.environ.get("SPARK_CONF_DIR"):
            return Path(directory)
        return self.home / "conf" if self.home else None

    @property
    def defaults(self) -> ConfigFile | None:
        """
        The ``spark-defaults.conf`` that it reads if it gets no properties file.

        None if there is no such file, or if its program is a script from which Spark cannot be located; set
        ``SPARK_CONF_DIR`` or ``SPARK_HOME`` then.
        """
        directory = self.conf_directory
        return defaults_in(directory) if directory else None

    @property
    def version(self) -> str | None:
        """Its version; None without a Spark, or if it is not written where Spark's archives and packages have it."""
        return version_in(self.home) if self.home else None

    def require_command(self) -> Path:
        """
        Return the path of the program, after a check that it can be started.

        :raises SubmitError: it is not on the ``PATH``, or there is no Spark or no Java for it
        """
        if self.command is None:
            raise SubmitError(
                f"{printable(self.program)} is not on the PATH of this worker. Install Spark there, for example with "
                f"'pip install pyspark', and put the directory of {printable(self.program)} on the PATH."
            )
        if problem := self._home_problem(self.command):
            raise SubmitError(problem)
        if (problem := self._java_problem()) and not self._finds_java_itself():
            raise SubmitError(problem)
        return self.command

    def _home_problem(self, command: Path) -> str:
        """Return what is wrong with ``SPARK_HOME``, for a script of Spark's own; others may set it themselves."""
        home = self.environ.get("SPARK_HOME")
        if not home or _is_home(Path(home)) or not is_file(command.resolve().parent / "find-spark-home"):
            return ""
        lack = _lack(home, "bin/spark-class")
        return (
            f"SPARK_HOME is {printable(home)}, but {lack}. Correct it, or remove it: "
            f"{printable(command.name)} then uses the Spark that it belongs to."
        )

    def _java_problem(self) -> str:
        home = self.environ.get("JAVA_HOME")
        if home and not os.access(Path(home, "bin", "java"), os.X_OK):
            lack = _lack(home, "bin/java")
            return f"JAVA_HOME is {printable(home)}, but {lack}. Correct it, or install Java 17 there."
        if not home and not find_command("java", self.environ):
            return "Spark needs Java, and there is none on this worker. Install Java 17, or set JAVA_HOME."
        return ""

    def _finds_java_itself(self) -> bool:
        """Return whether Spark's ``spark-env.sh``, or the script of a distribution, could locate Java by itself."""
        directory = self.conf_directory
        return directory is None or is_file(directory / "spark-env.sh")


def version_at_hand(environ: Mapping[str, str]) -> str | None:
    """
    Return the version of the Spark that ``spark-submit`` starts here; None if there is none.

    :param environ: empty for a process whose Spark, if it has one, runs no job, such as an API server
    """
    return SparkInstallation.of("spark-submit", environ).version if environ.get("PATH") else None


def defaults_in(directory: Path) -> ConfigFile | None:
    """Return the defaults file in a directory of Spark's configuration files; None if there is none."""
    path = directory / "spark-defaults.conf"
    return ConfigFile(str(path), str(path), is_lenient=True) if is_file(path) else None


def find_command(command: str, environ: Mapping[str, str], *, which: Which = shutil.which) -> Path | None:
    """Return the path of a command on the ``PATH``; None if it is not there."""
    found = which(command, path=environ.get("PATH", os.defpath))
    return Path(found) if found else None


def is_file(path: Path) -> bool:
    """Return whether there is a file; false, as for Spark's scripts, if a directory above it may not be entered."""
    return os.path.isfile(path)  # noqa: PTH113 - Path.is_file() raises an error then


def matching(pattern: str, directory: Path) -> list[str]:
    """Return the paths below a directory that match a pattern; none if it may not be entered."""
    return sorted(glob(pattern, root_dir=directory))  # noqa: PTH207 - Path.glob() raises an error then


def _lack(home: str, name: str) -> str:
    """Return why a file cannot be used, as the end of a sentence about its directory."""
    try:
        Path(home, name).stat()
    except PermissionError:
        return f"user {os.geteuid()} may not enter it"
    except OSError:  # as when there is none
        pass
    return f"there is no {name} in it"


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
