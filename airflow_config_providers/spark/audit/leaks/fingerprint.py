"""Fingerprints and their file, by which people and audits with the same key find values that they do not know."""

from __future__ import annotations

import hmac
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any, Final, Self

from airflow_config_providers.core.named_file import replace_lines
from airflow_config_providers.core.reversal.reverse import telling_forms
from airflow_config_providers.core.text import octets, printable
from airflow_config_providers.exceptions import ConfigException, system_reason, translating
from airflow_config_providers.spark.audit.leaks.leak_finder import CURRENT, KnownSecret, encodings_of
from airflow_config_providers.spark.audit.leaks.open_file import ContentError, opened_text

WINDOW: Final = 8
"""How many bytes of a form decide where its digest is compared."""

SHORT_WINDOW: Final = 5
"""The ``WINDOW`` of shorter forms; no form has fewer bytes."""

MIDDLE_BITS: Final = 24
"""Bits of the hash of a window: enough to skip almost all places, and too few to find the window from them."""

DIGEST_BITS: Final = 128
"""Bits of the digest of a form."""

KEY_DIGITS: Final = 8
"""Digits of the fingerprint of something that was found that name its key."""

FOUND_DIGITS: Final = KEY_DIGITS + 20
"""All digits of such a fingerprint."""

_DIGEST: Final = DIGEST_BITS // 8
"""The bytes of a digest of a form."""

_LONGEST: Final = 16 * 1024 * 1024
"""The most bytes of a form that gets a fingerprint."""

LONG: Final = 4096
"""The most bytes of a form without a digest of its edges. Digests of longer ones are not remembered."""

EDGE: Final = 64
"""How many bytes at the beginning, and at the end, of a long form are its edges."""

_EDGES_DIGEST: Final = 4
"""The bytes of a digest of the edges of a form."""


@dataclass(frozen=True, slots=True, order=True)
class Fingerprint:
    """
    What is known of one form of a value, such as its base64, without the value.

    :param reference: the reference that has, or had, the value
    :param encoding: the encoding of the form
    :param size: the bytes of the form
    :param middle: a keyed hash of the bytes in its middle, with ``MIDDLE_BITS`` bits; only the key shows it
    :param digest: a keyed digest of the form, in hexadecimal digits
    :param age: as that of a leak
    :param edges: a keyed digest of the edges of a long form, in the same digits; empty for others, and in older files
    """

    reference: str
    encoding: str
    size: int
    middle: int
    digest: str
    age: str = CURRENT
    edges: str = ""

    def row(self) -> dict[str, Any]:
        """Return what is kept of it. The age is left out, because it depends on the time of the search."""
        row = {name: getattr(self, name) for name in ("reference", "encoding", "size", "middle", "digest")}
        return {**row, "edges": self.edges} if self.edges else row

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> Self:
        """
        Return the fingerprint of a row.

        :raises ValueError: a field is missing, or cannot be that of a fingerprint
        """
        import msgspec  # noqa: PLC0415 - executors do not need it

        found = msgspec.convert(row, cls).of_age(CURRENT)
        is_possible = SHORT_WINDOW <= found.size <= _LONGEST and 0 <= found.middle < 1 << MIDDLE_BITS
        are_digests = _is_digest(found.digest, _DIGEST) and (not found.edges or _is_digest(found.edges, _EDGES_DIGEST))
        if not is_possible or not are_digests:
            raise ValueError
        return found

    def of_age(self, age: str) -> Self:
        """Return the same with another age."""
        return replace(self, age=age)


def _is_digest(digits: str, size: int) -> bool:
    digest = bytes.fromhex(digits)
    return len(digest) == size and digest.hex() == digits


@dataclass(frozen=True, slots=True)
class FingerprintKey:
    """
    The secret key of fingerprints.

    Without it, they reveal nothing but lengths, and which forms are the same. With it, guesses can be tested: of the
    bytes in the middle by themselves, of the edges of a long form by themselves, and of a value as a whole.

    :param secret: 32 bytes
    """

    secret: bytes = field(repr=False)

    @property
    def id(self) -> str:
        """A name of the key: only fingerprints of the same key can be compared."""
        return self._derived("name")[:8].hex()

    def multipliers(self, window: int) -> tuple[int, int]:
        """Return the two numbers, of 64 bits, of the hash of a window; the first is odd."""
        made = self._derived(f"window of {window}")
        return int.from_bytes(made[:8], "little") | 1, int.from_bytes(made[8:16], "little")

    def middle(self, form: bytes) -> int:
        """Return the hash of the bytes in the middle of a form."""
        window = window_of(len(form))
        factor, summand = self.multipliers(window)
        place = place_of_window(len(form))
        number = int.from_bytes(form[place : place + window], "little") * factor + summand
        return (number & (1 << 64) - 1) >> (64 - MIDDLE_BITS)

    def sealed(self, middle: int, digest: str) -> int:
        """
        Return the hash of the middle as a fingerprint has it; sealing that again returns the hash.

        The hash must be fast, so it is linear: with a few forms that one knows, one could compute what it says of the
        others. What seals it is a different number for each digest.
        """
        pad = blake2b(bytes.fromhex(digest), key=self.secret, digest_size=MIDDLE_BITS // 8, person=b"middle").digest()
        return middle ^ int.from_bytes(pad, "little")

    def digest(self, form: bytes) -> str:
        """Return the digest of a form."""
        return blake2b(form, key=self.secret, digest_size=_DIGEST).hexdigest()

    def edges(self, form: bytes) -> str:
        """Return the digest of the edges of a form; empty if it is not long."""
        return self.of_edges(form[:EDGE] + form[-EDGE:]) if len(form) > LONG else ""

    def of_edges(self, edges: bytes) -> str:
        """Return the digest of the first and the last bytes of a form."""
        return blake2b(edges, key=self.secret, digest_size=_EDGES_DIGEST, person=b"edges").hexdigest()

    def sealed_edges(self, edges: str, digest: str) -> str:
        """Do the same as ``sealed`` for the digest of the edges, which would show which forms begin and end alike."""
        if not edges:
            return ""
        pad = blake2b(bytes.fromhex(digest), key=self.secret, digest_size=_EDGES_DIGEST, person=b"edges pad").digest()
        return bytes(one ^ other for one, other in zip(bytes.fromhex(edges), pad, strict=True)).hex()

    def of_found(self, data: bytes) -> str:
        """Return a fingerprint of what was found in a file, which names the key; no other fingerprint is like it."""
        size = (FOUND_DIGITS - KEY_DIGITS) // 2
        return self.id[:KEY_DIGITS] + blake2b(data, key=self.secret, digest_size=size, person=b"found").hexdigest()

    def of_ends(self, ends: str) -> str:
        """Return a keyed digest of a hash of the ends of a file: from the hash itself, short files could be guessed."""
        return blake2b(octets(ends), key=self.secret, digest_size=_DIGEST, person=b"ends").hexdigest() if ends else ""

    def of_secrets(self, secrets: Iterable[KnownSecret]) -> Iterator[Fingerprint]:
        """Yield the fingerprints of every form of ``secrets`` that the audit searches for, up to 16 MiB of it."""
        for one in secrets:
            encodings = encodings_of(one.value)
            for form in (form for form in telling_forms(one.value) if len(form) <= _LONGEST):
                yield self._of_form(one, form, encodings[form])

    def _of_form(self, secret: KnownSecret, form: bytes, encoding: str) -> Fingerprint:
        digest, reference = self.digest(form), str(secret.variable)
        middle, edges = self.sealed(self.middle(form), digest), self.sealed_edges(self.edges(form), digest)
        return Fingerprint(
            reference, encoding, size=len(form), middle=middle, digest=digest, age=secret.age, edges=edges
        )

    def _derived(self, purpose: str) -> bytes:
        return hmac.digest(self.secret, octets(purpose), "sha256")


def window_of(size: int) -> int:
    """Return how many bytes of a form of ``size`` bytes its hash is of."""
    return WINDOW if size >= WINDOW else SHORT_WINDOW


def place_of_window(size: int) -> int:
    """
    Return where in a form its window is: in the middle.

    Many values begin alike, such as addresses and private keys, and logs are full of such beginnings.
    """
    return (size - window_of(size)) // 2


_KIND: Final = "airflow-config-providers fingerprints"
_FORMAT: Final = 2
"""The version of the format of the file."""

_LONGEST_LINE: Final = 64 * 1024
"""The most characters of a line; a file of another kind can have a longer one."""

_MOST: Final = 5_000_000
"""The most fingerprints in a file."""


class OtherKeyError(ConfigException):
    """The fingerprints were made with another key."""


class DamagedFingerprintsError(ConfigException):
    """A file has no fingerprints, or is damaged."""


def write_fingerprints(
    path: str, fingerprints: Iterable[Fingerprint], key: FingerprintKey, *, way_out: str = "Name another file."
) -> None:
    """
    Write a file that only this user can read. One of an earlier audit is replaced, but no other file.

    :param way_out: what to do if it cannot be written
    :raises ConfigException: it cannot be written, is a file of another kind, or there are more than can be read
    """
    target = Path(os.path.realpath(path))
    if os.path.lexists(target):
        _header(path, _rows(path))  # which every file of fingerprints has
    rows = [one.row() for one in sorted({one.of_age(CURRENT) for one in fingerprints})]  # an age is of a search
    if len(rows) > _MOST:
        raise _too_many(path)
    header = {"kind": _KIND, "format": _FORMAT, "key": key.id, "count": len(rows)}
    with translating(OSError, lambda error: _unwritten(path, system_reason(error), way_out)):
        replace_lines(target, map(json.dumps, chain([header], rows)))


def read_fingerprints(path: str, key: FingerprintKey) -> list[Fingerprint]:
    """
    Return the fingerprints in a file.

    :raises OtherKeyError: they were made with another key
    :raises DamagedFingerprintsError: the file is of another kind, or damaged
    :raises ConfigException: the file cannot be read, or has too many
    """
    rows = _rows(path)
    header = _header(path, rows)
    if header["key"] != key.id:
        raise OtherKeyError(
            f"The fingerprints in {printable(path)} were made with another key. Set [config_providers] "
            f"password_encoder_secret to that of the deployment that wrote them."
        )
    try:
        found = [Fingerprint.read(row) for row in rows]
    except ValueError:
        pass
    else:
        if header.get("count", len(found)) == len(found):  # older files have none
            return found
    raise _wrong(path)


def _header(path: str, rows: Iterator[Any]) -> dict[str, Any]:
    header = next(rows, None)
    if not isinstance(header, dict) or header.get("kind") != _KIND or header.get("format") != _FORMAT:
        raise _wrong(path)
    return {"key": "", **header}


def _rows(path: str) -> Iterator[Any]:
    """Yield what the lines of a file say."""
    try:
        with opened_text(os.path.realpath(path)) as file:
            for _ in range(_MOST + 2):  # with the header, and the end
                if not (line := file.readline(_LONGEST_LINE)):
                    return
                yield json.loads(line if line.endswith("\n") else "")
    except ContentError as error:
        problem = str(error)
    except (ValueError, RecursionError):  # which has the line, and the file can be any
        problem = ""
    else:
        raise _too_many(path)
    if not problem:
        raise _wrong(path)
    raise ConfigException(
        f"The fingerprints in {printable(path)} cannot be read: {problem} Run the audit again when they can be."
    )


def _unwritten(path: str, problem: str, way_out: str) -> ConfigException:
    return ConfigException(f"The fingerprints cannot be written to {printable(path)}: {problem}. {way_out}")


def _too_many(path: str) -> ConfigException:
    return ConfigException(
        f"There are more fingerprints for {printable(path)} than the {_MOST:,} that a file can have. Search for fewer "
        f"values at a time, some in each --write-fingerprints file or --state folder."
    )


def _wrong(path: str) -> DamagedFingerprintsError:
    return DamagedFingerprintsError(
        f"{printable(path)} has no fingerprints, or is damaged. Name a file that --write-fingerprints has written."
    )
