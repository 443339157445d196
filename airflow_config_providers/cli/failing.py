"""How commands fail, and the notes that they print besides their results."""

from __future__ import annotations

import errno
import functools
import io
import logging
import os
import select
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final

from airflow_config_providers.core.text import one_line
from airflow_config_providers.exceptions import (
    ConfigException,
    ConfigProvidersError,
    ForbiddenError,
    PolicyViolation,
    ProviderUnavailableError,
    listed,
)

FOUND: Final = 1
"""The exit code of a command that looks for something, and found it."""

INCOMPLETE: Final = 2
"""The exit code of such a command if it could not read everything."""

WRONG_ARGUMENTS: Final = 2
"""The exit code of argparse, too."""

UNDECIDED: Final = 2
"""The exit code of ``--detailed-exit-code`` if something changes, or if only a run knows the result."""

REFUSED: Final = 3
"""The exit code if something must be corrected first, and of any other error."""

DENIED: Final = 4
"""The exit code if a policy, a server or a secret store denied it."""

UNAVAILABLE: Final = 5
"""The exit code if something did not answer, so that a later attempt can succeed."""

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

        _open_closed_streams()
        _escape_what_is_not_encoded()
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
            _end(())
            raise
        except SystemExit:  # raised by what it ran: a provider or a policy; even 0 must not pass for success
            problems, code = ("The command was ended by code that it ran, which raised SystemExit.",), REFUSED
        except KeyboardInterrupt:
            problems, code = ("Interrupted.",), INTERRUPTED
        except OSError as error:
            problems, code = _of_system(error)
        else:
            return
        _end(problems)
        raise SystemExit(code)

    return run


_BROKEN_PIPE: Final = "A server or another process closed its connection to this command. Run the command again."
_FULL: Final = (errno.ENOSPC, errno.EDQUOT)
_NO_SPACE: Final = "There is no space left for the output or for a file. Free some, and run the command again."


def _of_system(error: OSError) -> tuple[tuple[str, ...], int]:
    """Return the problems and the exit code if something could not be written; raise any other error."""
    if isinstance(error, BrokenPipeError):
        return ((), UNREAD) if _has_no_reader() else ((_BROKEN_PIPE,), UNAVAILABLE)
    if error.errno in _FULL:
        return (_NO_SPACE,), UNREAD
    raise error


def _has_no_reader() -> bool:
    """Return whether the program that read standard output has closed it."""
    poll = select.poll()
    with suppress(ValueError):  # it is no file, so it cannot be a pipe
        poll.register(sys.stdout, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def _end(problems: Sequence[str]) -> None:
    """Write the output and the problems, or drop what cannot be written: Python would end with a code of its own."""
    is_full = write_or_drop(sys.stdout, "") in _FULL and _NO_SPACE not in problems
    for problem in (*listed(list(dict.fromkeys(problems))), *([_NO_SPACE] if is_full else [])):
        _write("error", problem)
    write_or_drop(sys.stderr, "")


def write_or_drop(stream: IO[str], text: str) -> int | None:
    """
    Write to ``stream``; if its reader is gone, or its disk is full, drop what is written to it from now on.

    :return: the number of the system's error; None if everything was written
    """
    try:
        stream.write(text)
        stream.flush()
    except OSError as error:
        with suppress(OSError):  # a stream of a test has no descriptor
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return error.errno
    return None


def say(text: str) -> None:
    """Write what is not a result to standard error. Whether someone reads it does not change how a command ends."""
    write_or_drop(sys.stderr, text)


def _open_closed_streams() -> None:
    """Drop what is written to a stream with which Python was not started, as after ``>&-``."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - until the end


def _escape_what_is_not_encoded() -> None:
    """Let standard output escape characters that it cannot encode, as in ASCII; standard error always does."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


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
    say(f"{what}: {one_line(text)}\n")


def _code(error: ConfigProvidersError) -> int:
    codes = {
        WrongArgumentsError: WRONG_ARGUMENTS,
        PolicyViolation: DENIED,
        ForbiddenError: DENIED,
        ProviderUnavailableError: UNAVAILABLE,
    }
    return next((code for kind, code in codes.items() if isinstance(error, kind)), REFUSED)
