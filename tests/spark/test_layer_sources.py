"""Layers from mappings, files and the environment."""

from __future__ import annotations

import pytest

from airflow_config_providers.core.definition.config_def import ConfigDef
from airflow_config_providers.core.definition.config_type import ConfigType
from airflow_config_providers.core.layers import ConfigSource
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.spark.catalogue import spark_definition
from airflow_config_providers.spark.layer_sources import environment_layer, mapping_layer


def test_values_become_text_as_spark_writes_them():
    layer = mapping_layer(ConfigSource.DAG_CONFIG, "conf", {"a": True, "b": 3, "c": 2.5, "d": "x", "e": False})

    assert layer.configs == {"a": "true", "b": "3", "c": "2.5", "d": "x", "e": "false"}


def test_all_values_of_other_types_are_reported_and_none_is_quoted():
    with pytest.raises(ConfigException) as caught:
        mapping_layer(ConfigSource.DAG_CONFIG, "conf", {"a": ["hunter2"], "b": None, 3: "x"})

    assert len(caught.value.problems) == 3
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("configs", ["spark.a=1", ["spark.a"], 7], ids=["text", "list", "number"])
def test_what_is_no_mapping_is_refused(configs):
    with pytest.raises(ConfigException, match="expected a mapping"):
        mapping_layer(ConfigSource.RUN_CONFIG, "run", configs)


def test_the_environment_sets_only_keys_that_are_known():
    environ = {"SPARK_EXECUTOR_MEMORY": "4g", "SPARK_UNKNOWN": "x"}
    layer, doubts = environment_layer(environ, ["spark.executor.memory", "spark.executor.cores"])

    assert layer.configs == {"spark.executor.memory": "4g"}
    assert layer.origin("spark.executor.memory") == "environment variable SPARK_EXECUTOR_MEMORY"
    assert doubts == []


def test_an_empty_variable_is_a_value():
    layer, _ = environment_layer({"SPARK_X": ""}, ["spark.x"])

    assert layer.configs == {"spark.x": ""}


def test_attack_35_the_environment_cannot_define_a_provider():
    names = {"CONFIG_PROVIDERS": "x", "SPARK_CONFIG_PROVIDERS": "x", "SPARK_CONFIG_PROVIDERS_V_PARAM_URL": "x"}
    keys = ["config.providers", "spark.config.providers", "spark.config.providers.v.param.url"]
    layer, _ = environment_layer(names, keys)

    assert layer.configs == {}


def test_attack_35_spellings_that_disagree_are_told():
    layer, doubts = environment_layer({"spark_x": "1", "SPARK_X": "2"}, ["spark.x"])

    assert layer.configs == {"spark.x": "1"}
    assert doubts == ["spark.x is set by spark_x and SPARK_X to different values; spark_x wins."]


PORTS = ConfigDef().define("spark.ui.port", ConfigType.INT, 4040).define("spark.app.name", ConfigType.STRING, None)
LINKS = [
    pytest.param("tcp://10.0.0.1:4040", id="tcp"),
    pytest.param("udp://10.0.0.1:53", id="udp"),
    pytest.param("tcp://[fd00::1]:4040", id="IPv6"),
]


@pytest.mark.parametrize("link", LINKS)
def test_a_service_link_of_kubernetes_that_does_not_fit_is_left_out_and_its_variable_named(link):
    layer, doubts = environment_layer({"SPARK_UI_PORT": link}, ["spark.ui.port"], PORTS)

    assert layer.configs == {}
    assert len(doubts) == 1
    assert "SPARK_UI_PORT" in doubts[0]
    assert "spark.ui.port" in doubts[0]
    assert link not in doubts[0]


@pytest.mark.parametrize(
    ("environ", "configs"),
    [
        pytest.param({"SPARK_UI_PORT": "4041"}, {"spark.ui.port": "4041"}, id="a port"),
        pytest.param({"SPARK_UI_PORT": "many"}, {"spark.ui.port": "many"}, id="neither a port nor a link"),
        pytest.param({"SPARK_UI_PORT": "http://10.0.0.1:4040"}, {"spark.ui.port": "http://10.0.0.1:4040"}, id="a URL"),
        pytest.param({"SPARK_APP_NAME": "tcp://10.0.0.1:1"}, {"spark.app.name": "tcp://10.0.0.1:1"}, id="it fits"),
        pytest.param({"SPARK_CUSTOM": "tcp://10.0.0.1:1"}, {"spark.custom": "tcp://10.0.0.1:1"}, id="not defined"),
        pytest.param(
            {"spark.ui.port": "4041", "SPARK_UI_PORT": "tcp://10.0.0.1:4040"},
            {"spark.ui.port": "4041"},
            id="a better name",
        ),
    ],
)
def test_what_does_not_look_like_a_service_link_or_fits_is_kept(environ, configs):
    layer, _ = environment_layer(environ, ["spark.ui.port", "spark.app.name", "spark.custom"], PORTS)

    assert layer.configs == configs


def test_all_service_links_of_a_service_called_spark_ui_leave_spark_as_it_is():
    host, port = "10.0.0.1", "4040"
    environ = {
        "SPARK_UI_SERVICE_HOST": host,
        "SPARK_UI_SERVICE_PORT": port,
        "SPARK_UI_SERVICE_PORT_HTTP": port,
        "SPARK_UI_PORT": f"tcp://{host}:{port}",
        "SPARK_UI_PORT_4040_TCP": f"tcp://{host}:{port}",
        "SPARK_UI_PORT_4040_TCP_PROTO": "tcp",
        "SPARK_UI_PORT_4040_TCP_PORT": port,
        "SPARK_UI_PORT_4040_TCP_ADDR": host,
    }
    definition = spark_definition()

    layer, doubts = environment_layer(environ, definition.config_keys, definition)

    assert layer.configs == {}
    assert len(doubts) == 1
