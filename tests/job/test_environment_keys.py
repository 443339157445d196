"""The keys that policies see of environment variables."""

from __future__ import annotations

import pytest

from airflow_config_providers.core.alter import ConfigResource
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource, LayeredConfig
from airflow_config_providers.job.authored_job import AuthoredJob
from airflow_config_providers.job.policies import with_environment
from airflow_config_providers.spark.policy_request import policy_request

TASK = ConfigResource.of_task("flights", "report")


def layer(source, **configs):
    return ConfigLayer(source, source.name, {key.replace("_", "."): text for key, text in configs.items()})


DYNAMIC = layer(ConfigSource.DYNAMIC_DAG_CONFIG, spark_executor_memory="1g")
FILE = layer(ConfigSource.STATIC_FILE_CONFIG, spark_executor_memory="1g")


@pytest.mark.parametrize(
    ("variable", "keys"),
    [
        pytest.param("SPARK_EXECUTOR_MEMORY", ["spark.executor.memory"], id="executor memory"),
        pytest.param("SPARK_DRIVER_MEMORY", ["spark.driver.memory"], id="driver memory"),
        pytest.param("SPARK_EXECUTOR_CORES", ["spark.executor.cores"], id="cores"),
        pytest.param("SPARK_MEM", ["spark.driver.memory", "spark.executor.memory"], id="both memories"),
        pytest.param("SPARK_LOCAL_DIRS", ["spark.local.dir"], id="directories"),
        pytest.param("TOKEN", [], id="any other"),
    ],
)
def test_a_variable_that_spark_reads_is_a_key(variable, keys):
    after = policy_request(TASK, with_environment([], {variable: "64"}, ()), {}).configs_after

    assert after == dict.fromkeys(keys, "64")


@pytest.mark.parametrize("other", [FILE, DYNAMIC], ids=["file", "dynamic"])
def test_a_layer_overrides_a_variable_that_spark_reads(other):
    layers = with_environment([other], {"SPARK_EXECUTOR_MEMORY": "64g"}, ())

    assert LayeredConfig(layers).settled == {"spark.executor.memory": "1g"}


def test_the_variable_for_one_memory_overrides_that_for_both():
    layers = with_environment([], {"SPARK_EXECUTOR_MEMORY": "1g", "SPARK_MEM": "64g"}, ())

    assert LayeredConfig(layers).settled == {"spark.executor.memory": "1g", "spark.driver.memory": "64g"}


def test_a_variable_that_is_a_key_overrides_every_layer():
    key = "spark.kubernetes.driverEnv.A"
    secret = ConfigLayer(ConfigSource.RUN_CONFIG, "run", {key: "run"}, secrets={key: lambda: "x"})
    request = policy_request(TASK, with_environment([secret], {"A": "dag"}, ["spark.kubernetes.driverEnv."]), {})

    assert request.configs_after == request.configs_before == {key: "dag"}
    assert request.origins == {key: "DAG_CONFIG, env_vars['A']"}


def test_if_it_is_not_known_where_the_job_runs_both_names_are_seen():
    layers = with_environment([], {"A": "1"})

    assert LayeredConfig(layers).settled == {"spark.kubernetes.driverEnv.A": "1", "spark.yarn.appMasterEnv.A": "1"}


def test_the_variables_are_stored_with_the_dag_without_plain_text_secrets():
    job = AuthoredJob(environment={"DB_PASSWORD": "plain", "TOKEN": "${vault:a:b}", "SPARK_DRIVER_MEMORY": "3g"})

    assert AuthoredJob.read(job.text()).environment == {
        "DB_PASSWORD": "[hidden]",
        "TOKEN": "${vault:a:b}",
        "SPARK_DRIVER_MEMORY": "3g",
    }
