"""The standard output and the standard error of a child process, line by line."""

from __future__ import annotations

import codecs
import io
import os
import selectors
import shutil
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final, TextIO

from airflow_config_providers.core.closed_on_exit import ClosedOnExit
from airflow_config_providers.core.reversal.reverse import ReverseTransformer
from airflow_config_providers.core.reversal.stream import LONGEST_LINE, StreamReverser
from airflow_config_providers.core.text import octets

_LARGEST: Final = 64 * 1024
"""The most bytes to read at a time."""

_EXEC: Final = 'exec "$@" 2>'
"""How the shell's script begins."""


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
        self._streams: dict[int, _Stream] = {}  # those that have not ended, by their descriptors
        self._ready: deque[str] = deque()

    @property
    def pass_fds(self) -> tuple[int, ...]:
        """The file descriptors that the child must inherit."""
        return (self._entrance.fileno(),)

    def command(self, words: Sequence[str]) -> list[str]:
        """
        Return the command that runs ``words``, in the same process, with a separate standard error.

        The process has no other descriptor of the pipe: a daemon that it leaves behind would hold it open. That takes
        bash, which Spark's scripts need too. Other shells can only close descriptors below 10.
        """
        number = self._entrance.fileno()
        bash = shutil.which("bash")
        if bash is None:
            return ["/bin/sh", "-c", f"{_EXEC}/dev/fd/{number}", "sh", *words]
        # Otherwise it would run BASH_ENV, and ~/.bashrc if its standard input is a socket, as that of a task is.
        return [bash, "--norc", "-pc", f"{_EXEC}/dev/fd/{number} {number}>&-", "bash", *words]

    @staticmethod
    def words(command: Sequence[str]) -> list[str]:
        """Return the words from which ``command`` was made, which people know."""
        script = next((place for place, word in enumerate(command) if str(word).startswith(_EXEC)), None)
        return [*(command if script is None else command[script + 2 :])]

    def lines(self, output: TextIO, reversers: Sequence[ReverseTransformer]) -> Iterator[str]:
        """
        Yield the lines of both streams as they arrive, reversed, with their line ends. Call it once the child runs.

        All kinds of line ends become one, bytes that are not text become escapes, and a line of more than
        ``LONGEST_LINE`` characters becomes several. After an interruption, a second call goes on with the next line.

        :param output: the child's standard output, from which nothing was read before
        """
        if self._output is None:
            self._output = output
            self._entrance.close()
            for descriptor in (output.fileno(), self._errors.fileno()):
                self._streams[descriptor] = _Stream(output.encoding, reversers)
        with selectors.DefaultSelector() as selector:
            for descriptor in self._streams:
                selector.register(descriptor, selectors.EVENT_READ)
            yield from self._lines(selector)

    def _lines(self, selector: selectors.BaseSelector) -> Iterator[str]:
        while self._ready or self._streams:
            while self._ready:
                yield self._ready.popleft()
            for descriptor in [key.fd for key, _ in selector.select()] if self._streams else ():
                self._read(descriptor)
                if descriptor not in self._streams:
                    selector.unregister(descriptor)

    def _read(self, descriptor: int) -> None:
        data = os.read(descriptor, _LARGEST)
        self._ready.extend(self._streams[descriptor].feed(data))
        if not data:
            del self._streams[descriptor]

    def close(self) -> None:
        """Close this process's ends of the pipes; a child that still writes gets an error."""
        for end in (self._errors, self._entrance, self._output):
            if end is not None:
                end.close()


class _Stream:
    """Turns bytes into lines, and a line longer than ``LONGEST_LINE`` into several parts."""

    def __init__(self, encoding: str, reversers: Sequence[ReverseTransformer]) -> None:
        decoder = codecs.getincrementaldecoder(encoding)("backslashreplace")
        self._decoder = io.IncrementalNewlineDecoder(decoder, translate=True)
        self._reversers = reversers
        self._stream = StreamReverser()
        self._rest: list[str] = []
        self._size = 0

    def feed(self, data: bytes) -> Iterator[str]:
        """Take bytes, or none at the end of the stream, and return the lines that can be shown now."""
        text = self._decoder.decode(data, final=not data)
        self._rest.append(text)
        self._size += len(text)
        if not data:
            return _split(self._reversed("".join(self._rest)) + _text(self._stream.flush(self._reversers)))
        if "\n" not in text and self._size < LONGEST_LINE:
            return iter(())
        return _split(self._reversed(self._taken()))

    def _taken(self) -> str:
        """Return the whole lines so far; if there is none, the beginning of one, whose end the reverser holds back."""
        text = "".join(self._rest)
        end = text.rfind("\n") + 1 or len(text)
        self._rest, self._size = [text[end:]], len(text) - end
        return text[:end]

    def _reversed(self, text: str) -> str:
        """Reverse ``text`` at once, which is several times as fast as line by line."""
        data = octets(text)
        shown = self._stream.feed(data, self._reversers)
        return text if shown is data else _text(shown)


def _text(shown: bytes) -> str:
    return shown.decode("utf-8", "surrogatepass")


def _split(text: str) -> Iterator[str]:
    return io.StringIO(text, newline="\n")
