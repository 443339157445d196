"""Databases of Derby that let nobody in without a password, for a JDBC job of each column."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

import pyspark

from dags_examples.demo.java import require_java
from tests.leaks.canaries import Canary
from tests.limits import LONGEST

STATEMENTS = """
connect 'jdbc:derby:{name};create=true;user=app';
create table t (x int);
insert into t values 1;
call syscs_util.syscs_create_user('app', '{password}');
disconnect;
"""


def create(folder: Path, name: str, passwords: Iterable[Canary], *, script: Path) -> None:
    """
    Create a database below ``folder``/``name`` for each password, and name it after the password's name.

    :param script: a file that is not searched
    """
    (folder / name).mkdir(parents=True)
    texts = [
        STATEMENTS.format(name=f"{name}/{canary.name}", password=canary.value.replace("'", "''"))
        for canary in passwords
    ]
    script.write_text("".join(texts), encoding="utf-8")
    jars = Path(pyspark.__file__).parent / "jars"
    command = [require_java(), "-Dfile.encoding=UTF-8", f"-Dderby.system.home={folder}", "-cp", f"{jars}/*"]
    done = subprocess.run(
        [*command, "org.apache.derby.tools.ij", str(script)],
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    if done.returncode or "ERROR" in done.stdout:
        raise RuntimeError("The databases could not be made.")
