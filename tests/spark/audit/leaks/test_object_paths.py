"""Paths in object storage, and what a store answered, as the errors of libraries have it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.spark.audit.leaks.object_store import (
    RefusedError,
    StoredPath,
    is_stored,
    real,
    refusal_in,
)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param("s3://aws_logs@bucket/logs/", StoredPath("s3", "aws_logs", "bucket", "logs"), id="connection"),
        pytest.param("S3://bucket/Logs", StoredPath("s3", "", "bucket", "Logs"), id="capitals"),
        pytest.param("gs://bucket", StoredPath("gs", "", "bucket", ""), id="bucket"),
        pytest.param("hdfs://namenode:8020/logs", StoredPath("hdfs", "", "namenode:8020", "logs"), id="port"),
        pytest.param("s3://b/of\nlines#1", StoredPath("s3", "", "b", "of\nlines#1"), id="any-character"),
    ],
)
def test_a_path_has_a_connection_a_bucket_and_a_key(path: str, expected: StoredPath) -> None:
    assert StoredPath.parse(path) == expected


@pytest.mark.parametrize("path", ["/opt/logs", "logs", "s3:/bucket", "file:///opt/logs", "local:///opt", "a b://c"])
def test_other_paths_are_in_the_file_system(path: str) -> None:
    assert not is_stored(path)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("s3://AKIA0C4NARY:c4nary@bucket/logs", id="password"),
        pytest.param("s3://AKIA0C4NARY:c4/nary@bucket/logs", id="slash"),
        pytest.param("s3://:c4nary@bucket/logs", id="no-user"),
        pytest.param("s3://admin:2024#c4nary@bucket/logs", id="hash"),
        pytest.param("s3://own#AKIA0C4NARY:c4nary@bucket/logs", id="hash-before-colon"),
        pytest.param("s3://own#c4nary@bucket/logs", id="hash-without-colon"),
        pytest.param("s3://admin:2024?c4nary@bucket/logs", id="question-mark"),
        pytest.param("abfss://logs@c4nary.dfs.core.windows.net/x", id="azure-account"),
        pytest.param("https://host/logs?sig=c4nary", id="signature"),
        pytest.param("s3://", id="no-bucket"),
        pytest.param("s3://../c4nary", id="parent"),
    ],
)
def test_a_path_that_could_hold_credentials_is_refused_and_not_shown(path: str) -> None:
    with pytest.raises(ConfigException, match=r"CONNECTION_ID@") as raised:
        real(path)

    assert "c4" not in str(raised.value)
    assert "AKIA" not in str(raised.value)


def test_a_path_of_a_file_in_a_url_is_one_in_the_file_system(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "logs")

    assert real(f"file://{tmp_path}/link") == str(tmp_path.resolve() / "logs")


def test_a_path_with_a_nul_character_is_refused() -> None:
    with pytest.raises(ConfigException, match="A path has a NUL character"):
        real("logs\0")


class LibraryError(Exception):
    """An error with the attributes that a library gives it."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__("https://key:c4nary@host")
        self.__dict__.update(attributes)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        pytest.param(LibraryError(status_code=409, error_code="BlobArchived"), "BlobArchived", id="azure"),
        pytest.param(LibraryError(code=401), "401", id="gcsfs"),
        pytest.param(LibraryError(code="400"), "400", id="gcsfs-text"),
        pytest.param(OSError("Forbidden: bucket/key\nno access"), "403", id="gcsfs-denied"),
        pytest.param(ValueError("Bad Request: bucket/key\nis invalid"), "400", id="gcsfs-invalid"),
        pytest.param(LibraryError(status=403), "403", id="aiohttp"),
        pytest.param(LibraryError(response=LibraryError(status_code=404)), "404", id="requests"),
        pytest.param(RefusedError("AccessDenied"), "AccessDenied", id="boto3"),
    ],
)
def test_an_answer_is_known_by_the_status_that_its_error_carries(error: Exception, code: str) -> None:
    found = refusal_in(error)

    assert found is not None
    assert (found.code, found.is_away) == (code, False)


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_a_store_that_would_refuse_any_request_now_is_away(status: int) -> None:
    found = refusal_in(LibraryError(status_code=status))

    assert found is not None
    assert found.is_away


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(ConnectionError("Forbidden: bucket"), id="connection"),
        pytest.param(LibraryError(code=None, status_code=None, response=None), id="empty"),
        pytest.param(LibraryError(code=lambda: 403), id="method"),
        pytest.param(LibraryError(code=7, status="PERMISSION_DENIED"), id="no-status"),
    ],
)
def test_an_error_without_a_status_is_no_answer(error: Exception) -> None:
    assert refusal_in(error) is None


def _of_words(kind: Any) -> Exception:
    return kind("c4nary")


@pytest.mark.parametrize(
    ("module", "name", "make"),
    [
        pytest.param("azure.core.exceptions", "ClientAuthenticationError", _of_words, id="azure"),
        pytest.param("azure.identity", "CredentialUnavailableError", _of_words, id="azure-identity"),
        pytest.param("botocore.exceptions", "NoCredentialsError", lambda kind: kind(), id="boto3"),
        pytest.param(
            "botocore.exceptions",
            "TokenRetrievalError",
            lambda kind: kind(provider="c4nary", error_msg="c4nary"),
            id="boto3-sso",
        ),
        pytest.param("google.auth.exceptions", "DefaultCredentialsError", _of_words, id="gcsfs"),
        pytest.param("google.auth.exceptions", "RefreshError", _of_words, id="gcsfs-refresh"),
    ],
)
def test_a_login_that_failed_is_an_answer_which_holds_for_any_request(
    module: str, name: str, make: Callable[[Any], Exception]
) -> None:
    found = refusal_in(make(getattr(pytest.importorskip(module), name)))

    assert found is not None
    assert (found.code, found.is_away) == (name, True)


def test_a_login_that_can_be_tried_again_is_no_answer() -> None:
    errors = pytest.importorskip("google.auth.exceptions")

    assert refusal_in(errors.RefreshError("c4nary", retryable=True)) is None


def test_what_is_no_code_is_not_shown() -> None:
    found = refusal_in(LibraryError(status_code=403, error_code="c4nary=x&\x1b[31m"))

    assert found is not None
    assert str(found) == "403"
