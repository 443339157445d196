"""Subscriptions are supported by whatever provider comes with the package."""

from __future__ import annotations

import pytest

from airflow_config_providers import providers
from airflow_config_providers.core.polled_provider import PolledConfigProvider
from airflow_config_providers.providers import EnvVarConfigProvider


@pytest.mark.parametrize("name", providers.__all__)
def test_every_provider_supports_subscriptions(name: str) -> None:
    kind = getattr(providers, name)

    assert issubclass(kind, PolledConfigProvider | EnvVarConfigProvider)
    assert kind is EnvVarConfigProvider or kind.params is None or "poll.interval" in kind.params
