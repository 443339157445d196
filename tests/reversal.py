"""What this process reverses in its logs and streams, for a while."""

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
