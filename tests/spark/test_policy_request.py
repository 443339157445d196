"""Where a key that a policy denies was set."""

from __future__ import annotations

import pytest

from airflow_config_providers.core.alter import ConfigResource
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.core.policy import Moment, PolicyViolation, RequestMetadata, validate_all
from airflow_config_providers.core.sensitive import HIDDEN
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


def seen(key, text, **of_layer):
    layer = ConfigLayer(ConfigSource.RUN_CONFIG, "run", {key: text}, **of_layer)
    return policy_request(TASK, [layer], {}).configs_after[key]


@pytest.mark.parametrize(
    ("key", "text", "expected"),
    [
        pytest.param("spark.app.x", "token=hunter2", HIDDEN, id="a secret"),
        pytest.param("spark.app.password", "hunter2", HIDDEN, id="a sensitive name"),
        pytest.param("spark.app.password", "hunter2${x}", HIDDEN, id="what nobody replaces"),
        pytest.param("spark.app.password", "{{secrets/scope/key}}", HIDDEN, id="a secret of Databricks"),
        pytest.param("spark.app.x", "${v:a:b} token=hunter2", f"${{v:a:b}}{HIDDEN}", id="before it"),
        pytest.param("spark.app.x", "//u:hunter2@h/${v:a:b}", f"{HIDDEN}${{v:a:b}}", id="behind it"),
        pytest.param("spark.hadoop.x", "${env.A} token=hunter2", f"${{env.A}}{HIDDEN}", id="Hadoop's name"),
        pytest.param("spark.hadoop.x.secret", "${env.A-hunter2}", f"${{env.A-{HIDDEN}}}", id="Hadoop's default"),
        pytest.param("spark.hadoop.x", "${a${b}} token=hunter2", f"${{a${{b}}}}{HIDDEN}", id="put together"),
        pytest.param(
            "spark.driver.extraJavaOptions", "-Xmx64g -Dtoken=1 ${v:a:b}", "-Xmx64g -Dtoken=1 ${v:a:b}", id="of Spark"
        ),
        pytest.param("spark.ssl.keyPassword", "hunter2", HIDDEN, id="of Spark, and sensitive"),
    ],
)
def test_a_secret_hides_nothing_beside_it_from_policies(key, text, expected):
    assert seen(key, text) == expected


RULES = "class: allowed_references\n  params: {allow: [{providers: v, paths: apps/sales}]}"


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("spark.app.x", "${v:apps/hr:salary} token=x"),
        ("spark.app.x", "jdbc:x://user:password@host/${v:apps/hr:salary}"),
        ("spark.hadoop.x", "${env.AWS_SECRET_ACCESS_KEY} token=x"),
        ("spark.hadoop.x.password", "${env.AWS_SECRET_ACCESS_KEY}"),
        ("spark.hadoop.x", "${a${b}} token=x"),
    ],
)
def test_a_secret_beside_a_reference_does_not_get_it_past_a_policy(denial, key, text):
    layers = [ConfigLayer(ConfigSource.RUN_CONFIG, "run", {key: text})]

    assert f"'{key}' may not " in denial(RULES, policy_request(TASK, layers, {}))


def test_a_secret_beside_a_reference_is_still_a_secret_for_a_policy(denial):
    layers = [ConfigLayer(ConfigSource.RUN_CONFIG, "run", {"spark.app.x": "${v:apps/db:user} token=x"})]

    assert "'spark.app.x' may contain only references." in denial(
        "class: references_only", policy_request(TASK, layers, {})
    )
