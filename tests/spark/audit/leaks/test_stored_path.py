"""Paths in object storage."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.spark.audit.leaks.object_store import StoredPath, is_stored, real


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
