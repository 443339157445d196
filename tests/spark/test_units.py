from __future__ import annotations

import pytest

from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.spark.units import SIZE, TIME


@pytest.mark.parametrize("text", ["0", "512", "1b", "4g", "4G", "4gb", "4GiB", "-1", "1p", None])
def test_a_size(text: str | None) -> None:
    SIZE.ensure_valid("spark.k", text)


@pytest.mark.parametrize("text", ["", "g", "1.5g", "4 g", "4gigs", "10s", "+1g", "\uff11g", "9223372036854775808"])
def test_no_size(text: str) -> None:
    with pytest.raises(ConfigException, match=r"spark\.k: .* such as 512m$"):
        SIZE.ensure_valid("spark.k", text)


@pytest.mark.parametrize("text", ["0", "10", "10us", "10MS", "10s", "10m", "10min", "1h", "1d", "-1s", None])
def test_a_time(text: str | None) -> None:
    TIME.ensure_valid("spark.k", text)


@pytest.mark.parametrize("text", ["", "s", "1.5s", "10 s", "10sec", "4g", "1w"])
def test_no_time(text: str) -> None:
    with pytest.raises(ConfigException, match=r"spark\.k: .* such as 10s$"):
        TIME.ensure_valid("spark.k", text)


def test_attack_21_the_message_does_not_quote_the_value() -> None:
    with pytest.raises(ConfigException) as error:
        TIME.ensure_valid("spark.k", "hunter2")

    assert "hunter2" not in str(error.value)
