"""A call that is made at most once."""

from __future__ import annotations

from collections.abc import Callable


class Once:
    """
    Makes a call when it is first called itself, and nothing afterwards. Thread-safe, also in a signal handler.

    False once the call was made, or is being made. A signal handler that raises just before it begins interrupts it, as
    one that raises in its first line does: it is not made again.

    :param call: None for no call
    """

    __slots__ = ("_left",)

    def __init__(self, call: Callable[[], object] | None) -> None:
        self._left = [] if call is None else [call]

    def __call__(self) -> None:
        """Make the call, unless it was made before, or is being made."""
        try:
            call = self._left.pop()  # only one thread gets it
        except IndexError:
            return
        call()

    def __bool__(self) -> bool:
        return bool(self._left)
