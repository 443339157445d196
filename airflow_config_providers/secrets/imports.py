"""
Imports during which no other thread can fork.

A child that is forked while another thread imports a module finds it incomplete, or waits for it forever.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from airflow_config_providers.core.concurrency.per_process import hold_forks

_no_fork = threading.RLock()
hold_forks(_no_fork)


@contextmanager
def importing() -> Iterator[None]:
    """Keep other threads from forking, and from entering such a block, until it ends. It must contain only imports."""
    with _no_fork:
        yield


def import_what_an_answer_needs() -> None:
    """Import everything that the replacement of references needs, in one block."""
    with importing():
        import importlib.metadata  # noqa: F401, PLC0415 - Airflow might be reading its configuration

        import tenacity  # noqa: F401, PLC0415 - as above
        from airflow._shared import secrets_masker  # noqa: F401, PLC0415 - as above

        from airflow_config_providers import airflow_compat, masker, settings  # noqa: F401, PLC0415 - as above
        from airflow_config_providers.core import registry  # noqa: F401, PLC0415 - as above
