"""How commands fail, and the notes that they print besides their results."""

from __future__ import annotations

import errno
import functools
import logging
import os
import select
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, TextIO

from airflow_config_providers.core.text import one_line
from airflow_config_providers.exceptions import (
    ConfigException,
    ConfigProvidersError,
    ForbiddenError,
    PolicyViolation,
    ProviderUnavailableError,
)

WRONG_ARGUMENTS: Final = 2
"""The exit code of argparse, too."""

REFUSED: Final = 3
DENIED: Final = 4
UNAVAILABLE: Final = 5
INTERRUPTED: Final = 130
"""What shells return for a command that was ended by Ctrl-C."""

UNREAD: Final = 141
"""What shells return for a command whose output nobody reads to the end, as with ``head``; also if it has no space."""


class WrongArgumentsError(ConfigException):
    """The arguments on the command line are wrong."""


class Finished(SystemExit):
    """Ends a command that did its work, with the code for what it found."""


def reporting_errors(command: Callable[[Any], None]) -> Callable[[Any], None]:
    """
    Return ``command``, which then prints each problem on a line of standard error, and exits with a useful code.

    It does not use Airflow's ``action_cli``, which writes the command line into the database, with any secret in it.
    """

    @functools.wraps(command)
    def run(args: Any) -> None:
        from airflow_config_providers.airflow_compat import config_errors  # noqa: PLC0415 - only a command that runs

        _log_to_stderr()
        try:
            with warnings.catch_warnings(action="ignore"):  # Airflow 3.2 prints those of libraries among the results
                command(args)
            sys.stdout.flush()
        except ConfigProvidersError as error:
            problems, code = error.problems, _code(error)
        except config_errors() as error:
            # of a command whose output is a setting, Airflow's message quotes the output
            problems, code = (str(error).partition(" Output: ")[0],), REFUSED
        except Finished:
            _flush()
            raise
        except SystemExit:  # raised by what it ran: a provider or a policy; even 0 must not pass for success
            problems, code = ("The command was ended by code that it ran, which raised SystemExit.",), REFUSED
        except KeyboardInterrupt:
            problems, code = ("Interrupted.",), INTERRUPTED
        except OSError as error:
            problems, code = _of_system(error)
        else:
            return
        for problem in problems:
            _write("error", problem)
        _flush()
        raise SystemExit(code)

    return run


_BROKEN_PIPE: Final = "A server or another process closed its connection to this command. Run the command again."
_NO_SPACE: Final = "There is no space left for the output or for a file. Free some, and run the command again."


def _of_system(error: OSError) -> tuple[tuple[str, ...], int]:
    """Return the problems and the exit code if something could not be written; raise any other error."""
    if isinstance(error, BrokenPipeError):
        return ((), UNREAD) if _has_no_reader() else ((_BROKEN_PIPE,), UNAVAILABLE)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return (_NO_SPACE,), UNREAD
    raise error


def _has_no_reader() -> bool:
    """Return whether the program that read standard output has closed it."""
    poll = select.poll()
    with suppress(ValueError, TypeError):  # it is no file, so it cannot be a pipe, or it was closed before
        poll.register(sys.stdout, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def _flush() -> None:
    """Write the rest of the output, or drop it if it cannot be written: Python would end with a code of its own."""
    for stream in (sys.stdout, sys.stderr):
        _put(stream)


def _put(stream: TextIO | None, text: str = "") -> None:
    """Write ``text`` to ``stream``; if its reader is gone, or its disk is full, drop that and all that follows."""
    if stream is None:
        return
    try:
        stream.write(text)
        stream.flush()
    except OSError:
        with suppress(OSError):  # a stream of a test has no descriptor
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _log_to_stderr() -> None:
    """Send log lines to standard error, so that they do not mix with results, as Airflow 3.3 does itself."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, logging.StreamHandler) and handler.stream is sys.stdout:
            handler.setStream(sys.stderr)


class Notes:
    """Prints notes, which are not errors, on standard error; each one once."""

    def __init__(self) -> None:
        self._printed: dict[str, None] = {}

    @property
    def printed(self) -> list[str]:
        """The notes so far, in order."""
        return list(self._printed)

    def __call__(self, text: str) -> None:
        """Print ``text``, unless it was printed before."""
        if text not in self._printed:
            self._printed[text] = None
            _write("note", text)


def _write(what: str, text: str) -> None:
    _put(sys.stderr, f"{what}: {one_line(text)}\n")


def _code(error: ConfigProvidersError) -> int:
    codes = {
        WrongArgumentsError: WRONG_ARGUMENTS,
        PolicyViolation: DENIED,
        ForbiddenError: DENIED,
        ProviderUnavailableError: UNAVAILABLE,
    }
    return next((code for kind, code in codes.items() if isinstance(error, kind)), REFUSED)
