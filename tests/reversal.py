"""What this process reverses in its logs, its streams and what backends store, for a while."""

from __future__ import annotations

from contextlib import contextmanager


@contextmanager
def reversing_nothing():
    """Put aside what others have left installed, such as a driver, whose values are known until its process ends."""
    from airflow_config_providers.log import installation

    left = installation._active.reversers
    for reverser in left:
        installation._remove(reverser)
    yield
    for reverser in left:
        installation.install(reverser)


@contextmanager
def storing_as_it_is():
    """Put aside the values of earlier tasks, which backends would know until the tasks are collected."""
    from airflow_config_providers.operators.reversal.backend_guards import _known

    left = _known.with_values
    for reverser in left:
        _known.remove(reverser)
    yield
    for reverser in left:
        _known.know(reverser)
