"""Spark's ``spark-env.sh``, which runs before each program of Spark, and can change what it reads and where it runs."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from airflow_config_providers.core.text import printable
from airflow_config_providers.spark.installation import SparkInstallation, defaults_in, is_file

_SETS: Final = re.compile(rb"^[^#\n]*\bSPARK_CONF_DIR=", re.MULTILINE)

_SETS_MODE: Final = re.compile(
    rb"""^(?:[^#\n]|(?<=\S)\#)*\bDEPLOY_MODE(?::?|\+)=(?!(['"]?)client\1(?:[\s;&|})]|$))""", re.MULTILINE
)

_ASK: Final = 'exec 3>&1 >&2; set -a; . "$0"; printf %s "$SPARK_CONF_DIR" >&3'
"""Runs a script as Spark's ``load-spark-env.sh`` does, and prints only the variable that it leaves."""

_PATIENCE: Final = 60.0
"""The seconds that a script can take; Spark itself would wait without end."""


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
