"""Failures of Spark as errors of this package: a message of Java is a page long, and can hold what a record has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from airflow_config_providers.exceptions import ConfigProvidersError, ProviderUnavailableError


@contextmanager
def telling_failures(what: str) -> Iterator[None]:
    """
    Raise an error of this package for any that Spark raises inside.

    :param what: what is read, for the message
    :raises ProviderUnavailableError: Spark could not read it
    """
    try:
        yield
    except ConfigProvidersError:
        raise
    except Exception as error:  # noqa: BLE001 - Spark, Py4J and the clients of storage raise errors of many kinds
        problem = name_of(error)
    else:
        return
    raise ProviderUnavailableError(
        f"{what} could not be read by Spark ({problem}). Correct the path, and give Spark the classes and rights that "
        f"it needs for it with --conf. Executors need this package, too."
    )


def name_of(error: Exception) -> str:
    """Return the class of an error and, of Spark's own errors, its condition, neither of which has content."""
    condition = getattr(error, "getCondition", None) or getattr(error, "getErrorClass", None)
    names = (type(error).__name__, condition() if condition else None)
    return ", ".join(str(name) for name in names if name)
