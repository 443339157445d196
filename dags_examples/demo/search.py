"""
A search for secrets in the traces of a run.

It shares no code with the package that it checks, so that one mistake cannot hide in both.
"""

from __future__ import annotations

import base64
import bz2
import gzip
import html
import io
import json
import lzma
import os
import re
import sqlite3
import stat
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from urllib.parse import quote, quote_plus

SHORTEST_SECRET = 8
SHORTEST_PART = 12
UNPACKED: Mapping[bytes, Callable[[bytes], bytes]] = {
    b"\x1f\x8b": gzip.decompress,
    b"BZh": bz2.decompress,
    b"\xfd7zXZ\x00": lzma.decompress,
    b"\x78\x01": zlib.decompress,
    b"\x78\x5e": zlib.decompress,
    b"\x78\x9c": zlib.decompress,
    b"\x78\xda": zlib.decompress,
}
DAMAGED = (
    OSError,
    EOFError,
    ValueError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
)
"""What is raised for content that cannot be unpacked."""
SEALED = (b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18", b"LZ4Block", b"\x82SNAPPY\x00", b"\xff\x06\x00\x00sNaPpY")


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret, and the forms in which it could be written."""

    name: str
    forms: Mapping[str, bytes] = field(repr=False)

    @classmethod
    def of(cls, name: str, value: str) -> Secret:
        """Return a secret with all forms of ``value``. A short value is refused, since it would be found by chance."""
        if len(value) < SHORTEST_SECRET:
            raise ValueError(f"The secret {name} is shorter than {SHORTEST_SECRET} characters.")
        return cls(name, forms_of(value))

    def forms_in(self, content: bytes) -> Iterator[str]:
        """Return the names of the forms that occur in ``content``."""
        return (form for form, written in self.forms.items() if written in content)


def forms_of(value: str) -> dict[str, bytes]:
    """Return name -> bytes for each way to write a value, without forms that equal an earlier one."""
    raw = value.encode()
    forms = {
        "raw": raw,
        "UTF-16LE": value.encode("utf-16-le"),
        "UTF-16BE": value.encode("utf-16-be"),
        "URL-quoted": quote(value, safe="").encode(),
        "URL-quoted path": quote(value).encode(),
        "form-quoted": quote_plus(value).encode(),
        "JSON": json.dumps(value)[1:-1].encode(),
        "properties": re.sub(r"([=:#!\\])", r"\\\1", value).encode(),
        "HTML": html.escape(value).encode(),
        "hex": raw.hex().encode(),
        "HEX": raw.hex().upper().encode(),
        **base64_forms(raw),
        "a part of it": longest_plain_part(value).encode(),
    }
    first = {written: form for form, written in reversed(forms.items()) if written}
    return {form: written for form, written in forms.items() if first.get(written) == form}


def base64_forms(raw: bytes) -> dict[str, bytes]:
    """Return the base64 forms of the value at each of three alignments, without letters that depend on neighbours."""
    forms = {}
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + raw)
        sure = encoded[-(-shift * 8 // 6) : (shift + len(raw)) * 8 // 6]
        forms[f"base64+{shift}"] = sure
        forms[f"base64url+{shift}"] = sure.translate(bytes.maketrans(b"+/", b"-_"))
    return forms


def longest_plain_part(value: str) -> str:
    """Return the longest sequence of letters and digits, which no escaping changes; empty if it is short."""
    part = max(re.findall(r"[A-Za-z0-9]+", value), key=len, default="")
    return part if len(part) >= SHORTEST_PART else ""


@dataclass(frozen=True, slots=True)
class Finding:
    """A place where a secret was found."""

    place: str
    secret: str
    form: str


@dataclass(slots=True)
class Search:
    """
    Searches places for secrets, and counts them.

    ``unread`` lists what cannot be opened, such as a file with a compression that Python does not support: nothing is
    proved about it.

    :param unpacks: whether to search also the content of compressed files and columns
    """

    secrets: Collection[Secret]
    unpacks: bool = True
    files: int = 0
    size: int = 0
    tables: int = 0
    rows: int = 0
    found: list[Finding] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)

    def content(self, place: str, content: bytes) -> None:
        """Search some bytes, and what is compressed in them."""
        self.look_for_secrets(place, content)
        for inner_place, inner in self._unpack(place, content) if self.unpacks else ():
            self.content(inner_place, inner)

    def look_for_secrets(self, place: str, content: bytes) -> None:
        """Search some bytes as they are; only the first form found of a secret is reported."""
        for secret in self.secrets:
            form = next(secret.forms_in(content), None)
            if form is not None:
                self.found.append(Finding(place, secret.name, form))

    def tree(self, root: Path, *, leave_out: Collection[Path] = (), since: float = 0) -> None:
        """
        Search the files below ``root`` that changed after ``since``, and their names.

        This skips files of other users, and everything that is not a regular file. A folder that cannot be listed is
        unread.
        """
        for folder, folders, names in os.walk(root, onerror=self._unlisted):
            here = Path(folder)
            folders[:] = [name for name in folders if here / name not in leave_out]
            for path in (here / name for name in names):
                if path not in leave_out and _is_ours(path, since):
                    # Not the name, which could show the secret.
                    self.content(f"the name of a file in {root}", os.fsencode(path.relative_to(root)))
                    self.file(path)

    def _unlisted(self, error: OSError) -> None:
        """Note a folder that cannot be listed, unless it is gone or belongs to another user."""
        is_skipped = isinstance(error, FileNotFoundError | NotADirectoryError) or (
            isinstance(error, PermissionError) and not _is_own_folder(error.filename)
        )
        if not is_skipped:
            self.unread.append(f"{error.filename} ({error.strerror})")

    def file(self, path: Path) -> None:
        """Search one file."""
        try:
            content = b"\0".join(_data(path))
        except FileNotFoundError:
            return
        except OSError as error:
            self.unread.append(f"{path} ({error.strerror})")
            return
        self.files += 1
        self.size += len(content)
        self.content(str(path), content)

    def database(self, path: Path) -> None:
        """Search every column of every table of an SQLite database, row by row."""
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            for name in names:
                self._table(connection, name)

    def _table(self, connection: sqlite3.Connection, name: str) -> None:
        self.tables += 1
        rows = connection.execute(f'SELECT * FROM "{name}"')
        columns = [column for column, *_ in rows.description]
        for row in rows:
            self.rows += 1
            for column, cell in zip(columns, row, strict=True):
                if cell is not None:
                    self.content(
                        f"table {name}, column {column}", cell if isinstance(cell, bytes) else str(cell).encode()
                    )

    def _unpack(self, place: str, content: bytes) -> Iterator[tuple[str, bytes]]:
        if content.startswith(SEALED):
            self.unread.append(f"{place} (compressed in a way that Python cannot undo)")
        elif content.startswith(b"PK\x03\x04"):
            yield from self._members(place, content)
        else:
            for start, unpack in UNPACKED.items():
                if content.startswith(start):
                    inner = self._unpacked(place, partial(unpack, content))
                    yield from ((f"{place}, unpacked", one) for one in inner)

    def _unpacked(self, place: str, unpack: Callable[[], bytes]) -> Iterator[bytes]:
        try:
            inner = unpack()
        except DAMAGED:
            self.unread.append(f"{place} (damaged)")
        else:
            yield inner

    def _members(self, place: str, content: bytes) -> Iterator[tuple[str, bytes]]:
        try:
            archive = zipfile.ZipFile(io.BytesIO(content))
        except DAMAGED:
            self.unread.append(f"{place} (damaged)")
            return
        with archive:
            for member in archive.infolist():
                name = f"{place}, member {member.filename}"
                yield from ((name, one) for one in self._unpacked(name, partial(archive.read, member)))


def _data(path: Path) -> Iterator[bytes]:
    """Yield what is in a file, without its holes, which can be larger than any memory, and hold nothing."""
    with path.open("rb") as file:
        size, start = os.fstat(file.fileno()).st_size, 0
        while start < size:
            try:
                start = os.lseek(file.fileno(), start, os.SEEK_DATA)
            except OSError:  # there is only a hole
                return
            end = os.lseek(file.fileno(), start, os.SEEK_HOLE)
            file.seek(start)
            yield file.read(end - start)
            start = end


def _is_own_folder(path: str) -> bool:
    try:
        return os.lstat(path).st_uid == os.getuid()
    except OSError:
        return True


def _is_ours(path: Path, since: float) -> bool:
    try:
        status = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_uid == os.getuid() and status.st_mtime >= since
