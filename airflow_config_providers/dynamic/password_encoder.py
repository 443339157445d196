"""Secrets at rest, encrypted as Kafka does it (KIP-226)."""

from __future__ import annotations

import secrets
from functools import lru_cache
from typing import Final, NoReturn

from airflow_config_providers.core.data import Password
from airflow_config_providers.dynamic.ciphers import decrypt, encrypt, new_vector
from airflow_config_providers.dynamic.encrypted_text import HASHES, EncoderSettings, EncryptedText
from airflow_config_providers.exceptions import ConfigException

ITERATIONS: Final = 100_000
"""
25 times Kafka's number, which takes about 0.15 s. The secret is generated: a random one needs no stretching, and a
task decodes only a few strings. The strings of one encoder share a salt, so that a task derives their key only once.
"""

_SALT_SIZE: Final = 32


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
        if problems := [*empty, *self._settings.problems()]:
            raise ConfigException(*(f"Password encoder: {problem}" for problem in problems))
        self._salt = b""
        self._key = lru_cache(maxsize=16)(self._derived)

    def encode(self, password: Password) -> str:
        """
        Return ``password`` encrypted.

        :raises ConfigException: the cipher does not pad, and the password's length is not a multiple of the block size
        """
        settings, vector = self._settings, new_vector(self._settings.cipher)
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
    return b"" if any("\ud800" <= character <= "\udfff" for character in text) else text.encode()


def _utf16_units(text: str) -> int:
    return len(text) + sum(character > "\uffff" for character in text)
