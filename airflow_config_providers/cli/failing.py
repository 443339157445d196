"""How commands fail, and what they tell beside their results."""

from __future__ import annotations

import functools
import logging
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any, Final

from airflow_config_providers.core.text import one_line
from airflow_config_providers.exceptions import (
    ConfigException,
    ConfigProvidersError,
    ForbiddenError,
    PolicyViolation,
    ProviderUnavailableError,
)

WRONG_ARGUMENTS: Final = 2
"""What argparse ends with too."""

REFUSED: Final = 3
DENIED: Final = 4
UNAVAILABLE: Final = 5


class WrongArgumentsError(ConfigException):
    """What stands on the command line makes no sense."""


def told(command: Callable[[Any], None]) -> Callable[[Any], None]:
    """
    Have a command tell all that is wrong on standard error, a line each, and end with a code that scripts can use.

    Airflow's ``action_cli`` is not used: it writes the command line, and so a secret that stands there, into the
    database.
    """

    @functools.wraps(command)
    def run(args: Any) -> None:
        from airflow.exceptions import AirflowConfigException  # noqa: PLC0415 - nothing of Airflow where this is loaded

        _log_to_stderr()
        try:
            with warnings.catch_warnings(action="ignore"):  # those of libraries, which Airflow 3.2 prints as results
                command(args)
            sys.stdout.flush()
        except ConfigProvidersError as error:
            problems, code = error.problems, _code(error)
        except AirflowConfigException as error:
            problems, code = (str(error),), REFUSED
        except BrokenPipeError:  # the reader has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return
        else:
            return
        for problem in problems:
            _tell("error", problem)
        raise SystemExit(code)

    return run


def _log_to_stderr() -> None:
    """Have log lines stand beside the results and not among them. Airflow 3.3 does so itself."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, logging.StreamHandler) and handler.stream is sys.stdout:
            handler.setStream(sys.stderr)


class Notes:
    """Tells people on standard error what is no error; each note once."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def __call__(self, text: str) -> None:
        """Tell ``text``."""
        if text not in self._told:
            self._told.add(text)
            _tell("note", text)


def _tell(what: str, text: str) -> None:
    sys.stderr.write(f"{what}: {one_line(text)}\n")


def _code(error: ConfigProvidersError) -> int:
    codes = {
        WrongArgumentsError: WRONG_ARGUMENTS,
        PolicyViolation: DENIED,
        ForbiddenError: DENIED,
        ProviderUnavailableError: UNAVAILABLE,
    }
    return next((code for kind, code in codes.items() if isinstance(error, kind)), REFUSED)
