"""The stores of objects that the connections of a deployment can read."""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import pytest

pytest.importorskip("airflow")

from airflow.sdk.io import has_fs

from airflow_config_providers.deployment.object_stores import stores_of
from airflow_config_providers.exceptions import ConfigException, ProviderUnavailableError
from airflow_config_providers.spark.audit.leaks.file_listing import FileListing
from airflow_config_providers.spark.audit.leaks.object_clients import FsspecObjects
from airflow_config_providers.spark.audit.leaks.object_store import ObjectStore, mounted
from tests.providers.airflow_process import ScriptedBackend
from tests.providers.conftest import configure_backend, in_task  # noqa: F401 - fixtures

SECRET_KEY = "c4nary-secret-key"


class Answers(dict[str, Any]):
    """Answers of a secrets backend that fails when it is asked for one again."""

    def get(self, key: str, default: Any = None) -> Any:
        return self.pop(key) if key in self else ConnectionError("away")


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Define the connection ``own``."""
    monkeypatch.setenv("AIRFLOW_CONN_OWN", json.dumps({"conn_type": "generic"}))


def test_paths_in_the_file_system_have_no_store() -> None:
    assert stores_of(["/opt/logs", "file:///opt/logs"]) == []


def test_a_store_without_a_connection_is_one_of_fsspec() -> None:
    [store] = stores_of(["memory://bucket/a", "memory://bucket/b"])

    assert store.root == "memory://bucket"
    assert isinstance(store.objects, FsspecObjects)
    assert (store.objects.base, store.objects.filesystem.protocol) == ("/bucket", "memory")


@pytest.mark.parametrize(
    ("path", "way_out"),
    [
        pytest.param("nowhere://bucket", "needs the package that makes it known to fsspec", id="fsspec"),
        pytest.param("nowhere://own@bucket", "Write the path without a connection, or install", id="airflow"),
        pytest.param("wasbs://own@bucket", r"Write abfss:// in its place\.$", id="other-name"),
    ],
)
def test_an_unknown_scheme_is_an_error(own: None, path: str, way_out: str) -> None:
    with pytest.raises(ConfigException, match=rf"^{path}: .*{way_out}"):
        stores_of([f"{path}/logs"])


def test_a_package_that_fsspec_knows_only_once_it_is_installed_is_named() -> None:
    if find_spec("adlfs"):
        pytest.skip("adlfs is installed")

    with pytest.raises(ConfigException, match=r"abfss:// needs the package adlfs\."):
        stores_of(["abfss://bucket/logs"])


@pytest.mark.parametrize(("scheme", "package"), [("gs", "google"), ("abfss", "microsoft-azure")])
def test_the_package_of_airflow_that_a_connection_needs_is_named(own: None, scheme: str, package: str) -> None:
    if has_fs(scheme):
        pytest.skip("it is installed")

    with pytest.raises(ConfigException, match=rf"needs the package apache-airflow-providers-{package}\."):
        stores_of([f"{scheme}://own@bucket/logs"])


def test_the_package_of_airflow_that_s3_needs_is_named(own: None, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("boto3", reason="install the extra moto")
    monkeypatch.setitem(sys.modules, "airflow.providers.amazon.aws.hooks.base_aws", None)

    with pytest.raises(ConfigException, match=r"needs the package apache-airflow-providers-amazon\."):
        stores_of(["s3://own@bucket/logs"])


@pytest.mark.parametrize(("path", "package"), [("gs://bucket/logs", "gcsfs"), ("s3://bucket/logs", "boto3")])
def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, path: str, package: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(ConfigException, match=rf"needs the package {package}\. Install it here and on the executors\."):
        stores_of([path])


def test_a_connection_that_does_not_exist_is_an_error(in_task: Callable[..., Any]) -> None:  # noqa: F811 - a fixture
    in_task()

    with pytest.raises(ConfigException, match=r"^s3://gone@bucket: There is no connection 'gone'"):
        stores_of(["s3://gone@bucket/logs"])


def test_a_backend_that_cannot_answer_now_is_unavailable(
    configure_backend: Callable[..., type[ScriptedBackend]],  # noqa: F811 - a fixture
) -> None:
    """A task that fails with it is tried again."""
    configure_backend({"own": ConnectionError("away")})

    with pytest.raises(ProviderUnavailableError, match=r"^s3://own@bucket: .* Try again later"):
        stores_of(["s3://own@bucket/logs"])


class TestS3:
    @pytest.fixture
    def aws(self) -> Iterator[Any]:
        pytest.importorskip("moto.server", reason="install the extra moto")
        from tests.servers.aws import serve_aws

        with serve_aws() as server:
            client = server.client("s3")
            client.create_bucket(Bucket="bucket", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
            client.put_object(Bucket="bucket", Key="logs/a.log", Body=b"x")
            yield server

    @pytest.fixture
    def store(self, aws: Any, monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
        extra = {"endpoint_url": aws.address, "region_name": "eu-west-1"}
        connection = {"conn_type": "aws", "login": "AKIA0C4NARY", "password": SECRET_KEY, "extra": extra}
        monkeypatch.setenv("AIRFLOW_CONN_AWS_LOGS", json.dumps(connection))
        [found] = stores_of(["s3://aws_logs@bucket/logs"])
        return found

    def test_a_connection_reads_objects(self, store: ObjectStore) -> None:
        with mounted([pickle.loads(pickle.dumps(store))]):
            assert [file.path for file in FileListing.of(["s3://aws_logs@bucket/logs"]).files] == [
                "s3://aws_logs@bucket/logs/a.log"
            ]

    def test_the_store_has_the_credentials_and_shows_none(self, store: ObjectStore) -> None:
        assert SECRET_KEY.encode() in pickle.dumps(store)
        assert SECRET_KEY not in f"{store!r} {store.objects!r}"

    @pytest.mark.parametrize("process", ["", "client", "server"])
    def test_a_backend_that_answers_once_is_asked_once(
        self,
        configure_backend: Callable[..., type[ScriptedBackend]],  # noqa: F811 - a fixture
        monkeypatch: pytest.MonkeyPatch,
        process: str,
    ) -> None:
        """A hook that asked again would take the failure for no connection, and the machine's own credentials."""
        pytest.importorskip("boto3", reason="install the extra moto")
        answers = Answers({"once": f"aws://AKIA0C4NARY:{SECRET_KEY}@"})
        configure_backend(answers)
        if process:
            monkeypatch.setenv("_AIRFLOW_PROCESS_CONTEXT", process)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "machine")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "machine")

        assert SECRET_KEY.encode() in pickle.dumps(stores_of(["s3://once@bucket/logs"]))

    def test_the_machine_reads_with_its_own_credentials(self, aws: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        own = {"ENDPOINT_URL_S3": aws.address, "ACCESS_KEY_ID": "AKIA0C4NARY", "SECRET_ACCESS_KEY": SECRET_KEY}
        for name, value in own.items():
            monkeypatch.setenv(f"AWS_{name}", value)
        stores = stores_of(["s3://bucket"])

        with mounted(stores):
            assert len(FileListing.of(["s3://bucket"]).files) == 1
        assert SECRET_KEY.encode() not in pickle.dumps(stores)

    def test_a_machine_without_credentials_is_named(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
        pytest.importorskip("boto3", reason="install the extra moto")
        for name, value in {"EC2_METADATA_DISABLED": "true", "SHARED_CREDENTIALS_FILE": str(tmp_path / "x")}.items():
            monkeypatch.setenv(f"AWS_{name}", value)
        for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "PROFILE"):
            monkeypatch.delenv(f"AWS_{name}", raising=False)

        with mounted(stores_of(["s3://bucket"])):
            assert FileListing.of(["s3://bucket"]).unread == {
                "s3://bucket": "It cannot be listed: the store refused it (NoCredentialsError)."
            }
