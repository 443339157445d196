"""Files that are no Java properties."""

from __future__ import annotations

import pytest

from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.spark.layers import ConfigFile, file_layer


def layer(folder, name, text, *, is_lenient=False):
    path = folder / name
    path.write_text(text)
    return file_layer(ConfigFile(str(path), str(path), is_lenient=is_lenient))


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        pytest.param("base.yaml", "spark.executor.memory: 4g\n", "YAML", id="a name of YAML"),
        pytest.param("base.YML", "spark.executor.memory: 4g\n", "YAML", id="a short name of YAML"),
        pytest.param("base.json", '{"spark.executor.memory": "4g"}', "JSON", id="a name of JSON"),
        pytest.param("base.conf", "# jobs\n---\nspark.executor.memory: 4g\n", "YAML", id="the start of YAML"),
        pytest.param("base.conf", "spark:\n  executor:\n    memory: 4g\n", "YAML", id="names below names"),
        pytest.param("base.conf", "jars:  # all\r\n\r\n  - a.jar\r\n", "YAML", id="a list"),
        pytest.param("base.conf", '\n{\n  "spark.executor.memory": "4g"\n}\n', "JSON", id="an object of JSON"),
        pytest.param("base.conf", '["spark.executor.memory"]', "JSON", id="a list of JSON"),
    ],
)
def test_a_file_of_another_format_is_refused_with_what_it_looks_like(tmp_path, name, text, kind):
    with pytest.raises(ConfigException) as caught:
        layer(tmp_path, name, text)

    assert f"{name} looks like {kind}, but is read as a Java properties file" in str(caught.value)
    assert "spark.executor.memory=4g" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "configs"),
    [
        pytest.param("spark.executor.memory: 4g\n", {"spark.executor.memory": "4g"}, id="colons"),
        pytest.param("  spark.a.b:\n  spark.c.d: x\n", {"spark.a.b": "", "spark.c.d": "x"}, id="all farther in"),
        pytest.param("spark.a.b:\n  spark.c.d=x\n", {"spark.a.b": "", "spark.c.d": "x"}, id="one farther in"),
        pytest.param("spark.a.b=--- x\n", {"spark.a.b": "--- x"}, id="dashes in a value"),
        pytest.param("spark.a.b={{ ds }}\n", {"spark.a.b": "{{ ds }}"}, id="a template"),
        pytest.param("{spark.a=1\n", {"{spark.a": "1"}, id="a brace that opens no JSON"),
        pytest.param("", {}, id="nothing"),
    ],
)
def test_properties_are_not_taken_for_another_format(tmp_path, text, configs):
    assert layer(tmp_path, "base.properties", text).configs == configs


def test_a_file_that_is_sparks_own_is_read_as_spark_does(tmp_path):
    assert layer(tmp_path, "base.conf", "spark:\n  memory: 4g\n", is_lenient=True).configs == {
        "spark": "",
        "memory": "4g",
    }
