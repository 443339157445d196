"""AES in the modes that Kafka's encoder supports."""

from __future__ import annotations

import secrets
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

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
_BLOCK_SIZE: Final = 16
_NONCE_SIZE: Final = 12


def new_vector(cipher: str) -> bytes:
    """Return a new initialization vector, which no two strings with the same key may share."""
    return secrets.token_bytes(_NONCE_SIZE if cipher == GCM else _BLOCK_SIZE)


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
