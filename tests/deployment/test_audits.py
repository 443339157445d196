"""What audits of records refuse before they start Spark."""

from __future__ import annotations

import pytest

pytest.importorskip("airflow")

from airflow_config_providers.deployment.audits import require_no_connection
from airflow_config_providers.exceptions import ConfigException


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("", id="database"),
        pytest.param("/opt/records", id="folder"),
        pytest.param("//[x/me@home", id="odd-folder"),
        pytest.param("s3a://bucket/records", id="bucket"),
        pytest.param("abfss://container@account.dfs.core.windows.net/records", id="container-of-azure"),
    ],
)
def test_a_path_that_spark_can_read_is_taken(path: str) -> None:
    require_no_connection(path)


def test_a_connection_to_azure_is_refused() -> None:
    with pytest.raises(ConfigException, match="--records abfss://CONTAINER@ACCOUNT"):
        require_no_connection("abfss://own@container/records")


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        pytest.param("s3://own@bucket/r?X-Amz-Signature=c4nary", "s3a://bucket/PATH", id="signed-link"),
        pytest.param("s3://own@bucket?X-Amz-Signature=c4nary", "s3a://bucket/PATH", id="signed-bucket"),
        pytest.param("gs://own@bucket/token=c4nary", "gs://bucket/PATH", id="token"),
        pytest.param("s3a://AKIA:c4nary@bucket/records", "s3a://bucket/PATH", id="password"),
        pytest.param("s3a://own@AKIA:c4nary#x@bucket/records", "s3a://BUCKET/PATH", id="hash-in-password"),
        pytest.param("s3a://own@c4nary#x@bucket/records", "s3a://BUCKET/PATH", id="hash-in-name"),
        pytest.param("S3://own@bucket/records", "s3a://bucket/PATH", id="capitals"),
    ],
)
def test_a_connection_is_refused_without_what_can_be_a_secret(path: str, shown: str) -> None:
    with pytest.raises(ConfigException, match=f"--records {shown},") as raised:
        require_no_connection(path)

    assert "c4nary" not in str(raised.value)
