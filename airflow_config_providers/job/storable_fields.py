"""The strings of an operator, which Airflow stores in its database."""

from __future__ import annotations

from airflow_config_providers.core.text import is_storable
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.job.fields import JobFields
from airflow_config_providers.job.nested_texts import strings


def refuse_unstorable(fields: JobFields) -> None:
    """
    Make sure that every database can store the strings of an operator: PostgreSQL ends the DAG processor otherwise.

    :raises ConfigException: a string has a NUL, or half of a surrogate pair
    """
    problems = [
        f"{name.lstrip('_')}: a string contains a NUL character or half of a surrogate pair, which PostgreSQL cannot "
        f"store. Remove it, or keep the string outside and write a reference."
        for name in fields.names
        if not all(map(is_storable, strings(fields.read(name))))
    ]
    if problems:
        raise ConfigException(*problems)
