"""The folder of records, with the credentials of the connection that its path names."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import Any, Final

from airflow_config_providers.core.storage_url import AZURE, GOOGLE, HAS_COLON, S3, StorageUrl
from airflow_config_providers.exceptions import ConfigException

_AMAZON: Final = ("apache-airflow-providers-amazon", "s3fs")
_GOOGLE: Final = ("apache-airflow-providers-google", "gcsfs")
_AZURE: Final = ("apache-airflow-providers-microsoft-azure", "adlfs")
PACKAGES: Final = {
    **dict.fromkeys(S3, _AMAZON),
    **dict.fromkeys(GOOGLE, _GOOGLE),
    **dict.fromkeys(AZURE, _AZURE),
}
"""For each scheme, the package with which Airflow's connections open it, and the one that reads it."""

_NO_BUCKET: Final = (
    "[config_providers] records_path has a scheme, but no bucket after ://. Write SCHEME://CONNECTION_ID@BUCKET/PATH, "
    "or the absolute path of a folder."
)
"""Nothing of the path is shown: what is before its colon can be a user, and what is after it a password."""

_STORE: Final = "the records of {}"
"""
The name of our store in Airflow, which has one for each connection: a DAG can have attached its own, with other options
or with the credentials of the machine. No connection has blanks in its id.
"""


def folder_of(path: str) -> Any:
    """
    Return the ``ObjectStoragePath`` of the folder of records.

    :param path: the ``records_path`` of the deployment
    :raises ConfigException: it names a connection that does not exist, or no bucket, it has a password, Airflow does
        not know its scheme or does not open it with a connection, or a package that it needs is missing
    """
    url = StorageUrl.split(path)
    if url is None:
        return _without_scheme(path)
    if url.has_colon:  # and nothing of the path is shown, which has a secret
        raise ConfigException(f"[config_providers] records_path {HAS_COLON}")
    _require_known(url.scheme)
    if url.scheme in PACKAGES and not url.host:
        raise ConfigException(_NO_BUCKET)
    try:
        return _with_connection(url) if url.connection else _without_connection(url)
    except ImportError as error:
        missing = str(error.name or "that opens it")
    raise ConfigException(_needs(url, missing))


def _without_scheme(path: str) -> Any:
    if path.lstrip().partition(":")[0].lower() not in PACKAGES:  # Airflow would take s3:bucket for s3://s3:bucket
        with suppress(ValueError):  # for a scheme that Airflow does not know
            return _opened(path)
    raise ConfigException(_NO_BUCKET)


def _require_known(scheme: str) -> None:
    try:
        with suppress(ImportError):  # Airflow knows it, and the package that it needs is named later
            _opened(f"{scheme}://any")
    except ValueError:
        other = "s3://" if scheme in S3 else "another, such as s3://, gs:// or abfss://"
    else:
        return
    raise ConfigException(
        f"[config_providers] records_path begins with {scheme}://, which Airflow's ObjectStoragePath does not know. "
        f"Write {other}."
    )


@cache  # Airflow keeps a store for as long as a process lives, too
def _with_connection(url: StorageUrl) -> Any:
    from airflow.sdk.io import attach, get_fs, has_fs  # noqa: PLC0415 - slow to import, and few need it

    from airflow_config_providers.job.hook_connection import handed_to_hooks  # noqa: PLC0415 - executors lack it

    if not has_fs(url.scheme):
        raise _without_package(url.scheme)
    with handed_to_hooks(url.connection):
        opened = get_fs(url.scheme, url.connection)
    store = _STORE.format(url.connection)
    attach(url.scheme, store).fs = opened
    return _opened(_address(url), store)


def _without_package(scheme: str) -> Exception:
    """Return the error that no package with which Airflow's connections open a scheme is installed."""
    if scheme in PACKAGES:
        return ImportError(name=PACKAGES[scheme][0])
    return ConfigException(
        f"[config_providers] records_path names a connection, but no package that is installed here lets Airflow open "
        f"{scheme}:// with one. Install one that does, or write the path without a connection."
    )


def _without_connection(url: StorageUrl) -> Any:
    if url.scheme in PACKAGES and not is_known_to_fsspec(url.scheme):
        raise ImportError(name=PACKAGES[url.scheme][1])
    return _opened(_address(url))


def is_known_to_fsspec(scheme: str) -> bool:
    """
    Return whether fsspec has a file system for a scheme; it knows some only once their package is installed.

    :raises ImportError: it has, but the package is missing
    """
    from fsspec.core import get_filesystem_class  # noqa: PLC0415 - as above

    try:
        get_filesystem_class(scheme)
    except ValueError:
        return False
    return True


def _opened(path: str, conn_id: str | None = None) -> Any:
    from airflow.sdk import ObjectStoragePath  # noqa: PLC0415 - as above

    return ObjectStoragePath(path, conn_id=conn_id)


def _address(url: StorageUrl) -> str:
    return f"{url.scheme}://{url.host}{url.key}"


def _needs(url: StorageUrl, missing: str) -> str:
    """Return the message for a missing package. Both are named if a connection needs both."""
    airflow, package = PACKAGES.get(url.scheme, ("", missing))
    packages = f"packages {airflow} and {package}" if airflow and url.connection else f"package {package}"
    return (
        f"Install the {packages} on workers, and wherever records are read: [config_providers] records_path begins "
        f"with {url.scheme}://."
    )
