"""Addresses in object storage as Airflow writes them, such as ``s3://connection@bucket/logs``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Self

S3: Final = ("s3", "s3a", "s3n")
GOOGLE: Final = ("gs", "gcs")
AZURE: Final = ("abfs", "abfss")

HAS_COLON: Final = "has a colon before the bucket, as if a password followed. Write SCHEME://CONNECTION_ID@BUCKET/PATH."
"""The problem of an address that could hold a password; the message must show nothing else of it."""

_URL: Final = re.compile(
    r"\s*(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<place>[^/?#]*)(?P<key>.*)", re.DOTALL | re.IGNORECASE | re.ASCII
)
_HOST: Final = re.compile(r"[^:@]*(:[0-9]{1,5})?")


@dataclass(frozen=True, slots=True)
class StorageUrl:
    """
    The parts of an address.

    :param scheme: in lower case
    :param connection: the id of Airflow's connection with the credentials; empty if each machine has its own
    :param host: the bucket or container, or the server and its port
    :param key: the rest
    """

    scheme: str
    connection: str
    host: str
    key: str

    @classmethod
    def split(cls, path: str) -> Self | None:
        """Return the parts of ``path``, which are not checked; None if it has no scheme."""
        match = _URL.fullmatch(path)
        if match is None:
            return None
        connection, _, host = match["place"].rpartition("@")
        return cls(match["scheme"].lower(), connection, host, match["key"])

    @property
    def has_colon(self) -> bool:
        """
        Whether there is a colon before the bucket, as if a password followed.

        Such a password can have a ``?`` or ``#``, with which the key begins then. So all up to the first slash is
        searched.
        """
        before, _, host = f"{self.connection}@{self.host}{self.key}".partition("/")[0].rpartition("@")
        return ":" in before or _HOST.fullmatch(host) is None
