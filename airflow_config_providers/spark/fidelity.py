"""Which values arrive in Spark as they are, on which way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from airflow_config_providers.core.text import is_unicode, octets, printable
from airflow_config_providers.spark.expansion import hadoop_expands_value, spark_expands_value

_TRIMMED: Final = "".join(chr(c) for c in range(0x21) if chr(c) not in "\r\n")
"""What Spark cuts off both ends of a value that it reads from a properties file."""

_LONGEST_ARGUMENT: Final = 131_071
"""Bytes that Linux takes for one argument of a command."""

_IGNORED: Final = "spark-submit ignores keys that do not begin with 'spark.'. Give it a name that does."

_CUT: Final = (
    "its value begins or ends with a blank, a tab or another control character, which Spark cuts off. Store the value "
    "without, or encoded, and let the job decode it."
)

_NO_CHARACTER: Final = "its value holds half of a surrogate pair, which is no character."

_HADOOP_PREFIXES: Final = ("spark.hadoop.", "spark.hive.")


def is_argument(key: str, value: str) -> bool:
    """Tell whether ``--conf key=value`` can be given to a command, and names this key and no other."""
    argument = f"{key}={value}"
    is_short = len(argument) <= _LONGEST_ARGUMENT and len(octets(argument)) <= _LONGEST_ARGUMENT
    return is_short and "=" not in key and "\0" not in argument and is_unicode(argument)


def survives_command(key: str, value: str) -> bool:
    """
    Tell whether ``--conf key=value`` hands over exactly this, whatever the locale.

    spark-submit's script drops carriage returns, and Java reads arguments in the encoding of the locale.
    """
    return is_argument(key, value) and f"{key}{value}".isascii() and "\r" not in f"{key}{value}"


def survives_file(key: str, value: str) -> bool:
    """Tell whether a properties file hands over exactly this."""
    return key.startswith("spark.") and value == value.strip(_TRIMMED) and is_unicode(value)


def problems(key: str, value: str, *, written: str) -> Iterator[str]:
    """
    Say what would become of ``value`` in a properties file, one sentence for each change.

    What the author wrote out is read as Spark always reads it: only what came from references must not be expanded.

    :param written: the text of ``key`` before its references were replaced
    """
    name = printable(key)
    if value != written and not key.startswith("spark."):
        yield f"{name}: {_IGNORED}"
    if value != value.strip(_TRIMMED):
        yield f"{name}: {_CUT}"
    yield from problems_in_process(key, value, written=written)


def loss(key: str, value: str) -> str:
    """Say why neither a command nor a properties file hands over ``value``, which is no secret."""
    name = printable(key)
    if not is_unicode(value):
        return f"{name}: {_NO_CHARACTER} Correct it."
    why = _CUT if key.startswith("spark.") else _IGNORED
    return (
        f"{name}: neither a command nor a properties file hands over this key and value. A command changes '=' in a "
        f"key, carriage returns, characters outside ASCII and what is longer than 128 KiB. In a file, {why}"
    )


def problems_in_process(key: str, value: str, *, written: str) -> Iterator[str]:
    """Say what would become of ``value`` in a SparkConf that Python sets, one sentence for each change."""
    name = printable(key)
    if not is_unicode(value):
        yield f"{name}: {_NO_CHARACTER} Correct the stored value."
    if key.startswith(_HADOOP_PREFIXES) and hadoop_expands_value(value, written=written):
        yield (
            f"{name}: its value holds '${{...}}', which Hadoop would replace once more. "
            f"Store another value, or give it a key outside spark.hadoop and let the job pass it on."
        )
    if spark_expands_value(value, written=written) and _is_known_to_spark(key):
        yield (
            f"{name}: its value holds '${{env:...}}', '${{system:...}}' or '${{spark....}}', which Spark would replace "
            f"once more under a key of its own. Store another value."
        )


def _is_known_to_spark(key: str) -> bool:
    from airflow_config_providers.spark.catalogue import spark_definition  # noqa: PLC0415 - loads only when needed

    return key in spark_definition().config_keys
