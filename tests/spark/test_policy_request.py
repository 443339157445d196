"""Where a key that a policy denies was set."""

from __future__ import annotations

import pytest

from airflow_config_providers.core.alter import ConfigResource
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.core.policy import Moment, PolicyViolation, RequestMetadata, validate_all
from airflow_config_providers.dynamic.policies import PolicySet
from airflow_config_providers.spark.policy_request import policy_request

TASK = ConfigResource.of_task("flights", "report")
LAYERS = [
    ConfigLayer(
        ConfigSource.STATIC_FILE_CONFIG,
        "base.properties",
        {"spark.executor.memory": "64g", "spark.app.a": "1"},
        {"spark.executor.memory": "base.properties:12"},
    ),
    ConfigLayer(ConfigSource.DAG_CONFIG, "conf", {"spark.app.b": "1"}),
]

POLICIES = {
    "a ready policy": "class: bounds\n  params: {spark.executor.memory: {max: 16g}}",
    "a rule of its own": "class: if_then\n  params: {if: {spark.executor.memory: 64g}, then: {spark.app.x: '1'}}",
    "an expression": "expression: bytes_of(after['spark.executor.memory']) <= bytes_of('16g')\n  message: Too much.",
}


@pytest.fixture
def denial(tmp_path):
    def ask(policy, request):
        (tmp_path / "policies.yaml").write_text(f"policies:\n- name: small\n  {policy}\n")
        with PolicySet.open(str(tmp_path / "policies.yaml")) as policies, pytest.raises(PolicyViolation) as caught:
            validate_all(policies, request)
        return str(caught.value)

    return ask


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_a_denial_of_a_run_says_where_the_key_was_set(denial, policy):
    told = denial(policy, policy_request(TASK, LAYERS, {}))

    assert told.endswith(" 'spark.executor.memory' is set in STATIC_FILE_CONFIG, base.properties:12.")


def test_a_denial_of_a_change_says_nothing_of_it(denial):
    request = RequestMetadata(TASK, {}, {"spark.executor.memory": "64g"}, at=Moment.ALTER)

    assert "is set in" not in denial(POLICIES["a ready policy"], request)


def test_each_key_that_is_named_has_its_place(denial):
    policy = "class: forbidden_keys\n  params: {keys: ['spark.app.*']}"
    told = denial(policy, policy_request(TASK, LAYERS, {}))

    assert "'spark.app.a' is set in STATIC_FILE_CONFIG, base.properties." in told
    assert "'spark.app.b' is set in DAG_CONFIG, conf." in told
