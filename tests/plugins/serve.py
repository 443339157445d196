"""Airflow's API server in a process of its own, on a free port, which it tells on standard output."""

from __future__ import annotations

import gc
import os
import socket
import sys

from tests.servers.quick_python import SELDOM


def main() -> None:
    gc.set_threshold(*SELDOM)
    told = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    import uvicorn
    from airflow.api_fastapi.app import create_app

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        app = create_app()
        listening.listen()
        told.write(f"{listening.getsockname()[1]}\n")
        told.flush()
        uvicorn.Server(uvicorn.Config(app, log_level="info")).run(sockets=[listening])


if __name__ == "__main__":
    sys.exit(main())
