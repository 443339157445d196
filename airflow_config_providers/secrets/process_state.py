"""
What one process keeps for all its backends.

Airflow makes a backend anew for many a question, so what is to be opened once is kept here. A child process starts
with nothing: it shares no login, socket or lock with its parent, and what its parent has open is the parent's to close.
"""

from __future__ import annotations

import atexit
import threading

from airflow_config_providers.core.per_process import run_in_children
from airflow_config_providers.core.single_flight import SingleFlight
from airflow_config_providers.secrets.changing_file import ChangingFiles
from airflow_config_providers.secrets.definitions import Definitions
from airflow_config_providers.secrets.shared_providers import SharedProviders


class ProcessState:
    """
    Files that were read, providers that are open, and questions under way. Safe to use from several threads.

    :param files: reads files, again when they change
    :param questions: lets those who ask for the same at the same time ask once
    """

    def __init__(self) -> None:
        self.files = ChangingFiles()
        self.questions = SingleFlight()
        self._lock = threading.Lock()
        self._providers: dict[Definitions, SharedProviders] = {}

    def providers(self, definitions: Definitions) -> SharedProviders:
        """Give the providers that ``definitions`` define, still unopened; they are closed when the process ends."""
        with self._lock:
            if not self._providers:
                atexit.register(self.close)
            if definitions not in self._providers:
                self._providers[definitions] = SharedProviders(definitions)
            return self._providers[definitions]

    def close(self) -> None:
        """Close all providers; who asks again opens them again."""
        for providers in list(self._providers.values()):
            providers.close()


_state = ProcessState()
_inherited: list[ProcessState] = []


def state() -> ProcessState:
    """Give what this process keeps."""
    return _state


def _start_anew() -> None:
    global _state  # noqa: PLW0603 - the one thing that changes, and only in a child process
    _inherited.append(_state)  # what it has open must neither be used nor closed here
    atexit.unregister(_state.close)
    _state = ProcessState()


run_in_children(_start_anew)
