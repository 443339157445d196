"""
The state that all backends of a process share.

Airflow often makes a new backend for a single request, so what must be opened only once is kept here. A child process
starts with nothing: it shares no login, socket or lock with its parent, and does not close what its parent has opened.
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
    Files that were read, open providers, and requests under way. Safe to use from several threads.

    :ivar files: reads files, again after they change
    :ivar questions: combines simultaneous requests for the same thing into one
    """

    def __init__(self) -> None:
        self.files = ChangingFiles()
        self.questions = SingleFlight()
        self._lock = threading.Lock()
        self._providers: dict[Definitions, SharedProviders] = {}

    def providers(self, definitions: Definitions) -> SharedProviders:
        """Return the providers of ``definitions``, which are opened when needed and closed when the process ends."""
        with self._lock:
            if not self._providers:
                atexit.register(self.close)
            if definitions not in self._providers:
                self._providers[definitions] = SharedProviders(definitions)
            return self._providers[definitions]

    def close(self) -> None:
        """Close all providers; the next request opens them again."""
        for providers in list(self._providers.values()):
            providers.close()


_state = ProcessState()
_inherited: list[ProcessState] = []


def state() -> ProcessState:
    """Return the state of this process."""
    return _state


def _start_anew() -> None:
    global _state  # noqa: PLW0603 - the one thing that changes, and only in a child process
    _inherited.append(_state)  # a reference, so that nothing that the parent opened is closed here
    atexit.unregister(_state.close)
    _state = ProcessState()


run_in_children(_start_anew)
