"""The folder of records in object storage."""

from __future__ import annotations

import sys
from importlib.util import find_spec

import pytest

pytest.importorskip("airflow")

from airflow.sdk import BaseHook, ObjectStoragePath
from airflow.sdk.exceptions import AirflowNotFoundException
from airflow.sdk.io import attach, has_fs
from airflow.sdk.io.fs import _register_filesystems
from fsspec.implementations.memory import MemoryFileSystem

from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.job.records.files import folder_of


@pytest.mark.parametrize(
    ("path", "package"),
    [
        pytest.param("s3://bucket/records", "s3fs", id="s3"),
        pytest.param("gs://bucket/records", "gcsfs", id="gs"),
        pytest.param("abfss://container/records", "adlfs", id="abfss"),
    ],
)
def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, path: str, package: str) -> None:
    forget(monkeypatch, package)

    with pytest.raises(ConfigException, match=rf"^Install the package {package} on workers, and wherever records"):
        folder_of(path)


@pytest.mark.parametrize(("scheme", "airflow"), [("gs", "google"), ("abfss", "microsoft-azure")])
def test_a_connection_without_its_package_of_airflow_is_an_error(scheme: str, airflow: str) -> None:
    if has_fs(scheme):
        pytest.skip("it is installed")

    with pytest.raises(ConfigException, match=rf"^Install the packages apache-airflow-providers-{airflow} and "):
        folder_of(f"{scheme}://own@bucket/records")


def test_a_connection_for_a_scheme_that_airflow_opens_with_none_is_an_error() -> None:
    with pytest.raises(ConfigException, match=r"lets Airflow open ftp:// with one\. Install one that does, or write"):
        folder_of("ftp://own@host/records")


def test_a_connection_without_the_package_that_reads_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("airflow.providers.amazon")
    forget(monkeypatch, "s3fs")
    monkeypatch.setenv("AIRFLOW_CONN_OWN", "aws://")

    with pytest.raises(ConfigException, match=r"^Install the packages apache-airflow-providers-amazon and s3fs on"):
        folder_of("s3://own@bucket/records")


@pytest.mark.parametrize(
    "path",
    [
        "s3://user:c4nary@bucket/records",
        "s3://user:c4n/ary@bucket",
        "S3://:c4nary@bucket",
        "s3://user:2024#c4nary@bucket/records",
        "s3://own?user:c4nary@bucket/records",
    ],
)
def test_credentials_in_a_path_are_refused_and_not_shown(path: str) -> None:
    with pytest.raises(ConfigException, match=r"^\S+ records_path has a colon before the bucket") as caught:
        folder_of(path)

    assert "c4n" not in str(caught.value)


@pytest.mark.parametrize(
    "path",
    [
        "s3:/c4nary/records",
        " S3:c4nary",
        "s3a:c4nary",
        "s3n:c4nary",
        "gs:c4nary",
        "gcs:c4nary",
        "abfs:c4nary",
        "abfss:c4nary",
        "c4nary:secret@bucket",
        "s3:///c4nary",
    ],
)
def test_a_scheme_without_a_bucket_is_refused_and_not_shown(path: str) -> None:
    with pytest.raises(ConfigException, match=r"has a scheme, but no bucket .* Write SCHEME://") as caught:
        folder_of(path)

    assert "c4n" not in str(caught.value)


@pytest.mark.parametrize("path", ["/logs/a:b", "logs/a:b", "file:/logs/a:b", "file:///logs/a:b"])
def test_a_local_path_can_have_a_colon(path: str) -> None:
    assert folder_of(path).path.endswith("logs/a:b")


@pytest.mark.parametrize("path", ["s3n://bucket/records", "S3N://own@bucket/records"])
def test_a_scheme_of_s3_that_airflow_does_not_know_is_refused(path: str) -> None:
    with pytest.raises(ConfigException, match=r"begins with s3n://, which .* does not know\. Write s3://\.$"):
        folder_of(path)


@pytest.mark.skipif(find_spec("ossfs") is not None, reason="the package of oss:// is installed")
def test_the_package_of_a_rare_scheme_is_named() -> None:
    with pytest.raises(ConfigException, match="Install the package that opens it"):
        folder_of("oss://bucket/records")


def test_a_scheme_that_airflow_does_not_know_is_refused() -> None:
    with pytest.raises(ConfigException, match=r"begins with nowhere://, which .* Write another, such as s3://, gs://"):
        folder_of("nowhere://bucket/records")


class Signed(MemoryFileSystem):
    """A file system that opens with a connection, or with the credentials of the machine, as S3's does."""

    cachable = False
    login: str | None = None


def signed(conn_id: str | None) -> Signed:
    opened = Signed()
    try:
        opened.login = BaseHook.get_connection(str(conn_id)).login
    except AirflowNotFoundException:
        opened.login = "the machine"
    return opened


def test_a_store_that_was_attached_without_the_connection_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A DAG can have opened it while a secrets backend could not answer."""
    monkeypatch.setitem(_register_filesystems(), "memory", signed)
    assert attach("memory", "late").fs.login == "the machine"
    monkeypatch.setenv("AIRFLOW_CONN_LATE", "aws://found:x@")

    folder = folder_of("memory://late@bucket/records")

    assert ((folder / "a.json").fs.login, folder.fs.login) == ("found", "found")


def test_a_store_that_a_dag_attached_itself_stays_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """It can have options that its connection has not."""
    monkeypatch.setitem(_register_filesystems(), "memory", signed)
    monkeypatch.setenv("AIRFLOW_CONN_KEPT", "aws://found:x@")
    attach("memory", "kept", fs=Signed()).fs.login = "of the DAG"
    before = ObjectStoragePath("memory://kept@bucket/data")

    folder = folder_of("memory://kept@bucket/records")

    paths = (before, ObjectStoragePath("memory://kept@bucket/data"), folder)
    assert [path.fs.login for path in paths] == ["of the DAG", "of the DAG", "found"]


def test_all_that_is_done_below_the_folder_is_done_in_its_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(_register_filesystems(), "memory", signed)
    monkeypatch.setenv("AIRFLOW_CONN_WHOLE", "aws://found:x@")
    file = folder_of("memory://whole@bucket/whole") / "day=1" / "a.jsonl"

    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"content")

    [found] = folder_of("memory://whole@bucket/whole").glob("day=*/*.jsonl")
    [listed] = file.parent.iterdir()
    assert (found.read_bytes(), found.fs.login, listed.fs.login) == (b"content", "found", "found")


@pytest.mark.parametrize("path", ["MEMORY://own@bucket/records", " memory://own@bucket/records"])
def test_however_a_path_is_written_its_connection_is_used(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_OWN", "aws://found:x@")
    monkeypatch.setitem(_register_filesystems(), "memory", signed)

    folder = folder_of(path)

    assert (folder.fs.login, folder.path) == ("found", "/bucket/records")


def test_a_file_system_that_takes_no_connection_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_OWN", "aws://")
    monkeypatch.setitem(_register_filesystems(), "memory", lambda _: Signed())

    with pytest.raises(ConfigException, match="did not take its connection 'own'"):
        folder_of("memory://own@bucket/unused")


def test_the_package_that_a_rare_scheme_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(_: str | None) -> Signed:
        raise ModuleNotFoundError(name="rarefs")

    monkeypatch.setenv("AIRFLOW_CONN_OWN", "aws://")
    monkeypatch.setitem(_register_filesystems(), "memory", lacking)

    with pytest.raises(ConfigException, match="Install the package rarefs on workers"):
        folder_of("memory://own@bucket/lacking")


def forget(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    """Make importing a package fail, also for fsspec, which keeps the file systems that it has imported."""
    from fsspec.registry import _registry

    monkeypatch.setitem(sys.modules, package, None)
    for scheme in [name for name, kind in _registry.items() if kind.__module__.startswith(package)]:
        monkeypatch.delitem(_registry, scheme)
