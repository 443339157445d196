"""The standard output and the standard error of a child process, line by line."""

from __future__ import annotations

import codecs
import io
import os
import selectors
from collections.abc import Iterator, Sequence
from typing import Final, TextIO

from airflow_config_providers.core.closing import ClosedOnExit
from airflow_config_providers.core.reversal.reverse import ReverseTransformer
from airflow_config_providers.core.reversal.stream import LineReverser

_LARGEST: Final = 64 * 1024
"""The most bytes to read at a time."""

_SHELL: Final = ("/bin/sh", "-c")


class TwoStreams(ClosedOnExit):
    """
    Keeps the two streams of a child apart until each line is complete.

    Airflow's hooks make a child write both into one pipe. There, a log line of Java can split what Python prints, and
    reversal cannot find a value that another line splits.
    """

    def __init__(self) -> None:
        errors, entrance = os.pipe()
        self._errors = io.FileIO(errors)
        self._entrance = io.FileIO(entrance, "w")
        self._output: TextIO | None = None

    @property
    def pass_fds(self) -> tuple[int, ...]:
        """The file descriptors that the child must inherit."""
        return (self._entrance.fileno(),)

    def command(self, words: Sequence[str]) -> list[str]:
        """Return the command that runs ``words``, in the same process, with a separate standard error."""
        return [*_SHELL, f'exec "$@" 2>/dev/fd/{self._entrance.fileno()}', _SHELL[0], *words]

    @staticmethod
    def words(command: Sequence[str]) -> list[str]:
        """Return the words from which ``command`` was made, which people know."""
        return [*(command[len(_SHELL) + 2 :] if tuple(command[: len(_SHELL)]) == _SHELL else command)]

    def lines(self, output: TextIO, reversers: Sequence[ReverseTransformer]) -> Iterator[str]:
        """
        Yield the lines of both streams as they arrive, reversed, with their line ends. Call it once the child runs.

        All kinds of line ends become one, and bytes that are not text become escapes.

        :param output: the child's standard output, from which nothing was read before
        """
        self._output = output
        self._entrance.close()
        with selectors.DefaultSelector() as selector:
            for descriptor in (output.fileno(), self._errors.fileno()):
                selector.register(descriptor, selectors.EVENT_READ, _Stream(output.encoding, LineReverser(reversers)))
            yield from _lines(selector)

    def close(self) -> None:
        """Close this process's ends of the pipes; a child that still writes gets an error."""
        for end in (self._errors, self._entrance, self._output):
            if end is not None:
                end.close()


class _Stream:
    """Turns bytes into lines."""

    def __init__(self, encoding: str, reverser: LineReverser) -> None:
        decoder = codecs.getincrementaldecoder(encoding)("backslashreplace")
        self._decoder = io.IncrementalNewlineDecoder(decoder, translate=True)
        self._reverser = reverser
        self._rest: list[str] = []

    def feed(self, data: bytes) -> Iterator[str]:
        """Take bytes, or none at the end of the stream, and yield the lines that can be shown now."""
        text = self._decoder.decode(data, final=not data)
        end = text.rfind("\n") + 1
        if end:
            lines, self._rest = "".join([*self._rest, text[:end]]), []
            yield from self._shown(lines)
        self._rest.append(text[end:])
        if not data:
            yield from self._shown("".join(self._rest))
            yield from self._reverser.flush()

    def _shown(self, lines: str) -> Iterator[str]:
        """Reverse ``lines`` at once, which is several times as fast as one by one, and yield them one by one."""
        for some in self._reverser.feed(lines) if lines else ():
            yield from io.StringIO(some, newline="\n")


def _lines(selector: selectors.BaseSelector) -> Iterator[str]:
    while selector.get_map():
        for key, _ in selector.select():
            data = os.read(key.fd, _LARGEST)
            if not data:
                selector.unregister(key.fd)
            yield from key.data.feed(data)
