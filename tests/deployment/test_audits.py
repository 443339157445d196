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
