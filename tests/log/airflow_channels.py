"""
Say a canary through every channel of a process that logs as Airflow does.

Run as ``python airflow_channels.py <file> <json_output> <sending_to_supervisor>``; what is logged goes to the file.
"""

from __future__ import annotations

import io
import logging
import sys
import warnings
from pathlib import Path

import structlog
from airflow.sdk.log import configure_logging

from airflow_config_providers.core.reversal.reverse import ReverseTransformer
from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.log.exceptions import reverse_exception
from airflow_config_providers.log.installation import reversing

VALUE = "Zq8-s3cr3t/val+1\"é'\\"
TOKEN = "eyJhbGciOi.Zq8t0k3n-x"
REVERSER = ReverseTransformer({}, {ConfigVariable("v", "", "password"): VALUE, ConfigVariable("v", "", "token"): TOKEN})


class Custom:
    def __repr__(self):
        return f"Custom({VALUE})"


def say(structured, standard):
    """Each channel once; the message names it."""
    structured.info("args %s", VALUE)
    structured.info(f"f-string {VALUE}")
    structured.info("token %s", TOKEN)
    structured.info("kwargs", given=VALUE)
    structured.info("nested", config={"a": [{"b": VALUE}]})
    structured.info("mapping-key", config={VALUE: 1})
    structured.info("octets", data=VALUE.encode())
    structured.info("object", custom=Custom())
    structured.bind(bound=VALUE).info("bound")
    standard.info("stdlib-args %s", VALUE)
    standard.info(f"stdlib-f-string {VALUE}")
    standard.info("stdlib-mapping %(password)s", {"password": VALUE})
    standard.info("stdlib-token %s", TOKEN)
    warnings.warn(f"warning {VALUE}", stacklevel=1)
    print(f"printed {VALUE}")
    print(f"printed-to-stderr {VALUE}", file=sys.stderr)
    for logger, name in ((structured, "structlog"), (standard, "stdlib")):
        try:
            fail(name)
        except OSError:
            logger.exception(f"{name}-exception {VALUE}")


def fail(name):
    try:
        raise KeyError(f"{name}-cause {VALUE}")
    except KeyError as cause:
        error = OSError(2, f"{name}-error {VALUE}")
        error.add_note(f"{name}-note {VALUE}")
        raise error from cause


def chain():
    """Everything that an installation changes."""
    formatters = [handler.formatter for handler in logging.getLogger().handlers]
    return [
        [*structlog.get_config()["processors"]],
        [(formatter, [*formatter.processors], [*formatter.foreign_pre_chain]) for formatter in formatters],
        [sys.stdout, sys.stderr],
    ]


def main(file, json_output, sending_to_supervisor):
    output = io.BytesIO() if json_output else io.StringIO()
    configure_logging(
        json_output=json_output,
        output=output,
        sending_to_supervisor=sending_to_supervisor,
        log_level="INFO",
        colored_console_log=False,
    )
    structured, standard = structlog.get_logger("task"), logging.getLogger("tests")
    structured.info("first use: processors are held from here on")
    before = chain()
    with reversing(REVERSER):
        say(structured, standard)
        say(structlog.get_logger("other"), standard)
    try:
        fail("afterwards")
    except OSError as error:
        reverse_exception(error, REVERSER)
        structured.exception("Task failed with exception")
    structured.info("as before" if chain() == before else "not as before")
    written = output.getvalue()
    Path(file).write_bytes(written if json_output else written.encode())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] == "True", sys.argv[3] == "True")
