"""Addresses in object storage."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from airflow_config_providers.core.storage_url import StorageUrl


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param("s3://own@bucket/logs/", StorageUrl("s3", "own", "bucket", "/logs/"), id="connection"),
        pytest.param("S3a://Bucket", StorageUrl("s3a", "", "Bucket", ""), id="capitals"),
        pytest.param(" gs://own@bucket", StorageUrl("gs", "own", "bucket", ""), id="space"),
        pytest.param("s3://own@home@bucket/a@b", StorageUrl("s3", "own@home", "bucket", "/a@b"), id="signs"),
        pytest.param("s3://bucket?a@b", StorageUrl("s3", "", "bucket", "?a@b"), id="query"),
        pytest.param("file:///logs", StorageUrl("file", "", "", "/logs"), id="file"),
    ],
)
def test_an_address_has_parts(path: str, expected: StorageUrl) -> None:
    assert StorageUrl.split(path) == expected


@pytest.mark.parametrize("path", ["", "/opt/logs", "s3:/bucket", "://bucket", "a b://c", "//own@host"])
def test_what_has_no_scheme_is_none(path: str) -> None:
    assert StorageUrl.split(path) is None


@pytest.mark.parametrize(
    ("path", "has_colon"),
    [
        ("s3://a:b@c", True),
        ("s3://a:b/c@d", True),
        ("s3://:b@c", True),
        ("s3://a:1#b@c", True),
        ("s3://a#b:c@d", True),
        ("s3://a:1?b/c@d", True),
        ("hdfs://namenode:8020/a:b", False),
        ("s3://own@bucket/a:b@c", False),
    ],
)
def test_a_colon_before_the_bucket_is_found(path: str, has_colon: bool) -> None:
    url = StorageUrl.split(path)

    assert url is not None
    assert url.has_colon is has_colon


@given(before=st.text(st.characters(exclude_characters="/"), max_size=8), secret=st.text("a1:?#@", max_size=8))
@example(before="admin", secret="2024#Secret")
@example(before="k#AKIA", secret="secret")
def test_a_colon_before_a_sign_and_the_first_slash_is_found_whatever_is_around_it(before: str, secret: str) -> None:
    url = StorageUrl.split(f"s3://{before}:{secret}@bucket/logs")

    assert url is not None
    assert url.has_colon
