"""A kill that waits until spark-submit has reported which driver it started."""

from __future__ import annotations

import subprocess
import threading
from typing import Final

SECONDS_TO_SAY: Final = 3.0
"""How long spark-submit may continue. Airflow ends the process of a task 5 seconds after it asked for its end."""


class LateKill:
    """
    Ends spark-submit after a while, unless it has reported before then which driver it started.

    :param seconds: how long it may take to report that
    """

    __slots__ = ("_seconds", "_timer")

    def __init__(self, seconds: float = SECONDS_TO_SAY) -> None:
        self._seconds = seconds
        self._timer: threading.Timer | None = None

    @property
    def is_due(self) -> bool:
        """Whether a kill was asked for that has not happened yet."""
        return self._timer is not None

    def ask(self, process: subprocess.Popen[str]) -> None:
        """Let ``process`` go on for the time that is left since the first call."""
        if self._timer is None:
            self._timer = threading.Timer(self._seconds, process.kill)
            self._timer.daemon = True
            try:
                self._timer.start()
            except RuntimeError:  # no thread can be started, so nothing would end it later
                process.kill()

    def forget(self) -> None:
        """Note that the job was killed, or no longer has to be."""
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
