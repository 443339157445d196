"""The most that is read of an answer, so that no server fills the memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

MEBIBYTES: Final = 32
"""How large an answer may be, decompressed; Vault's own default for what it takes is as much."""

MOST: Final = MEBIBYTES * 1024 * 1024
MOST_ON_THE_WAY: Final = 2 * MOST
"""How many bytes an answer may have on its way, with headers and the frames of chunks."""


class AnswerTooLargeError(Exception):
    """An answer is larger than we read; never leaves this folder."""


class Bounded:
    """
    A response of urllib3 whose ``stream`` ends with an error where it gives too much.

    What is compressed counts as what it becomes.

    :param most: bytes
    """

    def __init__(self, raw: Any, most: int = MOST) -> None:
        self._raw = raw
        self._most = most

    def __getattr__(self, name: str) -> Any:
        return getattr(self._raw, name)

    def stream(self, *args: Any, **kwargs: Any) -> Iterator[bytes]:
        """
        Give the pieces of the answer.

        :raises AnswerTooLargeError: they are too many; the connection is closed
        """
        left = self._most
        for piece in self._raw.stream(*args, **kwargs):
            left -= len(piece)
            if left < 0:
                self._raw.close()
                raise AnswerTooLargeError
            yield piece
