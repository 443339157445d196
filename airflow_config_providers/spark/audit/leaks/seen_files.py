"""What earlier audits have searched, in a folder, so that the next one reads only what is new or has grown."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import stat
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, Self

from airflow_config_providers.core.named_file import replace_lines
from airflow_config_providers.core.reversal.encodings import ENCODINGS, Encoding
from airflow_config_providers.core.reversal.reverse import COMMON_WORDS, SHORTEST, telling_forms
from airflow_config_providers.core.text import octets, printable
from airflow_config_providers.exceptions import ConfigException, system_reason, translating
from airflow_config_providers.spark.audit.leaks.file_blocks import ends_hash, opened
from airflow_config_providers.spark.audit.leaks.file_format import known_formats
from airflow_config_providers.spark.audit.leaks.file_listing import FoundFile
from airflow_config_providers.spark.audit.leaks.fingerprint import (
    DamagedFingerprintsError,
    Fingerprint,
    FingerprintKey,
    OtherKeyError,
    read_fingerprints,
    write_fingerprints,
)
from airflow_config_providers.spark.audit.leaks.leak import Found, Leak
from airflow_config_providers.spark.audit.leaks.object_store import FAR_BLOCK, is_stored
from airflow_config_providers.spark.audit.leaks.open_file import ContentError, opened_text
from airflow_config_providers.spark.audit.leaks.sought import Sought
from airflow_config_providers.spark.audit.leaks.token_finder import FORMATS

_LOCK: Final = ".lock"


@contextmanager
def locked(folder: str) -> Iterator[None]:
    """
    Make a folder, and keep other audits out of it. The lock ends with the process, whatever ends that.

    :raises ConfigException: the folder cannot be used, others can write to it, or another audit uses it
    """
    try:
        descriptor, problem = _locked(Path(os.path.realpath(folder))), ""
    except BlockingIOError:
        descriptor, problem = -1, "another audit uses it. Wait until that has ended, or name another folder"
    except OSError as error:
        descriptor, problem = -1, f"{system_reason(error)}. Name a folder that can be written"
    if problem:
        raise ConfigException(f"--state {printable(folder)}: {problem}.")
    try:
        yield
    finally:
        os.close(descriptor)


def _locked(folder: Path) -> int:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _require_private(folder)
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(folder / _LOCK, flags, mode=0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _require_private(folder: Path) -> None:
    """Raise an error if another user can write to ``folder``: files would pass for searched."""
    status = folder.stat()
    if status.st_uid not in {0, os.geteuid()}:
        problem = "it belongs to another user"
    elif status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        problem = "others can write to it"
    else:
        return
    raise ConfigException(
        f"--state {printable(str(folder))}: {problem}, and could hide leaks there. Name a folder of your own, to which "
        f"only you can write, as after chmod go-w."
    )


_FORMAT: Final = 4
"""The version of the format of what is kept."""

_WRONG: Final = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""What reading a part that something else has written can raise."""

_FINGERPRINTS: Final = "fingerprints.jsonl"

_NO_KEY: Final = (
    "[config_providers] password_encoder_secret is not set, so --state remembers no fingerprints: later audits will "
    "not search for today's values when they have been rotated, and will read grown files from their beginning."
)
_OTHER_KEY: Final = (
    "The fingerprints of earlier values in --state were made with another password_encoder_secret. They are kept in "
    "its file {name}, but not searched for: --fingerprints with that file does it, where the earlier secret is set."
)

_NOT_KEPT: Final = (
    "--state {folder}: not all of what was searched could be kept there ({problem}), so the next audit reads it again. "
    "Make room, or see that the folder can be written."
)

_NO_ROOM: Final = "Make room there, or name another folder with --state."

_NOT_REMOVED: Final = (
    "--state {folder}: older parts could not be removed there ({problem}). No result is missing; see that the folder, "
    "and all in it, can be written."
)

_NOT_READ: Final = (
    "--state {folder}: its file secrets.json cannot be read: {problem} Run the audit again when it can be. Or remove "
    "it, and all is read again."
)

_DAMAGED: Final = (
    "--state {folder}: its file fingerprints.jsonl cannot be read, or is damaged. Restore it from a backup; without "
    "one, remove it: values that were rotated before are then no longer found."
)

_SCRYPT: Final = {"n": 2**14, "r": 8, "p": 1}

FINDER: Final = 2
"""
Increase it if a file can have other leaks than before although values have the same forms.

Examples are more escapes that are undone, shorter parts of a value that are found, or more that is decompressed.
"""

_PROBES: Final = (
    "plain-Value.of_0nly-simple-characters",
    " all the m@rks: !\"#$%&'()*+,-./0;<=>?A[\\]^_`{|}~ and blanks\t",
    "of several\r\nl\u00efnes, with \u20ac, \U0001f600 and \x7f\x01 in th\u00e9m\n-----or not\nlocalhost",
)
"""Strings of which each encoding changes something."""


def search_version(encodings: Mapping[str, Encoding] = ENCODINGS) -> str:
    """
    Return a name for all that decides what is found in a file, apart from what is searched for.

    After an upgrade that finds more, it is another one, and files that were searched before are searched again.
    """
    forms = {name: [list(dict.fromkeys(encoded(probe))) for probe in _PROBES] for name, encoded in encodings.items()}
    searched = [[form.hex() for form in telling_forms(probe)] for probe in _PROBES]
    parts = [FINDER, SHORTEST, sorted(COMMON_WORDS), forms, searched, known_formats()]
    return hashlib.blake2b(json.dumps(parts, sort_keys=True).encode(), digest_size=16).hexdigest()


class SearchedFile(NamedTuple):
    """
    A file that was searched.

    :param file: the file as it was when it was listed
    :param found: what was found in it; its hash of the ends is keyed if it was kept
    """

    file: FoundFile
    found: Found[Leak] = Found()

    def row(self) -> tuple[object, ...]:
        """Return what is kept of it, as ``_Row`` says."""
        leaks, octets, lines, problem, ends = self.found
        return self.file, leaks, lines, octets, problem, ends

    @classmethod
    def read(cls, row: object) -> Self:
        """
        Return the file of a row.

        :raises ValueError: a field is missing, or of another type
        """
        import msgspec  # noqa: PLC0415 - executors do not need it

        file, leaks, lines, octets, problem, ends = msgspec.convert(row, _Row)
        return cls(FoundFile(*file), Found(leaks, octets, lines, problem, ends))


_Row = tuple[tuple[str, int, int, str, int], tuple[Leak, ...], int, int, str, str]
"""A ``SearchedFile`` as it is kept: its file, leaks, lines, octets, problem, and ends."""


@dataclass(slots=True)
class SeenFiles:
    """
    The files that earlier audits have searched, in a folder. It holds no values.

    What is kept belongs to what was searched for, and to the search: if either is another one now, everything is read
    again. A run that is killed loses only what it found since the last ``keep``. The folder also remembers the
    fingerprints of values, so that they are searched for when they are no longer current.

    Of the content of files, only keyed hashes are kept, because readers of the folder could guess what a short file
    contains. Without a key there are none, and a file that has grown is read from its beginning.

    :param folder: where they are kept
    :param sought: what is searched for: also the values that earlier audits knew
    :param version: that of the search
    :param notes: what people should know of the folder, in sentences
    """

    folder: Path
    sought: Sought
    version: str
    notes: Sequence[str] = ()
    files: dict[str, SearchedFile] = field(default_factory=dict)
    _rows: int = field(default=0, init=False, repr=False)
    """How many rows the parts have. Files have one each if nothing was replaced, forgotten, or is broken."""

    @classmethod
    def open(cls, folder: str, sought: Sought, *, version: str | None = None) -> SeenFiles:
        """
        Return what was kept in ``folder`` for what is ``sought``.

        :param version: that of the search; None for the one of this process
        :raises ConfigException: the folder cannot be used
        """
        seen = cls(Path(os.path.realpath(folder)), sought, version or search_version())
        with translating(OSError, partial(_unusable, folder)):
            seen.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            seen._require_ours()
            seen._clean()
            seen._remember()
            seen._require_any()
            if seen._is_current():
                seen._load()
            else:
                seen._begin()
        return seen

    def keep(self, found: Iterable[SearchedFile]) -> None:
        """
        Keep what was found in some files, all or nothing.

        If the disk is full, a note says so, and the audit goes on.
        """
        rows = [SearchedFile(one.file, self._without_plain_ends(one.found)) for one in found]
        if problem := self._write(rows):
            self._note(_NOT_KEPT, problem)
        else:
            self._rows += len(rows)
            self.files.update((one.file.path, one) for one in rows)

    def compact(self, present: Collection[str]) -> None:
        """
        Write what is kept of the files that are ``present`` as one part, unless it is; the others are forgotten.

        If older parts cannot be removed, a note says so: the audit has its result, and the next one reads them, too.
        """
        self.files = {path: one for path, one in self.files.items() if path in present}
        try:
            old = self._parts()
            if len(old) == 1 and len(self.files) == self._rows:
                return
            if not self._write(self.files.values()):  # otherwise, the old parts have it
                self._rows = len(self.files)
                _remove(old)
        except OSError as error:
            self._note(_NOT_REMOVED, system_reason(error))

    def _without_plain_ends(self, found: Found[Leak]) -> Found[Leak]:
        return found._replace(ends=self.sought.key.of_ends(found.ends) if self.sought.key else "")

    def _write(self, rows: Collection[SearchedFile]) -> str:
        """Write a part, unless it would be empty, and return why it could not be written; nothing if it was."""
        if not rows:
            return ""
        try:
            number = max(map(_number_of, self._parts()), default=-1) + 1  # of two results of a file, the later one wins
            part = self.folder / f"seen-{number:08}-{uuid.uuid4().hex}.jsonl"
            replace_lines(part, (json.dumps(one.row(), default=asdict) for one in rows))
        except OSError as error:
            return system_reason(error)
        return ""

    def _parts(self) -> list[Path]:
        return sorted(self.folder.glob("seen-*.jsonl"), key=lambda part: (_number_of(part), part))

    def _note(self, note: str, problem: str) -> None:
        sentence = note.format(folder=printable(str(self.folder)), problem=problem)
        self.notes = tuple(dict.fromkeys((*self.notes, sentence)))

    def _require_ours(self) -> None:
        others = [path.name for path in self.folder.iterdir() if not _is_ours(path)]
        if others:
            raise ConfigException(
                f"--state {printable(str(self.folder))}: it has other files, such as {printable(min(others))}. "
                f"Name an empty folder, or one of an earlier audit."
            )

    def _clean(self) -> None:
        """Remove what an audit that was killed was writing."""
        for path in self.folder.glob(f".{'[0-9a-f]' * 32}"):
            path.unlink(missing_ok=True)

    def _remember(self) -> None:
        """Search for the values of earlier audits, too, and keep the fingerprints of all for later ones."""
        if key := self.sought.key:
            path = self.folder / _FINGERPRINTS
            self.sought = self.sought.with_fingerprints(self._earlier(path, key))
            write_fingerprints(str(path), self.sought.all_fingerprints(), key, way_out=_NO_ROOM)
        else:
            self.notes = (_NO_KEY,)

    def _require_any(self) -> None:
        if not self.sought:
            nothing = "There is no value to search for, and --state has no fingerprints of earlier ones."
            raise ConfigException(nothing, *self.notes)

    def _earlier(self, path: Path, key: FingerprintKey) -> list[Fingerprint]:
        """
        Return the fingerprints that earlier audits have kept.

        :raises ConfigException: they cannot be read
        """
        try:
            return read_fingerprints(str(path), key) if path.exists() else []
        except OtherKeyError:
            kept = path.rename(path.with_name(f"{_FINGERPRINTS}.{uuid.uuid4().hex[:8]}"))
            self.notes = (_OTHER_KEY.format(name=kept.name),)
            return []
        except DamagedFingerprintsError:
            problem = _DAMAGED.format(folder=printable(str(self.folder)))
        raise ConfigException(problem)

    def _is_current(self) -> bool:
        """
        Return whether the parts are those of this search for the same values.

        :raises ConfigException: it cannot be read now
        """
        path = self.folder / "secrets.json"
        if not path.is_file():
            return False
        try:
            [line] = _lines(path)
            known = json.loads(line)
            return bool(known["format"] == _FORMAT and known["digest"] == self._digest(bytes.fromhex(known["salt"])))
        except ContentError as error:
            problem = str(error)
        except _WRONG:
            return False
        raise ConfigException(_NOT_READ.format(folder=printable(str(self.folder)), problem=problem))

    def _begin(self) -> None:
        _remove(self._parts())
        salt = os.urandom(16)
        known = {"format": _FORMAT, "salt": salt.hex(), "digest": self._digest(salt)}
        replace_lines(self.folder / "secrets.json", [json.dumps(known)])

    def _digest(self, salt: bytes) -> str:
        """
        Return a hash of the search and of all values together.

        It is slow enough that a weak value among strong ones cannot be guessed from it.
        """
        values = [json.dumps([str(one.variable), one.value, one.age]) for one in self.sought.secrets]
        fingerprints = [json.dumps([*one.row().values(), one.age]) for one in self.sought.fingerprints]
        key = self.sought.key.id if self.sought.key else ""  # that of the fingerprints of leaks
        no_secrets = [json.dumps([one.value]) for one in self.sought.no_secrets]
        formats = FORMATS if self.sought.tokens else {}
        parts = [self.version, key, sorted(values), sorted(fingerprints), sorted(no_secrets), formats]
        return hashlib.scrypt(octets(json.dumps(parts)), salt=salt, dklen=32, **_SCRYPT).hex()

    def _load(self) -> None:
        for part in self._parts():
            self._rows += 1  # until all of the part is read, so that one that is broken is written anew
            with suppress(ContentError, UnicodeDecodeError):  # it is searched again
                for line in _lines(part):
                    self._rows += 1
                    with suppress(*_WRONG):  # as above
                        one = SearchedFile.read(json.loads(line))
                        self.files[one.file.path] = one
                self._rows -= 1


def _unusable(folder: str, error: OSError) -> ConfigException:
    return ConfigException(f"--state {printable(folder)}: {system_reason(error)}. Name a folder that can be written.")


def _number_of(part: Path) -> int:
    """Return the place of a part in the order in which parts were written; what something else has written is first."""
    found = re.match(r"seen-(\d{1,18})-", part.name, re.ASCII)
    return int(found[1]) if found else -1


def _is_ours(path: Path) -> bool:
    """Return whether an audit can have written what is in its folder; others can have a hidden file or folder there."""
    if path.name.startswith("."):
        return True
    return path.name.startswith(("seen-", "secrets.json", _FINGERPRINTS)) and not path.is_dir()


def _remove(parts: Iterable[Path]) -> None:
    """
    Remove all that can be removed.

    :raises OSError: why one cannot be
    """
    problem = None
    for part in parts:
        try:
            part.unlink(missing_ok=True)
        except OSError as error:
            problem = error
    if problem:
        raise problem


def is_unchanged(file: FoundFile, seen: SearchedFile | None) -> bool:
    """Return whether a file is as it was when all of it was searched; not if nothing says when that was."""
    return seen is not None and seen.found.is_whole and seen.file == file and bool(file.modified or file.etag)


def grown_since(
    file: FoundFile, seen: SearchedFile | None, *, margin: int, key: FingerprintKey | None
) -> SearchedFile | None:
    """
    Return what was found in a part of ``file`` that need not be searched again; None if it has not only grown.

    It is trusted to have only grown if its first bytes, and those before its former end, are as they were. What begins
    within ``margin`` bytes of its former end is searched again: it could have been written half.

    :param key: that of the hashes that were kept
    """
    if key is None or seen is None or not seen.found.is_whole or not seen.found.ends or file.size <= seen.file.size:
        return None
    if is_stored(file.path) and file.size <= FAR_BLOCK:  # one request reads it as a whole
        return None
    size = max(0, seen.file.size - margin)
    try:
        with opened(file.path, file.size) as source:
            if key.of_ends(ends_hash(source, seen.file.size)) != seen.found.ends:
                return None
            lines = source.read(size, seen.file.size - size).count(b"\n")
    except ContentError:  # the search of the file reports it
        return None
    kept = [leak for leak in seen.found.leaks if leak.offset < size]
    octets = seen.found.octets - (seen.file.size - size)
    found = seen.found._replace(leaks=kept, octets=octets, lines=seen.found.lines - lines)
    return SearchedFile(seen.file._replace(size=size), found)


def _lines(path: Path) -> Iterator[str]:
    with opened_text(str(path)) as file:
        yield from file
