"""Which values arrive in Spark unchanged, through a command or a properties file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from airflow_config_providers.core.keys import HADOOP_PREFIX, HIVE_PREFIX
from airflow_config_providers.core.text import is_unicode, octets, printable
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


def is_argument(key: str, value: str) -> bool:
    """Return whether ``--conf key=value`` is possible in a command, and means this key."""
    argument = f"{key}={value}"
    is_short = len(argument) <= _LONGEST_ARGUMENT and len(octets(argument)) <= _LONGEST_ARGUMENT
    return is_short and "=" not in key and "\0" not in argument and is_unicode(argument)


def survives_command(key: str, value: str) -> bool:
    """
    Return whether ``--conf key=value`` delivers the value unchanged, in any locale.

    spark-submit's script drops carriage returns, and Java decodes arguments with the encoding of the locale.
    """
    return is_argument(key, value) and f"{key}{value}".isascii() and "\r" not in f"{key}{value}"


def survives_file(key: str, value: str) -> bool:
    """Return whether a properties file delivers the value unchanged."""
    return key.startswith("spark.") and value == value.strip(_TRIMMED) and is_unicode(value)


def left_by_file(configs: Mapping[str, str]) -> dict[str, str]:
    """Return what Spark reads from a properties file with ``configs``."""
    return {key: value.strip(_TRIMMED) for key, value in configs.items() if key.startswith("spark.")}


def problems(key: str, value: str, *, written: str) -> Iterator[str]:
    """
    Yield a sentence for each change that ``value`` would undergo in a properties file.

    Spark may expand what the author wrote, as always, but not what came from references.

    :param written: the text of ``key`` before its references were replaced
    """
    name = printable(key)
    if value != written and not key.startswith("spark."):
        yield f"{name}: {_IGNORED}"
    if value != value.strip(_TRIMMED):
        yield f"{name}: {_CUT}"
    yield from problems_in_process(key, value, written=written)


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


def problems_in_process(key: str, value: str, *, written: str) -> Iterator[str]:
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
