"""Checks whether there is a Java on which Spark runs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

OLDEST = 17


class NoJavaError(RuntimeError):
    """There is no Java, or it is too old."""


def require_java() -> str:
    """
    Return the command of the Java that Spark will use.

    :raises NoJavaError: there is no suitable Java; the message says what to do
    """
    home = os.environ.get("JAVA_HOME")
    command = shutil.which(f"{home}/bin/java") if home else shutil.which("java")
    if command is None:
        place = f"in JAVA_HOME ({home})" if home else "on the PATH"
        raise NoJavaError(f"Spark needs Java {OLDEST} or newer, and there is no java {place}. {_way_out()}")
    version = java_version(subprocess.run([command, "-version"], capture_output=True, text=True, check=False).stderr)
    if version is None or version < OLDEST:
        raise NoJavaError(f"Spark needs Java {OLDEST} or newer, and {command} is {version or 'unknown'}. {_way_out()}")
    return command


def java_version(text: str) -> int | None:
    """Return the major version in the output of ``java -version``; None if there is none."""
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(found[1]) if found else None


def _way_out() -> str:
    return "Install one, such as the package openjdk-17-jre-headless or temurin-17, and set JAVA_HOME to it."
