"""Registers values with Airflow's masker, which writes stars in place of secrets."""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Iterable, Mapping
from copy import copy
from typing import Any, Final

from airflow_config_providers.core.concurrency.per_process import hold_forks
from airflow_config_providers.core.sensitive import begins_as_path
from airflow_config_providers.core.text import is_unicode
from airflow_config_providers.foreign import (
    SECRETS_MASKER,
    SERVER_MASKER,
    SERVER_SECRETS_MASKER,
    TASK_MASKER,
    has_supervisor,
    has_supervisor_here,
    require,
)

_MASKED_AT_MOST: Final = 25
"""
The most values to register at a time.

The masker of the supervisor compiles all of them again for each one: 25 take 20 ms, and 200 take a second. It is the
second safeguard, because reversal hides values before the masker sees them.
"""

_LINES_AT_MOST: Final = 50
"""The most lines to register of values of several lines; with them, it takes a fifth of a second."""

_SHORTEST_LINE: Final = 12
"""A shorter line is more often a name or a word, which would be starred in rendered fields."""

_PATH: Final = re.compile(r"[._]paths?\Z")
"""The end of the name of a parameter that says where a secret is, and is none itself."""

_REGISTERING: Final = threading.RLock()  # not a Lock: Airflow kills a task in a signal handler
hold_forks(_REGISTERING)

_COMPILED: Final[dict[int, tuple[object, int]]] = {}
"""The id of a masker -> what was compiled for it last, and the number of its patterns."""


def mask_secrets(values: Iterable[str], *, name: str | None = None) -> None:
    """
    Register secrets with the masker of this process and, in a task, with the masker of its supervisor.

    Those that are shorter than reversal hides are left out: the masker would not hide them either, but would log that.
    The lines of a value of several lines are registered, too: what a program prints is masked line by line.

    :param values: the secrets; only the ``_MASKED_AT_MOST`` longest are registered, because the short ones are more
        often names and numbers
    :param name: the name of their parameter; Airflow then masks them only if the name is that of a secret
    """
    if secrets := _with_lines(_longest(values, _MASKED_AT_MOST)):
        _mask_in_task(secrets, name)


def mask_everywhere(values: Iterable[str]) -> None:
    """
    Register secrets as ``mask_secrets`` does, but all of them, and also with the masker of servers.

    This is for values that Airflow shows, and that no reversal hides before. As there, only the longest lines of all
    values together are registered, because the masker of the supervisor compiles all patterns again for each one.
    """
    if secrets := _with_lines(_longest(values)):
        _mask_in_server(secrets)
        _mask_in_task(secrets)


def _with_lines(values: Collection[str]) -> list[str]:
    """Return the longest lines of ``values``, and ``values``, each once."""
    from airflow_config_providers.core.reversal.reverse import telling_lines  # noqa: PLC0415 - a DAG file masks nothing

    lines = {line for value in values for line in telling_lines(value) if len(line) >= _SHORTEST_LINE}
    if len(lines) > _LINES_AT_MOST:  # at the start of a value, the masker could find the line and show the other lines
        lines -= {value.splitlines()[0].rstrip() for value in values}
    return [*dict.fromkeys((*_longest(lines, _LINES_AT_MOST), *values))]


def _longest(texts: Iterable[str], most: int | None = None) -> list[str]:
    """
    Return the longest of ``texts`` that are not too short to be hidden, each once, with the longest last.

    :param most: how many at most; None for all
    """
    from airflow_config_providers.core.reversal.reverse import SHORTEST  # noqa: PLC0415 - a DAG file masks nothing

    found = sorted({text for text in texts if len(text) >= SHORTEST}, key=lambda text: (len(text), text))
    return found if most is None else found[-most:]


def mask_parameters(definitions: Mapping[str, str]) -> None:
    """
    Register those parameters of providers that Airflow takes for secrets because of their names.

    Paths are left out, such as ``token_path``: with stars, a message would not say which file is missing.

    :param definitions: ``config.providers`` and the keys below it
    """
    for key, value in definitions.items():
        is_path = _PATH.search(key) and begins_as_path(value)  # and no token in the wrong place
        if (parameter := key.partition(".param.")[2]) and not is_path:
            mask_secrets([value], name=parameter)


def _mask_in_server(secrets: list[str]) -> None:
    from airflow._shared.secrets_masker import _secrets_masker  # noqa: PLC0415 - slow to import

    require(SERVER_MASKER)
    require(SERVER_SECRETS_MASKER)
    _register(_secrets_masker(), secrets)


def _mask_in_task(secrets: list[str], name: str | None = None) -> None:
    from airflow.sdk._shared.secrets_masker import _secrets_masker  # noqa: PLC0415 - slow to import

    require(TASK_MASKER)
    require(SECRETS_MASKER)
    _register(_secrets_masker(), secrets, name)
    if has_supervisor() and not has_supervisor_here():  # that one has the same masker, and would log the secrets
        _mask_in_supervisor(secrets, name)


def _register(masker: Any, secrets: list[str], name: str | None = None) -> None:
    """Register ``secrets`` with a masker of this process, and compile them once: it does so for each secret."""
    if name and not masker.should_hide_value_for_key(name):
        return
    alone = copy(masker)
    alone.patterns = patterns = _CollectedPatterns()
    for secret in secrets:
        alone.add_mask(secret)  # which decides by the settings of Airflow what is masked
    with _REGISTERING:
        masker.patterns |= patterns
        _compile(masker)


def _compile(masker: Any) -> None:
    """
    Compile the patterns of ``masker``, again if Airflow has meanwhile registered others, or stored older ones.

    They are sorted: of a secret and one that begins with it, the longer one must come first, or its end would be shown.
    Those that both maskers of a process have are then compiled only once, by ``re``.
    """
    while not _is_compiled(masker):
        found = sorted(masker.patterns, reverse=True)
        masker.replacer = re.compile("|".join(found))
        _COMPILED[id(masker)] = masker.replacer, len(found)


def _is_compiled(masker: Any) -> bool:
    """Return whether ``masker`` has the result of the last compilation, and no other patterns since: it loses none."""
    replacer, number = _COMPILED.get(id(masker), (None, 0))
    return replacer is masker.replacer and number == len(masker.patterns)


class _CollectedPatterns(set[str]):
    """Patterns of a masker that compiles none of them, because each that it asks for seems to be there already."""

    def __contains__(self, pattern: object) -> bool:
        self.add(str(pattern))
        return True


def _mask_in_supervisor(secrets: list[str], name: str | None) -> None:
    """Send ``secrets`` in one message, without any that would make the whole message fail."""
    from airflow.sdk.log import mask_secret  # noqa: PLC0415 - calling it imports much, too

    sent: Any = [secret for secret in secrets if is_unicode(secret)]
    if sent:
        mask_secret(sent[0] if len(sent) == 1 else sent, name)


def masked(text: str) -> str:
    """Return ``text`` with stars in place of the secrets that this process's masker knows, as in rendered fields."""
    from airflow.sdk._shared.secrets_masker import redact  # noqa: PLC0415 - slow to import, and only a task masks

    require(TASK_MASKER)
    return str(redact(text))


def is_starred(name: str) -> bool:
    """Return whether Airflow takes what it finds under ``name``, such as a key of an extra, for a secret."""
    from airflow.sdk._shared.secrets_masker import redact  # noqa: PLC0415 - slow to import

    require(TASK_MASKER)
    return str(redact("value", name)) != "value"
