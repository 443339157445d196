"""How a resolved configuration is split between a command and a private properties file, and what arrives unchanged."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final, NoReturn

from airflow_config_providers.core.keys import HADOOP_PREFIX, HIVE_PREFIX
from airflow_config_providers.core.properties import dump
from airflow_config_providers.core.text import is_unicode, octets, printable
from airflow_config_providers.exceptions import UndeliverableValueError, refuse
from airflow_config_providers.spark.driver_providers import is_driver_definition
from airflow_config_providers.spark.private_file import PrivateFile, private_file
from airflow_config_providers.spark.processes.child_process import size
from airflow_config_providers.spark.redaction import PATTERN_KEYS, redacting
from airflow_config_providers.spark.substitutions import hadoop_expands_value, spark_expands_value

_TRIMMED: Final = "".join(chr(c) for c in range(0x21) if chr(c) not in "\r\n")
"""The characters that Spark removes from both ends of a value in a properties file."""

_LONGEST_ARGUMENT: Final = 131_071
"""The most bytes that Linux allows in one argument of a command."""

_IGNORED: Final = "spark-submit ignores keys that do not begin with 'spark.'. Choose a name that does."

_CUT: Final = (
    "its value begins or ends with a space, a tab or another control character, which Spark removes. Store the value "
    "without it, or encode the value and let the job decode it."
)

_NO_CHARACTER: Final = "its value contains half of a surrogate pair, which is not a character."


def _is_argument(key: str, value: str) -> bool:
    """Return whether ``--conf key=value`` is possible in a command, and means this key."""
    argument = f"{key}={value}"
    is_short = len(argument) <= _LONGEST_ARGUMENT and len(octets(argument)) <= _LONGEST_ARGUMENT
    return is_short and "=" not in key and "\0" not in argument and is_unicode(argument)


def survives_command(key: str, value: str) -> bool:
    """
    Return whether ``--conf key=value`` delivers the value unchanged, in any locale.

    spark-submit's script drops carriage returns, and Java decodes arguments with the encoding of the locale.
    """
    return _is_argument(key, value) and f"{key}{value}".isascii() and "\r" not in f"{key}{value}"


def survives_file(key: str, value: str) -> bool:
    """Return whether a properties file delivers the value unchanged."""
    return key.startswith("spark.") and not _is_cut(key, value) and is_unicode(value)


def _is_cut(key: str, value: str) -> bool:
    """Return whether a properties file cuts a part of a value off; blanks around options of Java mean nothing."""
    return value != value.strip(_TRIMMED) and not key.endswith("JavaOptions")


def left_by_file(configs: Mapping[str, str]) -> dict[str, str]:
    """Return what Spark reads from a properties file with ``configs``."""
    return {key: value.strip(_TRIMMED) for key, value in configs.items() if key.startswith("spark.")}


def value_problems(key: str, value: str, *, written: str) -> Iterator[str]:
    """
    Yield a sentence for each change that ``value`` would undergo in a properties file.

    Spark may expand what the author wrote, as always, but not what came from references.

    :param written: the text of ``key`` before its references were replaced
    """
    name = printable(key)
    if value != written and not key.startswith("spark."):
        yield f"{name}: {_IGNORED}"
    if _is_cut(key, value):
        yield f"{name}: {_CUT}"
    yield from value_problems_in_process(key, value, written=written)


def loss(key: str, value: str) -> str:
    """Return why neither a command nor a properties file delivers ``value``, which is not a secret."""
    name = printable(key)
    if not is_unicode(value):
        return f"{name}: {_NO_CHARACTER} Correct it."
    why = _CUT if key.startswith("spark.") else _IGNORED
    return (
        f"{name}: neither a command nor a properties file delivers this key and value unchanged. A command does not "
        f"support '=' in a key, carriage returns, characters outside ASCII, and more than 128 KiB. In a file, {why}"
    )


def value_problems_in_process(key: str, value: str, *, written: str) -> Iterator[str]:
    """Yield a sentence for each change that ``value`` would undergo in a SparkConf that Python sets."""
    name = printable(key)
    if not is_unicode(value):
        yield f"{name}: {_NO_CHARACTER} Correct the stored value."
    if key.startswith((HADOOP_PREFIX, HIVE_PREFIX)) and hadoop_expands_value(value, written=written):
        yield (
            f"{name}: its value contains '${{...}}', which Hadoop would replace again. "
            f"Store another value, or use a key outside spark.hadoop and let the job pass the value on."
        )
    if spark_expands_value(value, written=written) and _is_known_to_spark(key):
        yield (
            f"{name}: its value contains '${{env:...}}', '${{system:...}}' or '${{spark....}}', which Spark would "
            f"replace again in one of its own keys. Store another value."
        )


def _is_known_to_spark(key: str) -> bool:
    from airflow_config_providers.spark.catalogue import spark_definition  # noqa: PLC0415 - loaded only if needed

    return key in spark_definition().config_keys


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
    _refuse_lost(plain, _is_argument if in_process else survives_command)
    if room is not None and size(plain) > room:
        moved = {key: value for key, value in plain.items() if key not in _KEPT and survives_file(key, value)}
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
    found = (value_problems(key, value, written=written.get(key, "")) for key, value in configs.items())
    refuse(UndeliverableValueError, chain.from_iterable(found))


def _refuse_lost(plain: Mapping[str, str], survives: Callable[[str, str], bool]) -> None:
    """Refuse what neither a file nor a command delivers unchanged: in a command, it could become another key."""
    lost = (loss(key, value) for key, value in plain.items() if not survives(key, value))
    refuse(UndeliverableValueError, lost)


def _refuse_too_long(plain: Mapping[str, str], room: int) -> None:
    if size(plain) > room:
        raise UndeliverableValueError(
            f"{len(plain)} keys are together too long for a command line, and a properties file would change them: "
            f"they do not begin with 'spark.', or their values begin or end with a space, a tab or another control "
            f"character. The first is {printable(next(iter(plain)))}. Correct or remove them."
        )


def _needs_file(key: str, value: str) -> bool:
    return not survives_command(key, value) and survives_file(key, value)
