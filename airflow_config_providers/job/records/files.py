"""Records of tries in files, which outlive Airflow's database and are read by audits."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import quote

from airflow_config_providers.core.errors import guarded
from airflow_config_providers.core.named_file import whole_file
from airflow_config_providers.core.storage_url import AZURE, GOOGLE, HAS_COLON, S3, StorageUrl
from airflow_config_providers.core.text import octets
from airflow_config_providers.exceptions import ConfigException, ConfigProvidersError, ProviderUnavailableError
from airflow_config_providers.job.records.record import LARGEST, TaskTry, TryRecord, parsed, written
from airflow_config_providers.providers.real_path import open_real, real_path, steps

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


_LONGEST_NAME: Final = 160
"""The most characters of a name in a path: file systems allow 255 bytes for the whole name of a file."""

_KEPT: Final = 100
"""How many characters of a longer name are kept, before a plus, which no quoted name has, and a hash of the whole."""

_NO_TASK: Final = TaskTry("", "", "")
"""The task of a record of which only the content matters."""

_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True)
class RecordFiles:
    """
    The files of records below a folder, with one line of JSON each.

    :param path: the ``records_path`` of the deployment
    """

    path: str

    def write(self, record: TryRecord) -> None:
        """
        Write a record, in place of an earlier one of the same try. Readers never see a part of it.

        :raises ConfigException: the path names a connection that does not exist, or a package is missing
        """
        target = self._root() / f"day={record.at[:10]}" / place_of(record.task)
        target.parent.mkdir(parents=True, exist_ok=True)
        content = written(record) + b"\n"
        if not _is_local(target):  # a store of objects shows an object only when it is whole
            target.write_bytes(content)
            return
        with whole_file(Path(target.path)) as file:
            file.write(content)

    def read(self, task: TaskTry) -> TryRecord | None:
        """
        Return the record of a try; None if there is none.

        :raises ProviderUnavailableError: the files cannot be read now
        """
        name = place_of(task).rpartition("/")[2]
        return TryRecord.read(parsed(self._reading(lambda: self._last(task, name))), task)

    def tries(self, task: TaskTry) -> list[int]:
        """
        Return the numbers of the tries of a task instance that have a record, the last one first.

        :raises ProviderUnavailableError: the files cannot be read now
        """
        found = self._reading(lambda: [str(path.name) for path in self._files(task)])
        numbers = (name.removesuffix(".jsonl").removeprefix(_beginning(task)) for name in found)
        return sorted({int(number) for number in numbers if number.isascii() and number.isdigit()}, reverse=True)

    def references(self) -> Iterator[str]:
        """
        Yield the references of all records, several times if several records have them.

        :raises ProviderUnavailableError: the files cannot be read
        """
        for path in self._reading(lambda: list(self._root().glob("day=*/dag=*/task=*/*.jsonl"))):
            content = self._reading(partial(self._content, path))
            if (record := TryRecord.read(parsed(content), _NO_TASK)) is not None:
                yield from record.references

    def _last(self, task: TaskTry, name: str) -> bytes:
        """Return the content of the last file of this name among those of a task; empty if there is none."""
        return next((self._content(path) for path in self._files(task) if path.name == name), b"")

    def _files(self, task: TaskTry) -> Iterator[Any]:
        """Yield the files of a task, those of the last day first. A pattern would list those of all tasks."""
        days = [path for path in _inside(self._root()) if path.name.startswith("day=")]
        for day in sorted(days, key=str, reverse=True):
            yield from _inside(day / _below(task))

    def _content(self, path: Any) -> bytes:
        """Return the content of a file; empty if it is too large to be a record, or no file below the folder."""
        if _is_local(path):
            return _local_content(path.path, self._root().path)
        return bytes(path.read_bytes()) if path.stat().st_size <= LARGEST else b""

    def _root(self) -> Any:
        return folder_of(self.path)

    def _reading(self, read: Callable[[], _Found]) -> _Found:
        what = "The records in [config_providers] records_path cannot be read"
        way_out = "Correct the path or its connection, or try again later."
        try:
            return guarded(read, lambda: what, ProviderUnavailableError, way_out=way_out)
        except ProviderUnavailableError:
            raise
        except ConfigProvidersError as error:  # of a secrets backend that has the connection of the path
            problems = [f"{what}: {problem}" for problem in error.problems]
        raise ProviderUnavailableError(*problems)


def place_of(task: TaskTry) -> str:
    """Return the path of the file of a try, below the folder of its day."""
    return f"{_below(task)}/{_beginning(task)}{task.try_number}.jsonl"


def _inside(folder: Any) -> list[Any]:
    """Return what is in a folder; nothing if there is none. Whether it exists is not asked: that hides other errors."""
    try:
        return list(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def _is_local(path: Any) -> bool:
    return path.protocol in {"", "file", "local"}


def _local_content(path: str, root: str) -> bytes:
    """Return the content of a regular file below ``root``: a task can put a pipe, a device or a link there."""
    top = steps(os.path.realpath(root))
    real = real_path(steps(os.path.relpath(path, root)), [top], below=top)
    if real is None:
        return b""
    with open_real(real, is_kind=stat.S_ISREG) as descriptor:
        if descriptor is None or os.fstat(descriptor).st_size > LARGEST:
            return b""
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(LARGEST)


def _below(task: TaskTry) -> str:
    return f"dag={_safe(task.dag_id)}/task={_safe(task.task_id)}"


def _beginning(task: TaskTry) -> str:
    """Return the name of the file without the number of the try and the extension."""
    region = f"region={_safe(task.region)}," if task.region else ""
    return f"run={_safe(task.run_id)},map={task.map_index},{region}try="


def _safe(name: str) -> str:
    """Return ``name`` without characters that mean something in a path or a pattern."""
    quoted = quote(octets(name), safe="")
    if len(quoted) <= _LONGEST_NAME:
        return quoted
    return f"{quoted[:_KEPT]}+{sha256(octets(name)).hexdigest()[:32]}"
