"""The folder of records, with the credentials of the connection that its path names."""

from __future__ import annotations

from functools import cache
from typing import Any, Final
from urllib.parse import urlsplit

from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException

_AMAZON: Final = ("apache-airflow-providers-amazon", "s3fs")
_GOOGLE: Final = ("apache-airflow-providers-google", "gcsfs")
_AZURE: Final = ("apache-airflow-providers-microsoft-azure", "adlfs")
PACKAGES: Final = {
    **dict.fromkeys(("s3", "s3a", "s3n"), _AMAZON),
    **dict.fromkeys(("gs", "gcs"), _GOOGLE),
    **dict.fromkeys(("abfs", "abfss"), _AZURE),
}
"""For each scheme, the package with which Airflow's connections open it, and the one that reads it."""

_COLON: Final = (
    "[config_providers] records_path has a colon before the bucket, as if a password followed. Write "
    "SCHEME://CONNECTION_ID@BUCKET/PATH."
)


def folder_of(path: str) -> Any:
    """
    Return the ``ObjectStoragePath`` of the folder of records.

    :param path: the ``records_path`` of the deployment
    :raises ConfigException: it names a connection that does not exist, it has a password, or a package that it needs
        is missing
    """
    if ":" in connection_of(path):  # and nothing of the path, which has a secret
        raise ConfigException(_COLON)
    try:
        return _with_connection(path) if connection_of(path) else _without_connection(path)
    except ImportError as error:
        missing = str(error.name or "that opens it")
    raise ConfigException(_needs(path, missing))


def connection_of(path: str) -> str:
    """Return the id of the connection that a path names; empty if it names none."""
    return urlsplit(path).netloc.rpartition("@")[0]


@cache  # Airflow keeps the store of a connection for as long as a process lives, too
def _with_connection(path: str) -> Any:
    from airflow.sdk import ObjectStoragePath  # noqa: PLC0415 - slow to import, and few need it
    from airflow.sdk.io import attach, get_fs, has_fs  # noqa: PLC0415 - as above

    from airflow_config_providers.job.hook_connection import handed_to_hooks  # noqa: PLC0415 - executors lack it

    scheme, conn_id = urlsplit(path).scheme, connection_of(path)
    if scheme in PACKAGES and not has_fs(scheme):
        raise ImportError(name=PACKAGES[scheme][0])
    with handed_to_hooks(conn_id):
        opened = get_fs(scheme, conn_id)
    attach(scheme, conn_id).fs = opened  # code of a DAG can have attached a store that has the machine's credentials
    return ObjectStoragePath(path)


def _without_connection(path: str) -> Any:
    from airflow.sdk import ObjectStoragePath  # noqa: PLC0415 - as above
    from fsspec.core import get_filesystem_class  # noqa: PLC0415 - as above

    scheme = urlsplit(path).scheme
    if scheme in PACKAGES:
        try:
            get_filesystem_class(scheme)
        except ValueError:  # fsspec knows some schemes only once their package is installed
            raise ImportError(name=PACKAGES[scheme][1]) from None
    return ObjectStoragePath(path)


def _needs(path: str, missing: str) -> str:
    """Return the message for a missing package. Both are named if a connection needs both."""
    scheme = urlsplit(path).scheme
    airflow, package = PACKAGES.get(scheme, ("", missing))
    packages = f"packages {airflow} and {package}" if airflow and connection_of(path) else f"package {package}"
    return (
        f"Install the {packages} on workers, and wherever records are read: [config_providers] records_path begins "
        f"with {printable(scheme)}://."
    )
