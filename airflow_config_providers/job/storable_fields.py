"""The strings of an operator, which Airflow stores in its database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from airflow_config_providers.core.text import is_storable, printable
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.job.nested_texts import strings

_UNSTORABLE: Final = (
    "a string contains a NUL character or half of a surrogate pair, which PostgreSQL cannot store. Remove it, or keep "
    "the string outside and write a reference."
)


def unstorable_arguments(values: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """
    Yield each argument with a string that PostgreSQL cannot store, which ends the DAG processor, with the reason.

    :param values: the name of each argument, or of the attribute that has it, with its value
    """
    for name, value in values.items():
        if not all(map(is_storable, strings(value))):
            argument = name.lstrip("_")
            yield argument, f"{printable(argument)}: {_UNSTORABLE}"


def refuse_unstorable(values: Mapping[str, object]) -> None:
    """
    Make sure that every database can store the strings of an operator.

    :raises ConfigException: PostgreSQL cannot store one
    """
    if problems := [problem for _, problem in unstorable_arguments(values)]:
        raise ConfigException(*problems)
