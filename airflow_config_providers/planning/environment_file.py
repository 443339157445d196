"""The variables of another environment, read from a file."""

from __future__ import annotations

from collections.abc import Mapping

from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException


def read_environment(text: str, *, name: str) -> Mapping[str, str]:
    """
    Return name -> value for the lines ``NAME=VALUE`` of ``text``.

    As in the files of ``docker run --env-file``, empty lines and those that begin with ``#`` are left out, and quotes
    and backslashes are parts of the value.

    :param name: the name of the file in messages
    :raises ConfigException: other lines are wrong; lists each with its number, and no value
    """
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if _is_meant(line)]
    wrong = [number for number, line in lines if not line.partition("=")[0].strip() or "=" not in line]
    if wrong:
        raise ConfigException(
            *(f"{printable(name)}:{number}: this line is not NAME=VALUE. Correct it." for number in wrong)
        )
    return {line.partition("=")[0].strip(): line.partition("=")[2] for _, line in lines}


def _is_meant(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")
