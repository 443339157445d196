"""How a resolved configuration is split between the command and a private properties file, and that file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final, NoReturn

from airflow_config_providers.core.properties import dump
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import UndeliverableValueError, refuse
from airflow_config_providers.spark import value_changes
from airflow_config_providers.spark.driver_providers import is_driver_definition
from airflow_config_providers.spark.private_file import PrivateFile, private_file
from airflow_config_providers.spark.processes.child_process import size
from airflow_config_providers.spark.redaction import PATTERN_KEYS, redacting

_COPIED_BY_YARN: Final = (
    "On YARN, Spark copies its configuration into the staging directory and onto nodes in client mode, too. To avoid "
    "that, let a Python job in cluster mode resolve the references: see 'Resolve in the driver' in the documentation."
)


@dataclass(frozen=True, slots=True)
class Delivery:
    """
    A resolved configuration, ready for spark-submit. It shows no value, and cannot be pickled or copied.

    :param plain: key -> value for ``--conf``, where every user of the machine can read it
    :param private: key -> value for a properties file that no other user can read
    :param sensitive: the keys whose values must not be seen; a key can be private because it came from a file
    """

    plain: Mapping[str, str] = field(repr=False)
    private: Mapping[str, str] = field(repr=False)
    sensitive: Collection[str] = ()

    @property
    def configs(self) -> dict[str, str]:
        """Key -> value, on either way."""
        return {**self.plain, **self.private}

    @property
    def has_secrets(self) -> bool:
        """Whether there can be a secret. Patterns and the definitions of a driver's providers are none."""
        found = self.private.keys() & self.sensitive
        return not all(key in PATTERN_KEYS or is_driver_definition(key) for key in found)

    def doubt_of_yarn(self, master: object) -> str:
        """Return the warning that Spark in client mode writes secrets down; empty if it has none, or no YARN."""
        return _COPIED_BY_YARN if self.has_secrets and str(master).startswith("yarn") else ""

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("A Delivery cannot be pickled or copied: it holds secrets. Send the settled configuration.")


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Submission:
    """
    What one run of spark-submit gets, with resolved values.

    :param delivery: the resolved configuration, split into what may be in the command and what may not
    :param arguments: hook attribute -> resolved value, for fields that are in the command anyway
    :param environment: resolved environment variables that came from references
    :param properties_file: whether spark-submit gets a properties file even if nothing is private: the author named
        one, in which case Spark ignores its defaults file
    """

    delivery: Delivery
    arguments: Mapping[str, Any] = field(repr=False)
    environment: Mapping[str, str] = field(repr=False)
    properties_file: bool = False


def plan(  # noqa: PLR0913 - the first is split, and the others say how
    configs: Mapping[str, str],
    *,
    sensitive: Collection[str],
    written: Mapping[str, str] | None = None,
    filed: Collection[str] = (),
    room: int | None = None,
    in_process: bool = False,
) -> Delivery:
    """
    Decide for each key of ``configs`` if it goes into the command or into the file.

    The file gets sensitive keys, keys that came from a file, and keys that a command line would change. If the rest is
    too long for a command line, the file gets it as well. A key must not be in both, since the command would win.

    :param configs: key -> resolved value, all layers settled
    :param sensitive: keys whose values must not be seen. Spark's redaction covers them, even those that are not in
        ``configs``, such as ``sun.java.command``
    :param written: key -> string with its references; without it, every sensitive value is treated as fully resolved
    :param filed: keys whose value was written in a properties file
    :param room: the bytes of the command that the plain keys can take; None for no limit
    :param in_process: whether Python sets the plain keys again once the JVM runs, which corrects what the command has
        changed
    :raises UndeliverableValueError: a value would not arrive unchanged; lists all such values
    """
    written = written or {}
    hidden, filed = frozenset(sensitive), frozenset(filed)
    checked = [key for key in configs if key in hidden and not (key in filed and configs[key] == written.get(key))]
    _refuse_changes({key: configs[key] for key in checked}, written)
    patterns = redacting(configs, hidden)
    configs, hidden = {**configs, **patterns}, hidden | patterns.keys()
    private = {key: value for key, value in configs.items() if key in hidden or key in filed or _needs_file(key, value)}
    plain = {key: value for key, value in configs.items() if key not in private}
    _refuse_lost(plain, value_changes.is_argument if in_process else value_changes.survives_command)
    if room is not None and size(plain) > room:
        moved = {
            key: value for key, value in plain.items() if key not in _KEPT and value_changes.survives_file(key, value)
        }
        private, plain = private | moved, {key: value for key, value in plain.items() if key not in moved}
        _refuse_too_long(plain, room)
    return Delivery(plain, private, frozenset(sensitive))


def private_properties(
    configs: Mapping[str, str], *, anonymous: bool | None = None
) -> AbstractContextManager[PrivateFile]:
    """Keep ``configs`` in a private file, as Java properties, until the block ends; see ``private_file``."""
    return private_file(dump(configs).encode("ascii"), anonymous=anonymous)


_KEPT: Final = frozenset(
    {
        "spark.app.name",
        "spark.kubernetes.submission.waitAppCompletion",
        "spark.master",
        "spark.remote",
        "spark.yarn.submit.waitAppCompletion",
    }
)
"""Keys that operators add to the command if it lacks them. The command would then override the file."""


def _refuse_changes(configs: Mapping[str, str], written: Mapping[str, str]) -> None:
    found = (value_changes.problems(key, value, written=written.get(key, "")) for key, value in configs.items())
    refuse(UndeliverableValueError, chain.from_iterable(found))


def _refuse_lost(plain: Mapping[str, str], survives: Callable[[str, str], bool]) -> None:
    """Refuse what neither a file nor a command delivers unchanged: in a command, it could become another key."""
    lost = (value_changes.loss(key, value) for key, value in plain.items() if not survives(key, value))
    refuse(UndeliverableValueError, lost)


def _refuse_too_long(plain: Mapping[str, str], room: int) -> None:
    if size(plain) > room:
        raise UndeliverableValueError(
            f"{len(plain)} keys are together too long for a command line, and a properties file would change them: "
            f"they do not begin with 'spark.', or their values begin or end with a space, a tab or another control "
            f"character. The first is {printable(next(iter(plain)))}. Correct or remove them."
        )


def _needs_file(key: str, value: str) -> bool:
    return not value_changes.survives_command(key, value) and value_changes.survives_file(key, value)
