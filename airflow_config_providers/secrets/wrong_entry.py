"""The error for an entry of a file that is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from airflow_config_providers.exceptions import ConfigException

_T = TypeVar("_T")


class WrongEntryError(ConfigException):
    """An entry of a file is wrong, so that nothing can be made of it."""


def checked(make: Callable[[], _T]) -> _T:
    """
    Return what ``make`` makes of an entry.

    :raises WrongEntryError: the entry is wrong
    """
    try:
        return make()
    except ConfigException as error:
        problems = error.problems
    raise WrongEntryError(*problems)
