"""The format of encrypted passwords (KIP-226): ``keyFactoryAlgorithm:PBKDF2WithHmacSHA512,...``."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from airflow_config_providers.dynamic.ciphers import CIPHERS, GCM, TAG_SIZE, fits
from airflow_config_providers.exceptions import ConfigException

HASHES: Final[Mapping[str, str]] = {f"PBKDF2WITHHMACSHA{bits}": f"SHA{bits}" for bits in (1, 224, 256, 384, 512)}
"""Key factory, with Java's name in upper case -> its hash; the strongest last."""

KEY_LENGTHS: Final = (128, 192, 256)
MOST_ITERATIONS: Final = 1_000_000
"""The most iterations, which take a second or two. A string with more would be an attack on its readers."""

_LONGEST: Final = 1024 * 1024
_SALT_SIZES: Final = range(8, 1025)
_TAG: Final = "authenticationTagLength"
_MARK: Final = b"cipher="


@dataclass(frozen=True, slots=True)
class EncoderSettings:
    """
    How a key is derived from the secret, and used.

    :param key_factory: one of ``HASHES``
    :param cipher: one of ``CIPHERS``
    :param key_length: the length of the key in bits
    """

    key_factory: str
    cipher: str
    key_length: int
    iterations: int

    def wrong(self) -> dict[str, str]:
        """Return Kafka's name of a field -> its problem."""
        fields = {
            "keyFactoryAlgorithm": ("is unknown. Use PBKDF2WithHmacSHA512.", self.key_factory not in HASHES),
            "cipherAlgorithm": ("is unknown. Use AES/GCM/NoPadding.", self.cipher not in CIPHERS),
            "keyLength": ("is not one of 128, 192 and 256.", self.key_length not in KEY_LENGTHS),
            "iterations": (
                f"is not from 1 to {MOST_ITERATIONS}.",
                not 1 <= self.iterations <= MOST_ITERATIONS,
            ),
        }
        return {name: what for name, (what, is_so) in fields.items() if is_so}

    def problems(self) -> list[str]:
        """Return the problems, one sentence each."""
        return [f"{name} {what}" for name, what in self.wrong().items()]

    def is_weaker_than(self, other: EncoderSettings) -> bool:
        """Return whether anything here is weaker than in ``other``."""
        return any(mine < its for mine, its in zip(self._strengths, other._strengths, strict=True))

    @property
    def _strengths(self) -> tuple[int, ...]:
        return int(self.cipher == GCM), self.key_length, self.iterations, list(HASHES).index(self.key_factory)

    @property
    def salt_mark(self) -> bytes:
        """
        The beginning of the salts of our own strings.

        The key depends on the salt, so our strings cannot be presented under a mode without integrity protection:
        with the same key, the bytes of one mode would make sense in another.
        """
        return _MARK + self.cipher.encode() + b";"


@dataclass(frozen=True, slots=True)
class EncryptedText:
    """
    An encrypted password, and how to decrypt it.

    :param length: the length of the password in UTF-16 units
    """

    settings: EncoderSettings
    salt: bytes = field(repr=False)
    vector: bytes = field(repr=False)
    octets: bytes = field(repr=False)
    length: int

    @classmethod
    def read(cls, text: str) -> EncryptedText:
        """
        Parse a string of this encoder or of Kafka's.

        :raises ConfigException: it is not an encrypted password; the message does not quote it
        """
        reader = _FieldReader(text)
        key_factory, cipher = reader.name("keyFactoryAlgorithm"), reader.name("cipherAlgorithm")
        settings = EncoderSettings(key_factory, cipher, reader.number("keyLength"), reader.number("iterations"))
        salt, vector = reader.octets("salt"), reader.octets("initializationVector")
        found = cls(settings, salt, vector, reader.octets("encryptedPassword"), reader.number("passwordLength"))
        if settings.cipher == GCM and reader.number(_TAG) != TAG_SIZE * 8:
            reader.problems.append(f"{_TAG} is not {TAG_SIZE * 8}.")
        if problems := reader.problems or found._problems():
            raise ConfigException(
                *(f"An encrypted password cannot be read: {problem}" for problem in problems),
                "Write the password again.",
            )
        return found

    def write(self) -> str:
        """Return the text, with names as Java writes them."""
        settings = self.settings
        fields = {
            "keyFactoryAlgorithm": settings.key_factory.replace("WITHHMAC", "WithHmac"),
            "cipherAlgorithm": settings.cipher.replace("PADDING", "Padding").replace("NOP", "NoP"),
            "keyLength": settings.key_length,
            "salt": _base64(self.salt),
            "iterations": settings.iterations,
            "encryptedPassword": _base64(self.octets),
            "passwordLength": self.length,
            "initializationVector": _base64(self.vector),
            **({_TAG: TAG_SIZE * 8} if settings.cipher == GCM else {}),
        }
        return ",".join(f"{name}:{value}" for name, value in fields.items())

    @property
    def is_marked(self) -> bool:
        """Whether the salt confirms the cipher."""
        return self.salt.startswith(self.settings.salt_mark)

    @property
    def is_relabelled(self) -> bool:
        """Whether the salt names another cipher."""
        return self.salt.startswith(_MARK) and not self.is_marked

    def _problems(self) -> list[str]:
        problems = self.settings.problems()
        if len(self.salt) not in _SALT_SIZES:
            problems.append(f"salt does not have {_SALT_SIZES.start} to {_SALT_SIZES.stop - 1} bytes.")
        if not fits(self.vector, self.settings.cipher):
            problems.append("initializationVector does not have the length that its cipher requires.")
        return problems


class _FieldReader:
    """Reads fields, and collects their problems."""

    def __init__(self, text: str) -> None:
        self.problems: list[str] = []
        if len(text) > _LONGEST:
            self.problems.append(f"it has more than {_LONGEST} characters.")
            text = ""
        parts = [part.rpartition(":") for part in text.split(",")]
        self._fields = {name.strip(): value.strip() for name, _, value in parts}
        if len(self._fields) < len(parts):
            self.problems.append("a field appears twice.")

    def name(self, field: str) -> str:
        return self._text(field).upper()

    def number(self, field: str) -> int:
        text = self._text(field)
        if text.isascii() and text.isdigit() and len(text) < 10:
            return int(text)
        self._refuse(field, text, "is not a number")
        return 0

    def octets(self, field: str) -> bytes:
        text = self._text(field)
        try:
            return base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            self._refuse(field, text, "is not base64")
        return b""

    def _text(self, field: str) -> str:
        if field not in self._fields:
            self.problems.append(f"{field} is missing.")
        return self._fields.get(field, "")

    def _refuse(self, field: str, text: str, what: str) -> None:
        if field in self._fields:
            self.problems.append(f"{field} {what}.")


def _base64(octets: bytes) -> str:
    return base64.b64encode(octets).decode()
