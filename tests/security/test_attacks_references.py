"""Row 8: a reference says what is wanted, and never where or how to ask for it."""

from __future__ import annotations

import pytest

from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.core.registry import ProviderRegistry
from airflow_config_providers.core.resolver import ConfigResolver
from airflow_config_providers.exceptions import ConfigProvidersError


@pytest.fixture
def outside(tmp_path):
    """A secret that the provider may not read."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "key").write_text("c4nary")
    return folder


@pytest.mark.parametrize(
    "reference",
    [
        pytest.param("${dir:{}?allowed.paths=/:key}", id="a-parameter-in-the-path"),
        pytest.param("${dir?allowed.paths=/:{}:key}", id="a-parameter-in-the-provider"),
        pytest.param("${dir:{}:key?allowed.paths=/}", id="a-parameter-in-the-key"),
        pytest.param("${dir:file//{}:key}", id="a-scheme"),
        pytest.param("${dir:http//127.0.0.1/{}:key}", id="an-address"),
        pytest.param("${dir.param.allowed.paths=/:{}:key}", id="a-definition-as-provider"),
    ],
)
def test_attack_08_a_reference_cannot_carry_a_parameter_of_its_provider(tmp_path, outside, reference):
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    definition = {
        "config.providers": "dir",
        "config.providers.dir.class": "directory",
        "config.providers.dir.param.allowed.paths": str(allowed),
    }
    layer = ConfigLayer(ConfigSource.DAG_CONFIG, "conf", {"spark.x": reference.replace("{}", str(outside))})

    with ProviderRegistry(deployment=True).open(definition) as providers, pytest.raises(ConfigProvidersError) as caught:
        ConfigResolver(providers).resolve([layer])
    assert "c4nary" not in str(caught.value)
