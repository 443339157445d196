"""Secrets at rest, encrypted as Kafka does it (KIP-226)."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NoReturn

from airflow_config_providers.core.sensitive import Password
from airflow_config_providers.core.text import is_unicode
from airflow_config_providers.exceptions import ConfigException, refuse

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.padding import PKCS7

GCM: Final = "AES/GCM/NOPADDING"
CIPHERS: Final = frozenset(
    {GCM, *(f"AES/{mode}/{padding}" for mode in ("CBC", "CFB", "OFB") for padding in ("PKCS5PADDING", "NOPADDING"))}
)
"""Java's names in upper case. Only GCM detects that a string was changed."""

TAG_SIZE: Final = 16
"""The bytes of a tag of GCM, as many as it can have."""

_BLOCK_SIZE: Final = 16
"""The bytes of a block of AES, and of the initialization vector of each cipher except GCM."""

_NONCE_SIZE: Final = 12
"""The bytes of the initialization vector of GCM, as NIST SP 800-38D recommends."""


def fits(vector: bytes, cipher: str) -> bool:
    """Return whether the length of ``vector`` is valid for ``cipher``."""
    return 12 <= len(vector) <= 128 if cipher == GCM else len(vector) == _BLOCK_SIZE


def encrypt(octets: bytes, key: bytes, cipher: str, vector: bytes) -> bytes:
    """
    Return ``octets`` encrypted.

    :raises ValueError: ``cipher`` does not pad, and the length is not a multiple of the block size
    """
    if cipher == GCM:
        return _gcm(key).encrypt(vector, octets, None)
    if _pads(cipher):
        padder = _padding().padder()
        octets = padder.update(octets) + padder.finalize()
    encryptor = _block_cipher(key, cipher, vector).encryptor()
    encrypted: bytes = encryptor.update(octets) + encryptor.finalize()
    return encrypted


def decrypt(octets: bytes, key: bytes, cipher: str, vector: bytes) -> bytes | None:
    """Return ``octets`` decrypted; None if they were not encrypted with these parameters, for whatever reason."""
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - loads OpenSSL

    try:
        return _decrypted(octets, key, cipher, vector)
    except (InvalidTag, ValueError):
        return None


def _decrypted(octets: bytes, key: bytes, cipher: str, vector: bytes) -> bytes:
    if cipher == GCM:
        return _gcm(key).decrypt(vector, octets, None)
    decryptor = _block_cipher(key, cipher, vector).decryptor()
    decrypted: bytes = decryptor.update(octets) + decryptor.finalize()
    if not _pads(cipher):
        return decrypted
    unpadder = _padding().unpadder()
    return unpadder.update(decrypted) + unpadder.finalize()


def _pads(cipher: str) -> bool:
    return cipher.endswith("/PKCS5PADDING")


def _gcm(key: bytes) -> AESGCM:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - loads OpenSSL

    return AESGCM(key)


def _padding() -> PKCS7:
    from cryptography.hazmat.primitives.padding import PKCS7  # noqa: PLC0415 - loads OpenSSL

    return PKCS7(_BLOCK_SIZE * 8)


def _block_cipher(key: bytes, cipher: str, vector: bytes) -> Cipher[Any]:
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes  # noqa: PLC0415 - loads OpenSSL

    name = cipher.split("/")[1]
    mode = modes.CBC if name == "CBC" else getattr(_older_modes(), name)
    return Cipher(algorithms.AES(key), mode(vector))


def _older_modes() -> Any:
    """Return the module with CFB and OFB, which newer versions of the library keep in a separate one."""
    try:
        return import_module("cryptography.hazmat.decrepit.ciphers.modes")
    except ImportError:
        return import_module("cryptography.hazmat.primitives.ciphers.modes")


HASHES: Final[Mapping[str, str]] = {f"PBKDF2WITHHMACSHA{bits}": f"SHA{bits}" for bits in (1, 224, 256, 384, 512)}
"""Key factory, with Java's name in upper case -> its hash; the strongest last."""

KEY_LENGTHS: Final = (128, 192, 256)
MOST_ITERATIONS: Final = 1_000_000
"""The most iterations, which take a second or two. A string with more would be an attack on its readers."""

_MOST_CHARACTERS: Final = 1024 * 1024
"""A longer encrypted string is refused before it is parsed."""

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
            "iterations": (f"is not from 1 to {MOST_ITERATIONS}.", not 1 <= self.iterations <= MOST_ITERATIONS),
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
            "salt": base64.b64encode(self.salt).decode(),
            "iterations": settings.iterations,
            "encryptedPassword": base64.b64encode(self.octets).decode(),
            "passwordLength": self.length,
            "initializationVector": base64.b64encode(self.vector).decode(),
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
        if len(text) > _MOST_CHARACTERS:
            self.problems.append(f"it has more than {_MOST_CHARACTERS} characters.")
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
        self._refuse(field, "is not a number")
        return 0

    def octets(self, field: str) -> bytes:
        text = self._text(field)
        try:
            return base64.b64decode(text, validate=True)
        except ValueError:
            self._refuse(field, "is not base64")
        return b""

    def _text(self, field: str) -> str:
        if field not in self._fields:
            self.problems.append(f"{field} is missing.")
        return self._fields.get(field, "")

    def _refuse(self, field: str, what: str) -> None:
        if field in self._fields:
            self.problems.append(f"{field} {what}.")


ITERATIONS: Final = 100_000
"""
25 times Kafka's number, which takes about 0.15 s. The secret is generated: a random one needs no stretching, and a
task decodes only a few strings. The strings of one encoder share a salt, so that a task derives their key only once.
"""

_SALT_SIZE: Final = 32
"""Bytes; NIST SP 800-132 requires at least 16."""


class PasswordEncoder:
    """
    Encrypts passwords into strings that contain all parameters but the secret, and decrypts them.

    It reads what Kafka's encoder writes with AES, in mode CBC, CFB, OFB or GCM. Only GCM detects that a string was
    changed. Thread-safe; not picklable.

    :param secret: the secret from which keys are derived; create one with ``openssl rand -base64 32``
    :param old_secret: the previous secret, for strings that are not re-encrypted yet
    :param key_length: the length of keys in bits
    :param iterations: the iterations that derive a key
    :raises ConfigException: parameters are wrong; lists all problems
    """

    __slots__ = ("_key", "_salt", "_secrets", "_settings")

    def __init__(  # noqa: PLR0913 - the names are Kafka's
        self,
        secret: str | Password,
        *,
        old_secret: str | Password | None = None,
        key_factory_algorithm: str = "PBKDF2WithHmacSHA512",
        cipher_algorithm: str = "AES/GCM/NoPadding",
        key_length: int = 256,
        iterations: int = ITERATIONS,
    ) -> None:
        self._settings = EncoderSettings(
            key_factory_algorithm.upper(), cipher_algorithm.upper(), key_length, iterations
        )
        given = {"secret": secret} if old_secret is None else {"secret": secret, "old secret": old_secret}
        self._secrets = [_octets(text) for text in given.values()]
        empty = [
            f"the {name} is empty, or not valid Unicode. Create one with: openssl rand -base64 32"
            for name, octets in zip(given, self._secrets, strict=True)
            if not octets
        ]
        problems = (*empty, *self._settings.problems())
        refuse(ConfigException, (f"Password encoder: {problem}" for problem in problems))
        self._salt = b""
        self._key = lru_cache(maxsize=16)(self._derived)

    def encode(self, password: Password) -> str:
        """
        Return ``password`` encrypted.

        :raises ConfigException: the cipher does not pad, and the password's length is not a multiple of the block size
        """
        settings = self._settings
        vector = secrets.token_bytes(_NONCE_SIZE if settings.cipher == GCM else _BLOCK_SIZE)  # no two strings share one
        salt = self._salt = self._salt or settings.salt_mark + secrets.token_bytes(_SALT_SIZE)
        octets = password.value.encode("utf-8", "surrogatepass")
        try:
            encrypted = encrypt(octets, self._key(0, settings, salt), settings.cipher, vector)
        except ValueError:
            encrypted = None
        if encrypted is None:
            raise ConfigException("Password encoder: this cipherAlgorithm does not pad. Use AES/GCM/NoPadding.")
        return EncryptedText(settings, salt, vector, encrypted, _utf16_units(password.value)).write()

    def decode(self, text: str) -> Password:
        """
        Return the password in ``text``, decrypted with the secret or otherwise with the old one.

        :raises ConfigException: it is not an encrypted password, was modified, or has another secret
        """
        password, _ = self._decoded(EncryptedText.read(text))
        return password

    def wants_reencoding(self, text: str) -> bool:
        """
        Return whether ``text`` has the old secret, comes from another encoder, or is weaker than what this one writes.

        :raises ConfigException: the text cannot be decoded
        """
        encrypted = EncryptedText.read(text)
        _, place = self._decoded(encrypted)
        return place > 0 or not encrypted.is_marked or encrypted.settings.is_weaker_than(self._settings)

    def _decoded(self, encrypted: EncryptedText) -> tuple[Password, int]:
        """Return the password and the index of the secret that fits. All failures have the same message."""
        for place in range(0 if encrypted.is_relabelled else len(self._secrets)):
            password = self._decrypted(encrypted, place)
            if password is not None:
                self._keep_salt(encrypted, place)
                return password, place
        raise ConfigException(
            "An encrypted password cannot be decoded: it was encoded with another secret, or modified. Set "
            "password_encoder_secret or, after a rotation, password_encoder_old_secret to the secret that encoded it; "
            "or write the password again."
        )

    def _decrypted(self, encrypted: EncryptedText, place: int) -> Password | None:
        key = self._key(place, encrypted.settings, encrypted.salt)
        octets = decrypt(encrypted.octets, key, encrypted.settings.cipher, encrypted.vector)
        try:
            text = None if octets is None else octets.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return None
        return None if text is None or _utf16_units(text) != encrypted.length else Password(text)

    def _keep_salt(self, encrypted: EncryptedText, place: int) -> None:
        """Reuse the salt of one of our strings, so that readers of both derive only one key."""
        if place == 0 and encrypted.settings == self._settings and encrypted.is_marked:
            self._salt = encrypted.salt

    def _derived(self, place: int, settings: EncoderSettings, salt: bytes) -> bytes:
        from cryptography.hazmat.primitives import hashes  # noqa: PLC0415 - loads OpenSSL
        from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC  # noqa: PLC0415 - loads OpenSSL

        algorithm = getattr(hashes, HASHES[settings.key_factory])()
        return PBKDF2HMAC(algorithm, settings.key_length // 8, salt, settings.iterations).derive(self._secrets[place])

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self._secrets)} secrets>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("A PasswordEncoder cannot be pickled or copied: it holds secrets.")


def _octets(secret: str | Password) -> bytes:
    """Return the bytes of ``secret`` from which Java derives keys; none if Java would read another text."""
    text = secret.value if isinstance(secret, Password) else secret
    return text.encode() if is_unicode(text) else b""


def _utf16_units(text: str) -> int:
    return len(text) + sum(character > "\uffff" for character in text)
