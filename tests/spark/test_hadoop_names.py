"""The other names of Hadoop's keys."""

from __future__ import annotations

import pytest

from airflow_config_providers.spark.hadoop_names import other_names


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        pytest.param("fs.default.name", {"fs.defaultFS"}, id="replaced"),
        pytest.param("fs.defaultFS", {"fs.default.name"}, id="replaces"),
        pytest.param("t.x", set(), id="unknown"),
        pytest.param("fs.s3a.encryption.key", {"fs.s3a.server-side-encryption.key"}, id="of a jar that PySpark lacks"),
    ],
)
def test_a_value_is_set_under_these_names_too(key: str, expected: set[str]) -> None:
    assert other_names(key) == expected
