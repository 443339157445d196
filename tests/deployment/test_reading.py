"""What a deployment would refuse, as far as it is known."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_config_providers.core.alter import ConfigResource
from airflow_config_providers.deployment.reading import Reading, refusals
from airflow_config_providers.exceptions import (
    ConfigException,
    ConfigProvidersError,
    ForbiddenError,
    PolicyViolation,
    ProviderUnavailableError,
)

TASK = ConfigResource.of_task("flights", "report")


def refused(error: ConfigProvidersError | None) -> list[str]:
    def alter(resource: ConfigResource, operations: Any, *, validate_only: bool) -> None:
        assert validate_only
        if error:
            raise error

    return list(refusals(alter, TASK, "spark.a", "1"))


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        pytest.param(None, [], id="allowed"),
        pytest.param(PolicyViolation("a policy"), ["a policy"], id="policy"),
        pytest.param(ConfigException("a", "b"), ["a", "b"], id="wrong"),
        pytest.param(ForbiddenError("no permission"), [], id="unknown-without-the-permission"),
    ],
)
def test_the_reasons_are_those_of_a_change_that_is_only_checked(error, expected):
    assert refused(error) == expected


def test_an_outage_is_no_refusal():
    with pytest.raises(ProviderUnavailableError):
        refused(ProviderUnavailableError("later"))


def test_the_variable_of_a_key_is_named_in_each_spelling():
    assert Reading(environ={"SPARK_UI_PORT": "1"}).variable("spark.ui.port") == "SPARK_UI_PORT"
    assert Reading().variable("spark.ui.port") is None
