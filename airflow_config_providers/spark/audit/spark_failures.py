"""
Failures of Spark, as errors of this package.

A message of Java is a page long, and can hold what was read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from airflow_config_providers.exceptions import ConfigException, ConfigProvidersError, raise_alone

NO_PATH: Final = "PATH_NOT_FOUND"
"""Spark's name for a path that does not exist."""

_MISSING: Final = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")


@contextmanager
def translating_failures(failed: Callable[[str], ConfigProvidersError]) -> Iterator[None]:
    """
    Raise an error of this package for any that Spark raises inside.

    :param failed: returns the error to raise; it gets the name of Spark's error, which shows no content
    :raises ConfigException: the executors lack a module
    """
    try:
        yield
    except ConfigProvidersError:
        raise
    except Exception as error:  # noqa: BLE001 - Spark, Py4J and the clients of storage raise errors of many kinds
        problem, missing = failure_name(error), _MISSING.search(str(error))
    else:
        return
    raise_alone(_lacks(missing[1]) if missing else failed(problem))


def failure_name(error: Exception) -> str:
    """Return the class of an error and, of Spark's own errors, its condition, neither of which has content."""
    condition = getattr(error, "getCondition", None) or getattr(error, "getErrorClass", None)
    names = (type(error).__name__, condition() if condition else None)
    return ", ".join(str(name) for name in names if name)


def _lacks(module: str) -> ConfigException:
    return ConfigException(
        f"The executors have no module {module}. Install this package there, or send it with "
        f"spark.submit.pyFiles, as the page 'Audit on a cluster' says."
    )
