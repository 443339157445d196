"""
Waits to be looked at, as a script that a query of spark-sql has its rows transformed by.

Arguments: the folder in which it meets the observer, and the task. Reads digests, and prints a word.
"""

import os
import sys
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException

import psutil
from careless import meet

FOLDER, TASK = sys.argv[1:]


def ui_of(driver):
    """Return the address of Spark's UI, which spark-sql does not print: the port of the driver that speaks HTTP."""
    for port in {c.laddr.port for c in psutil.Process(driver).net_connections("tcp") if c.status == psutil.CONN_LISTEN}:
        with suppress(OSError, HTTPException), closing(HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
            connection.request("HEAD", "/")
            connection.getresponse()
            return f"http://127.0.0.1:{port}"
    raise SystemExit("The driver has no UI.")


application, *values = sys.stdin.read().replace("\x01", " ").split()
meet(
    FOLDER,
    TASK,
    "sql",
    ui=ui_of(os.getppid()),
    application=application,
    driver=os.getppid(),
    values=values,
)
print("met")
