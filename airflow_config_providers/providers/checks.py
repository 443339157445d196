"""Checks whether providers can answer, and whether the rights of files are safe."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Any, Final

from airflow_config_providers.core.concurrency.timed_calls import CallOutcome, call_each
from airflow_config_providers.core.diagnosis import Diagnosing, Diagnosis, doubt, fault, fine, of_problem
from airflow_config_providers.core.provider import ConfigProvider
from airflow_config_providers.core.sensitive import shown_path
from airflow_config_providers.core.text import counted, printable
from airflow_config_providers.exceptions import ConfigProvidersError

PATIENCE: Final = 60.0
"""The seconds after which a provider that has not responded is reported as unavailable."""

OURS: Final = "airflow-config-providers"

NOT_CHECKED: Final = "the class has no check()"

Answer = tuple[bool | None, str]
"""Whether a provider can answer, None if its class cannot tell, and a message."""


def ask_each(providers: Mapping[str, ConfigProvider], *, patience: float = PATIENCE) -> dict[str, Answer]:
    """
    Check all providers in parallel, each in a thread. A thread that takes too long is abandoned.

    :param patience: the seconds to wait for all of them together
    :return: name -> whether the provider can answer, and a message
    """
    asked = {name: provider.check for name, provider in providers.items() if _has_check(provider)}
    ended = call_each(asked, patience=patience)
    return {name: _answer(ended[name], patience) if name in ended else (None, NOT_CHECKED) for name in providers}


def _has_check(provider: ConfigProvider) -> bool:
    return type(provider).check is not ConfigProvider.check


def diagnose_each(providers: Mapping[str, ConfigProvider], *, patience: float) -> dict[str, list[Diagnosis]]:
    """
    Examine all providers in parallel, as ``ask_each`` asks them.

    :param providers: each is looked up in its own thread, so that one that hangs while it is opened is named, too
    :return: name -> what was found, which begins with the name
    """
    ended = call_each({name: partial(_diagnoses, providers, name) for name in providers}, patience=patience)
    return {name: _found(name, outcome, patience) for name, outcome in ended.items()}


def _diagnoses(providers: Mapping[str, ConfigProvider], name: str) -> list[Diagnosis]:
    try:
        provider = providers[name]
    except ConfigProvidersError as error:  # its problems say where they are
        problems = error.problems
    else:
        return _named(name, _examined(provider))
    return list(map(of_problem, problems))


def _examined(provider: ConfigProvider) -> Iterable[Diagnosis]:
    """Ask a provider that can to examine itself, and any other whether it can answer."""
    if isinstance(provider, Diagnosing):
        return provider.diagnose()
    if not _has_check(provider):
        return [fine(f"not checked, because {NOT_CHECKED}")]
    return [fine(provider.check() or "it can answer")]


def _found(name: str, outcome: CallOutcome[list[Diagnosis]], patience: float) -> list[Diagnosis]:
    if outcome.value is not None:
        return outcome.value
    if outcome.problems:
        return _named(name, map(of_problem, outcome.problems))
    way_out = "Check the network and the server that it asks." if outcome.is_late else "Report it to its authors."
    return _named(name, [fault(_answer(outcome, patience)[1], way_out)])


def _named(name: str, diagnoses: Iterable[Diagnosis]) -> list[Diagnosis]:
    return [replace(one, what=f"{printable(name)}: {one.what}") for one in diagnoses]


def _answer(outcome: CallOutcome[Any], patience: float) -> Answer:
    if outcome.is_late:
        return False, f"no answer within {counted(patience, 'second')}"
    if outcome.problems:
        return False, "; ".join(outcome.problems)
    if outcome.failure:
        return False, f"its check failed with {outcome.failure}"
    return True, outcome.value or "ok"


def summary(outcomes: Mapping[str, Answer], origins: Mapping[str, str]) -> tuple[bool, str]:
    """
    Return whether all providers can answer, as far as they can tell, and a string with one line for each.

    :param origins: name -> the distribution that a provider is from, which the text names unless it is this package
    """
    lines = [_line(name, *answer, origins.get(name, OURS)) for name, answer in outcomes.items()]
    return all(is_good is not False for is_good, _ in outcomes.values()), "\n".join(lines) or "no providers"


def _line(name: str, is_good: bool | None, text: str, distribution: str) -> str:
    said = f"not checked, because {text}" if is_good is None else text
    origin = f" (from {printable(distribution)})" if distribution not in {"", OURS} else ""
    return f"{printable(name)}: {said}{origin}"


def rights_of(path: str, *, is_secret: bool = False) -> Iterator[Diagnosis]:
    """
    Yield what is wrong with the rights of a file or directory; nothing if nothing is.

    :param is_secret: whether others must not read it, either
    """
    try:
        real = Path(os.path.realpath(path))
        mode, folder_mode = real.stat().st_mode, real.parent.stat().st_mode
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "its name is invalid"
        shown = shown_path(path) if is_secret else printable(path)
        yield fault(f"'{shown}' cannot be read: {reason}.", "Correct the path, or create it.")
        return
    yield from _own(path, mode, is_secret=is_secret)
    yield from _of_folder(path, real.parent, folder_mode)


def _own(path: str, mode: int, *, is_secret: bool) -> Iterator[Diagnosis]:
    shown, quoted = printable(path), printable(quote(path))
    if mode & stat.S_IWOTH and not (stat.S_ISDIR(mode) and mode & stat.S_ISVTX):
        yield fault(f"Every user of this machine can change '{shown}'.", f"chmod o-w {quoted}")
    if is_secret and mode & stat.S_IROTH:
        yield doubt(f"Every user of this machine can read '{shown}', which holds a secret.", f"chmod o-r {quoted}")


def _of_folder(path: str, folder: Path, mode: int) -> Iterator[Diagnosis]:
    if not mode & stat.S_IWOTH:
        return
    shown, where = printable(path), printable(str(folder))
    if mode & stat.S_ISVTX:  # only its owner can replace the file while it is there
        yield doubt(
            f"'{shown}' is in {where}, where every user can create it if it is ever missing.",
            "Move it to a directory that only its owner can change, such as one below /etc/airflow.",
        )
    else:
        yield fault(f"Every user of this machine can replace '{shown}'.", f"chmod o-w {printable(quote(str(folder)))}")
