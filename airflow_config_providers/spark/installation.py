"""
The Spark that is installed: its command, its home, its version and its ``spark-defaults.conf``.

Its ``spark-env.sh`` runs before each program of Spark, and can change what that reads and where it runs.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from glob import glob
from pathlib import Path
from typing import Final, Self

from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import SubmitError
from airflow_config_providers.lazy import cached_property
from airflow_config_providers.spark.layer_files import ConfigFile

Which = Callable[..., str | None]
"""``shutil.which``, or a replacement that takes a command and ``path=``."""

_SETS: Final = re.compile(rb"^[^#\n]*\bSPARK_CONF_DIR=", re.MULTILINE)

_SETS_MODE: Final = re.compile(
    rb"""^(?:[^#\n]|(?<=\S)\#)*\bDEPLOY_MODE(?::?|\+)=(?!(['"]?)client\1(?:[\s;&|})]|$))""", re.MULTILINE
)

_ASK: Final = 'exec 3>&1 >&2; set -a; . "$0"; printf %s "$SPARK_CONF_DIR" >&3'
"""Runs a script as Spark's ``load-spark-env.sh`` does, and prints only the variable that it leaves."""

_PATIENCE: Final = 60.0
"""The seconds that a script can take; Spark itself would wait without end."""


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


def doubt_of_defaults(spark: SparkInstallation) -> str:
    """
    Return the warning that Spark alone would read other defaults, because ``spark-env.sh`` sets ``SPARK_CONF_DIR``.

    A script that sets it is run, as Spark does next; for at most a minute.

    :return: empty if Spark would read the same, or if that cannot be determined
    """
    before = spark.conf_directory
    after = _changed(before, spark) if before else None
    if before is None or after is None or not (defaults_in(before) or defaults_in(after)):
        return ""
    return (
        f"spark-env.sh in {printable(str(before))} sets SPARK_CONF_DIR to {printable(str(after))}, where Spark alone "
        f"would read spark-defaults.conf. This job has the defaults of the first directory. Set SPARK_CONF_DIR in the "
        f"environment of the worker instead."
    )


def doubt_of_mode(spark: SparkInstallation) -> str:
    """
    Return the warning that ``spark-env.sh`` may start the driver in the cluster; empty if it sets no ``DEPLOY_MODE``.

    The script is not run. What it sets has no effect if an option of spark-submit or a key of the job sets the mode.
    """
    directory = None if spark.environ.get("SPARK_ENV_LOADED") else spark.conf_directory
    if directory is None or not _SETS_MODE.search(_content(directory / "spark-env.sh")):
        return ""
    return (
        f"spark-env.sh in {printable(str(directory))} sets DEPLOY_MODE, so it is not known here whether the driver "
        f"starts in the cluster. This job is treated as one in client mode, but in cluster mode others can read its "
        f"values. Set deploy_mode, or spark.submit.deployMode in conf or in a file, instead."
    )


def _changed(before: Path, spark: SparkInstallation) -> Path | None:
    """Return the directory that the script in ``before`` names instead; None if it names no other one."""
    script = before / "spark-env.sh"
    if spark.environ.get("SPARK_ENV_LOADED") or not _SETS.search(_content(script)):
        return None
    known = {
        "SPARK_CONF_DIR": str(before),
        "SPARK_ENV_LOADED": "1",
        **({"SPARK_HOME": str(spark.home)} if spark.home else {}),
    }
    after = _left_by(script, {**spark.environ, **known})
    return Path(after) if after and os.path.realpath(after) != os.path.realpath(before) else None


def _left_by(script: Path, environ: Mapping[str, str]) -> str:
    """Return the ``SPARK_CONF_DIR`` that a script leaves; empty if it fails."""
    try:
        done = subprocess.run(  # noqa: S603 - Spark runs the same script next
            ["bash", "-c", _ASK, str(script)],  # noqa: S607 - as Spark finds it
            env={**environ},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""
    return os.fsdecode(done.stdout)


def _content(script: Path) -> bytes:
    try:
        return script.read_bytes() if is_file(script) else b""
    except OSError:
        return b""
