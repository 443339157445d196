"""Objects in S3, asked by its protocol."""

from __future__ import annotations

import pickle
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import Thread
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest

pytest.importorskip("moto.server", reason="install the extra moto")

from botocore.config import Config

from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.spark.audit.leaks.file_listing import FileListing, FoundFile, splits_of
from airflow_config_providers.spark.audit.leaks.leak import Found, FoundLeak
from airflow_config_providers.spark.audit.leaks.leak_finder import KnownSecret
from airflow_config_providers.spark.audit.leaks.object_clients import S3Objects
from airflow_config_providers.spark.audit.leaks.object_store import FAR_BLOCK, ObjectStore, mounted
from airflow_config_providers.spark.audit.leaks.open_file import ContentError
from airflow_config_providers.spark.audit.leaks.sought import Sought
from tests.servers.aws import serve_aws
from tests.spark.audit.leaks.searching import search

VALUE = "c4nary-Pa$$w0rd/of+the=audit"
FINDER = Sought([KnownSecret(ConfigVariable("vault", "apps/db", "password"), VALUE)]).finder()
ROOT = "s3://aws_logs@bucket"
SECRET_KEY = "c4nary-secret-key"
REFUSED = "<Error><Code>{code}</Code><Message>The key is c4nary</Message></Error>"


def objects_at(address: str, bucket: str = "bucket", **options: Any) -> S3Objects:
    keys = {"aws_access_key_id": "AKIA0C4NARY", "aws_secret_access_key": SECRET_KEY, "region_name": "eu-west-1"}
    return S3Objects(bucket, {**keys, "endpoint_url": address, **options})


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serve_aws() as server:
        server.client("s3").create_bucket(
            Bucket="bucket", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"}
        )
        yield server.address


@pytest.fixture
def s3(address: str) -> Iterator[Any]:
    import boto3

    client = boto3.resource("s3", endpoint_url=address, aws_access_key_id="x", aws_secret_access_key="x")
    with mounted([ObjectStore(ROOT, objects_at(address))]):
        yield client.Bucket("bucket")
    client.Bucket("bucket").objects.delete()


class _Silent(WSGIRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


def refusing(status: str, code: str) -> AbstractContextManager[str]:
    """Yield the address of a store that answers each request with an error."""

    def answer(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        start(status, [("Content-Type", "application/xml")])
        return [REFUSED.format(code=code).encode()]

    return serving(answer)


@contextmanager
def serving(answer: Callable[..., Iterable[bytes]]) -> Iterator[str]:
    """Yield the address of a server that answers so."""
    with make_server("127.0.0.1", 0, answer, handler_class=_Silent) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def searched(file: FoundFile) -> list[Found[FoundLeak]]:
    return [search(split, FINDER) for split in splits_of(file)]


def listed(path: str) -> list[str]:
    return [file.path.removeprefix(f"{ROOT}/") for file in FileListing.of([path]).files]


def test_objects_below_a_path_are_listed(s3: Any) -> None:
    for key in ("logs/dag_id=x/a.log", "logs/b.log", "logs-old/c.log", "other/logs/d.log", "logs/empty/", "logs//e"):
        s3.put_object(Key=key, Body=b"" if key.endswith("/") else b"x")

    assert listed(f"{ROOT}/logs/") == ["logs//e", "logs/b.log", "logs/dag_id=x/a.log"]


def test_one_object_can_be_named(s3: Any) -> None:
    s3.put_object(Key="logs/a.log", Body=b"x")
    s3.put_object(Key="logs/a.log.1", Body=b"x")

    assert listed(f"{ROOT}/logs/a.log") == ["logs/a.log"]


def test_all_pages_of_a_listing_are_read(s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOTO_S3_DEFAULT_MAX_KEYS", "2")
    for number in range(5):
        s3.put_object(Key=f"many/{number}", Body=b"x")

    assert listed(f"{ROOT}/many") == [f"many/{number}" for number in range(5)]


def test_objects_have_times_and_etags(s3: Any) -> None:
    s3.put_object(Key="a.log", Body=b"x")

    [file] = FileListing.of([ROOT]).files

    assert file.modified > 0
    assert len(file.etag) == 32


def test_objects_are_read_in_ranges(s3: Any) -> None:
    places = [0, FAR_BLOCK - 5, 2 * FAR_BLOCK - 1]
    content = bytearray(3 * FAR_BLOCK)
    for place in places:
        content[place : place + len(VALUE)] = VALUE.encode()
    s3.put_object(Key="large.log", Body=bytes(content))

    [file] = FileListing.of([ROOT]).files
    [result] = searched(file)

    assert [leak.occurrence.start for leak in result.leaks] == places
    assert result.problem == ""


def test_an_object_that_vanished_is_named(s3: Any) -> None:
    assert [one.problem for one in searched(FoundFile(f"{ROOT}/gone", 1, 0))] == [
        "It cannot be read: No such file or directory."
    ]


@pytest.mark.parametrize("size", [0, 3])
def test_an_object_that_became_shorter_is_named(s3: Any, size: int) -> None:
    s3.put_object(Key="a.log", Body=bytes(size))

    results = searched(FoundFile(f"{ROOT}/a.log", 10, 0))

    assert [one.problem for one in results] == ["It became shorter while it was read."]


@pytest.mark.parametrize("path", [f"{ROOT}/missing", "s3://other"], ids=["key", "bucket"])
def test_what_does_not_exist_is_named(s3: Any, address: str, path: str) -> None:
    with mounted([ObjectStore(ROOT, objects_at(address)), ObjectStore("s3://other", objects_at(address, "other"))]):
        assert FileListing.of([path]).unread == {path: "It cannot be listed: No such file or directory."}


def test_a_store_that_refuses_is_named_by_its_code() -> None:
    with refusing("403 Forbidden", "InvalidAccessKeyId") as address, mounted([ObjectStore(ROOT, objects_at(address))]):
        listing = FileListing.of([ROOT])
        [result] = searched(FoundFile(f"{ROOT}/a.log", 1, 0))

    assert listing.unread == {ROOT: "It cannot be listed: the store refused it (InvalidAccessKeyId)."}
    assert result.problem == "It cannot be read: the store refused it (InvalidAccessKeyId)."


def test_what_a_store_calls_an_error_is_shown_only_if_it_is_a_code() -> None:
    with refusing("403 Forbidden", "c4nary=x&\x1b[31m") as address, mounted([ObjectStore(ROOT, objects_at(address))]):
        assert "c4nary" not in str(FileListing.of([ROOT]).unread)


def breaking_off(times: int) -> AbstractContextManager[str]:
    """Yield the address of a store whose answers end too early some times."""
    parts = [b"012"] * times + [b"0123456789"]

    def answer(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        start("200 OK", [("Content-Length", "10")])
        return [parts.pop(0)]

    return serving(answer)


def test_an_answer_that_breaks_off_is_asked_for_once_more() -> None:
    with breaking_off(1) as address:
        assert ObjectStore(ROOT, objects_at(address)).read("a.log", 0, 10) == b"0123456789"


def test_an_answer_that_breaks_off_again_is_named() -> None:
    with breaking_off(2) as address, pytest.raises(ContentError, match=r"^It cannot be read: \w+Error\.$"):
        ObjectStore(ROOT, objects_at(address)).read("a.log", 0, 10)


def test_a_store_that_is_overloaded_is_not_asked_for_ever() -> None:
    once = Config(retries={"total_max_attempts": 1})
    with (
        refusing("503 Slow Down", "SlowDown") as address,
        mounted([ObjectStore(ROOT, objects_at(address, config=once))]),
    ):
        problems = [searched(FoundFile(f"{ROOT}/{number}", 1, 0))[0].problem for number in range(7)]

    assert problems[0] == "It cannot be read: the store refused it (SlowDown)."
    assert problems[-1].startswith("Its store was not asked again after several failures: ")


def test_a_store_that_is_away_is_named_without_its_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
    with mounted([ObjectStore(ROOT, objects_at(address))]):
        assert FileListing.of([ROOT]).unread == {ROOT: "It cannot be listed: EndpointConnectionError."}


def test_credentials_are_sent_and_not_shown() -> None:
    store = ObjectStore(ROOT, objects_at("http://127.0.0.1:1"))

    assert SECRET_KEY.encode() in pickle.dumps(store)
    assert "4NARY" not in f"{store!r} {store.objects!r}".upper()
