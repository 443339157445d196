"""
Programs such as ``chmod`` that note the arguments with which they are run, and then do what they always do.

    path = recorded_commands(tmp_path / "bin", tmp_path / "commands")
    subprocess.run([...], env={**os.environ, "PATH": path})
    (tmp_path / "commands").read_text()          # a line for each command, even one that took a millisecond
"""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

PROGRAMS = (
    *("bash", "chgrp", "chmod", "chown", "cp", "cut", "du", "getconf", "groups", "hostname", "id", "kill", "ln", "ls"),
    *("mkdir", "mv", "nice", "ps", "readlink", "rm", "setsid", "stat", "tar", "test", "uname", "unzip", "whoami"),
)
"""What Hadoop and Spark run by name."""


def recorded_commands(folder: Path, log: Path) -> str:
    """
    Return a ``PATH`` on which programs note their arguments in ``log``.

    :param folder: for the programs; it is made
    """
    folder.mkdir(parents=True)
    log.touch()
    for name in PROGRAMS:
        if real := shutil.which(name):
            program = folder / name
            program.write_text(f'#!/bin/sh\necho "{name} $*" >> {shlex.quote(str(log))}\nexec {real} "$@"\n')
            program.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"
