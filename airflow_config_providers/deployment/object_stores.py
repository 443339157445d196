"""The stores of objects that paths are in, with the credentials of Airflow's connections."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from typing import Any, Final

from airflow_config_providers.core.storage_url import S3
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException, ConfigProvidersError
from airflow_config_providers.job.hook_connection import handed_to_hooks
from airflow_config_providers.job.records.files import PACKAGES, is_known_to_fsspec
from airflow_config_providers.spark.audit.leaks.object_clients import FsspecObjects, S3Objects
from airflow_config_providers.spark.audit.leaks.object_store import Objects, ObjectStore, StoredPath, is_stored

_PACKAGES: Final = {**PACKAGES, **dict.fromkeys(S3, (PACKAGES["s3"][0], "boto3"))}
"""As ``PACKAGES``; but audits read S3 with boto3."""
_OTHER_NAMES: Final = {"az": "abfs", "wasb": "abfs", "wasbs": "abfss"}
"""What the provider packages of Airflow call a scheme."""


class _UnknownSchemeError(Exception):
    """No package that is installed has a scheme. Its message says which one would."""


def stores_of(paths: Iterable[str]) -> list[ObjectStore]:
    """
    Return the stores that ``paths`` are in; none for paths in the file system.

    Without a connection in its path, each machine reads a store with credentials of its own.

    :raises ConfigException: a path is wrong, its connection cannot be used, or a package is missing
    :raises ConfigProvidersError: its connection cannot be read; as ``handed_to_hooks`` raises
    """
    parsed = [StoredPath.parse(path) for path in paths if is_stored(path)]
    return [ObjectStore(root, _objects(one)) for root, one in {one.root: one for one in parsed}.items()]


def _objects(path: StoredPath) -> Objects:
    """
    Return the objects in the store of ``path``, in a form that can be sent to executors.

    :raises ConfigException: its connection cannot be used, or a package is missing
    :raises ConfigProvidersError: its connection cannot be read; as ``handed_to_hooks`` raises
    """
    kind: type[ConfigProvidersError] = ConfigException
    try:
        with handed_to_hooks(path.connection) if path.connection else nullcontext():
            found = _of_s3(path) if path.scheme in S3 else _of_fsspec(path)
        pickle.dumps(found)
    except ImportError as error:
        problem = _missing(path.scheme, error)
    except _UnknownSchemeError as error:
        problem = str(error)
    except ConfigProvidersError as error:
        kind, problem = type(error), " ".join(error.problems)  # what can answer later is tried again
    except Exception as error:  # noqa: BLE001 - clients raise what they like, with credentials in it
        problem = f"it cannot be opened ({type(error).__name__}). Correct the path or its connection."
    else:
        return found
    raise kind(f"{printable(path.root)}: {problem}")


def _of_s3(path: StoredPath) -> Objects:
    import boto3  # noqa: F401, PLC0415 - listing objects needs it, and an error here names it

    return S3Objects(path.host, _of_connection(path.connection) if path.connection else {})


def _of_connection(conn_id: str) -> Mapping[str, Any]:
    """Return the options of a client of S3, with the credentials that a connection has now."""
    from airflow.providers.amazon.aws.hooks.base_aws import AwsGenericHook  # noqa: PLC0415 - few need it

    hook: Any = AwsGenericHook(aws_conn_id=conn_id, client_type="s3")
    session = hook.get_session()
    keys = session.get_credentials()
    options = {
        "region_name": session.region_name,
        "endpoint_url": hook.conn_config.get_service_endpoint_url("s3"),
        "verify": hook.verify,
        "config": hook.config,
    }
    if keys is not None:
        now = keys.get_frozen_credentials()
        options |= {
            "aws_access_key_id": now.access_key,
            "aws_secret_access_key": now.secret_key,
            "aws_session_token": now.token,
        }
    return options


def _of_fsspec(path: StoredPath) -> Objects:
    from fsspec.core import strip_protocol, url_to_fs  # noqa: PLC0415 - as above

    url = f"{path.scheme}://{path.host}/"
    if not path.connection:
        if not is_known_to_fsspec(path.scheme):
            raise _UnknownSchemeError(_unknown_to_fsspec(path.scheme))
        return FsspecObjects(*url_to_fs(url))
    from airflow.sdk.io import get_fs, has_fs  # noqa: PLC0415 - as above

    if not has_fs(path.scheme):
        raise _UnknownSchemeError(_unknown_to_airflow(path.scheme))
    return FsspecObjects(get_fs(path.scheme, path.connection), strip_protocol(url))


def _unknown_to_fsspec(scheme: str) -> str:
    if scheme in _OTHER_NAMES:
        return f"fsspec has no {scheme}://. Write {_OTHER_NAMES[scheme]}:// in its place."
    package = _PACKAGES[scheme][1] if scheme in _PACKAGES else "that makes it known to fsspec"
    return f"{scheme}:// needs the package {package}. Install it here and on the executors, or correct the path."


def _unknown_to_airflow(scheme: str) -> str:
    if scheme in _OTHER_NAMES:
        return f"no connection of Airflow opens {scheme}://. Write {_OTHER_NAMES[scheme]}:// in its place."
    if scheme not in _PACKAGES:
        return (
            f"no provider package of Airflow that is installed opens {scheme}://. Write the path without a connection, "
            "or install one that does."
        )
    airflow, package = _PACKAGES[scheme]
    return f"a connection for {scheme}:// needs the package {airflow}. Install it here, and {package} on the executors."


def _missing(scheme: str, error: ImportError) -> str:
    from fsspec.registry import known_implementations  # noqa: PLC0415 - as above

    if (error.name or "").startswith("airflow.providers"):
        return _unknown_to_airflow(scheme)
    known = "" if scheme in S3 else str(known_implementations.get(scheme, {}).get("class", ""))
    package = known.partition(".")[0] or error.name or "for it"
    return f"{scheme}:// needs the package {package}. Install it here and on the executors."
