"""
The command ``airflow`` for scripts of a shell, which forks a process that has imported what Airflow imports.

    with forked_airflow(folder) as path:
        subprocess.run(["bash", "-c", "airflow info | head"], env={**os.environ, "PATH": path})
"""

from __future__ import annotations

import json
import os
import socketserver
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.servers.quick_python import STREAMS, shared_parent

_COMMAND: Final = """\
#!{python} -IS
import json, os, socket, sys

with socket.socket(socket.AF_UNIX) as asked:
    asked.connect({address!r})
    order = dict(words=sys.argv[1:], env=dict(os.environ), cwd=os.getcwd(), pid=os.getpid())
    asked.sendall(json.dumps(order).encode() + b"\\n")
    sys.exit(int(asked.makefile().readline()))
"""
"""Asks this process, and ends as the command does."""


class _Asked(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        order = json.loads(self.rfile.readline())
        open_there = Path("/proc", str(order["pid"]), "fd")
        streams = {name: str(open_there / str(number)) for number, name in enumerate(STREAMS)}
        words = ("-m", "airflow", *order["words"])
        code = shared_parent().ask(words=words, env=order["env"], cwd=order["cwd"], streams=streams)
        self.wfile.write(f"{code}\n".encode())


@contextmanager
def forked_airflow(folder: Path) -> Iterator[str]:
    """
    Yield a ``PATH`` on which the command is first, until the end of the block.

    :param folder: for its file and its socket; made where it is not there
    """
    folder.mkdir(parents=True, exist_ok=True)
    address, command = str(folder / "asked"), folder / "airflow"
    command.write_text(_COMMAND.format(python=sys.executable, address=address))
    command.chmod(0o755)
    with socketserver.UnixStreamServer(address, _Asked) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield f"{folder}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        finally:
            server.shutdown()
