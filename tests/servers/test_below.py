"""Descendants are found as ``psutil`` finds them."""

from __future__ import annotations

import subprocess
import sys

import psutil

from tests.limits import eventually
from tests.servers.spark_cluster import below

FROM_A_THREAD = """
import subprocess, sys, threading
threading.Thread(target=subprocess.run, args=[[sys.executable, "-c", "input()"]]).start()
"""


def test_a_grandchild_is_found_that_a_thread_has_started() -> None:
    command = ["bash", "-c", f'{sys.executable} -c "$0"; true', FROM_A_THREAD]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        assert eventually(lambda: len(list(below(process.pid))) == 2)
        assert set(below(process.pid)) == {child.pid for child in psutil.Process(process.pid).children(recursive=True)}
        assert process.stdin
        process.stdin.close()

    assert list(below(process.pid)) == []
