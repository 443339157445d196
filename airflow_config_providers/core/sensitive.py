"""The type that carries a secret, what is shown in its place, and keys and strings that look like secrets."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from airflow_config_providers.core.text import octets, printable

HIDDEN: Final = "[hidden]"

TELLING_NAMES: Final = (
    r"secret|passw|passphrase|pwd|token|credential|signature|connection[._-]?string"
    r"|(?:access|account|api|private|sas|shared)[._-]?key|encryption[._-]?key(?!size|gen)"
    r"|(?<!by)(?<!com)(?<!tres)pass(?![a-z])"
    r"|(?<![a-z])(?:sas|pw|creds?)(?![a-z])|(?-i:[a-z](?:Sas|Pw|Creds?)(?![a-z])|(?<![A-Za-z])(?:sas|pw|creds?)[A-Z])"
)
"""Finds names of secrets regardless of their case (``(?i)``), in Java as in Python."""

_NAMES: Final = f"(?i){TELLING_NAMES}"
_PASSWORD: Final = r"passw(?!(?:or)?ds?(?:file|path)(?![a-z]))[a-z]{0,8}"  # noqa: S105 - a pattern
_OTHER_SECRETS: Final = r"secret|token|(?:access|account|api|private|secret|shared)[._-]?key"
_SETTING: Final = rf"(?:{_PASSWORD}|pwd|{_OTHER_SECRETS})"
_TEXTS: Final = (
    rf"(?i){_SETTING}(?:=|[ \t]{{1,8}}=[ \t]{{0,8}})(?![\"']{{2}})[^&;,\s]"
    rf"|{_SETTING}\\?[\"'][ \t]{{0,8}}:\s{{0,8}}(?:[0-9]|\\?[\"'](?!\\?[\"']))"
    rf"|(?m:^|[{{,;])[ \t]{{0,64}}(?:-[ \t]{{1,8}})?[\w.-]{{0,64}}?{_SETTING}[ \t]{{0,8}}:[ \t]{{1,8}}"
    r"(?:\"[^\"\n]++\"|'[^'\n]++'|(?![{\[])[^\s\"',;}]++)[ \t]{0,8}(?m:$|[,;}])"
    r"|(?:(?<![\w.-])(?:sig|x-[a-z]{1,8}-(?:signature|credential))|[?&]signature)=[^&;,\s]"
    r"|//[^/\s:]*+:[^/\s@]++@"
    r"|//[^/\s:@\[]*+:(?![0-9]*[/,])(?>(?:[^/\s@?#]|/(?!/))+)@"
    r"|jdbc:oracle:[a-z0-9]{1,8}:[^/\s:@]++/(?>(?:[^\s@j]|j(?!dbc:))+)@"
    rf"|(?<![^\s\"'])--[\w.-]{{0,64}}?{_SETTING}[ \t]{{1,8}}(?!--)[^\s{{$]"
    r"|authorization\\?[\"']?[ \t]{0,8}[:=][ \t]{0,8}\\?[\"']?(?:basic|bearer|token)[ \t]{1,8}[^\s{$]"
    r"|-----BEGIN [A-Z ]{0,40}PRIVATE KEY"
)
"""
A password in a URL, or among several settings in one string: ``name=``, ``--name``, or as in JSON and YAML; the
parameters of a signed link; an ``Authorization`` header; a private key in PEM.

What a pattern reads to its end stops where another match could begin, so that the time is linear.
"""

_STORED: Final = r"(?i)(?<![\w.+:/-])(?:abfss?|dbfs|file|gs|hdfs|s3[an]?|wasbs?):/[^\s\"',;?&#]*"
"""The address of a stored file, which is not a part of another address, such as that of a database in a file."""

_PARTITION: Final = rf"(?i)/[\w.-]{{0,64}}?(?:{_OTHER_SECRETS})=[^/@]*"
"""
In the address of a stored file: the folder of a partition, such as ``token=ETH``, which is no setting.

Passwords are not among the names, since no table is partitioned by them. A folder with an ``@`` is not taken for one:
the ``@`` could end a password in the address, which can have a slash in it.
"""

_IN_NAMES: Final = ("secret", "pass", "pw", "token", "cred", "gnature", "connect", "key", "sas")
_IN_TEXTS: Final = ("passw", "pwd", "secret", "token", "key", "g=", "gnature=", "credent", "author")
"""
Parts of which every match has one, because it takes long to compile the patterns, and most strings have none.

None has an ``i``: ``(?i)`` also finds it without a dot, and as a capital letter with one, unlike ``casefold``.
"""

_NO_PATH: Final = "[hidden, because it does not begin with /]"
_PATHS_BEGIN: Final = ("/", "./", "../", "~")


class Password:
    """A string that is shown as ``[hidden]``. Compared by value, in constant time; not picklable."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    @property
    def value(self) -> str:
        """The string itself."""
        return self._value

    def __str__(self) -> str:
        return HIDDEN

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Password):
            return NotImplemented
        import hmac  # noqa: PLC0415 - slow to import, and passwords are rarely compared

        return hmac.compare_digest(octets(self._value), octets(other._value))

    def __hash__(self) -> int:
        return hash(self._value)

    def __reduce__(self) -> str:
        raise TypeError("a Password is not pickled or copied: send the reference it came from")


@lru_cache(maxsize=4_096)  # each key is asked for in every layer, and again whenever it is shown
def sounds_secret(key: str) -> bool:
    """Return whether ``key`` looks like the name of a secret; wider than what Spark hides."""
    return _has_one(_IN_NAMES, key) and re.search(_NAMES, key) is not None


def shows_secret(text: str) -> bool:
    """Return whether ``text`` looks as if it contains a plaintext secret."""
    if "=" not in text and ":" not in text and "--" not in text:
        return False
    is_possible = ("/" in text and "@" in text) or _has_one(_IN_TEXTS, text)
    return is_possible and re.search(_TEXTS, text) is not None and re.search(_TEXTS, _unpartitioned(text)) is not None


def _unpartitioned(text: str) -> str:
    """Return ``text`` without the partitions in the addresses of stored files."""
    return re.sub(_STORED, lambda found: re.sub(_PARTITION, "/", found[0]), text)


def begins_as_path(text: str) -> bool:
    """Return whether ``text`` begins as a path does, so that it is not a secret in the place of its path."""
    return text.startswith(_PATHS_BEGIN)


def shown_path(path: str) -> str:
    """Return the path of a file with a secret for a message, unless it could be the secret itself."""
    return printable(path) if begins_as_path(path) else _NO_PATH


def _has_one(parts: Iterable[str], text: str) -> bool:
    folded = text.casefold()
    return any(part in folded for part in parts)


def reveals(key: str, text: str) -> bool:
    """Return whether ``text`` under ``key`` looks like a plaintext secret; wider than what Spark hides."""
    return sounds_secret(key) or shows_secret(text)
