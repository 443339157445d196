"""Properties files of layers: regular, of a bounded size, and where they may be."""

from __future__ import annotations

import os
import socket
import tempfile
from pathlib import Path

import pytest

from airflow_config_providers.core.definition.config_def import ConfigDef
from airflow_config_providers.core.definition.config_type import ConfigType
from airflow_config_providers.core.layers import ConfigSource
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.spark.catalogue import spark_definition
from airflow_config_providers.spark.layer_files import (
    AllowedDirectories,
    ConfigFile,
    environment_layer,
    file_layer,
    mapping_layer,
    read_layer_file,
)

LARGEST = 1024 * 1024


def make(kind, path):
    if kind == "FIFO":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(path))
    elif kind == "link to a FIFO":
        os.mkfifo(path.with_name("fifo"))
        path.symlink_to(path.with_name("fifo"))
    else:
        path.symlink_to(kind)
    return str(path)


@pytest.mark.parametrize("kind", ["FIFO", "directory", "socket", "link to a FIFO"])
def test_attack_57_what_is_no_regular_file_is_not_waited_for(tmp_path, kind):
    with pytest.raises(ConfigException, match="cannot be read: it is not a regular file"):
        read_layer_file(make(kind, tmp_path / "x"), name="x")


@pytest.mark.parametrize(
    "path",
    ["/proc/self/environ", "/proc/self/cmdline", "/sys/kernel/uevent_seqnum"],
)
@pytest.mark.parametrize("is_link", [False, True], ids=["plain", "by a link"])
def test_attack_57_files_of_the_system_are_no_configuration(tmp_path, path, is_link):
    with pytest.raises(ConfigException, match="the operating system generates its content"):
        read_layer_file(make(path, tmp_path / "x") if is_link else path, name="x")


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null"])
def test_attack_57_nor_is_a_device(path):
    with pytest.raises(ConfigException, match="it is not a regular file"):
        read_layer_file(path, name="x")


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="this system has no such file system")
def test_a_file_in_shared_memory_is_one():
    with tempfile.NamedTemporaryFile(dir="/dev/shm", suffix=".properties") as file:
        file.write(b"spark.a=1\n")
        file.flush()

        assert read_layer_file(file.name, name="x") == b"spark.a=1\n"


def test_attack_57_nor_is_a_process_file_system_that_is_mounted_elsewhere(monkeypatch):
    monkeypatch.setattr("airflow_config_providers.spark.layer_files._OF_THE_SYSTEM", (("elsewhere",),))

    with pytest.raises(ConfigException, match="the operating system generates its content"):
        read_layer_file("/proc/self/environ", name="x")


@pytest.mark.parametrize(("size", "fits"), [(LARGEST, True), (LARGEST + 1, False)])
def test_attack_57_a_file_has_at_most_a_mebibyte(tmp_path, size, fits):
    (tmp_path / "x").write_bytes(b"#" * size)

    if fits:
        assert len(read_layer_file(str(tmp_path / "x"), name="x")) == size
    else:
        with pytest.raises(ConfigException, match="it is larger than 1048576 bytes"):
            read_layer_file(str(tmp_path / "x"), name="x")


def test_an_empty_file_is_one(tmp_path):
    (tmp_path / "x").touch()

    assert read_layer_file(str(tmp_path / "x"), name="x") == b""


@pytest.mark.parametrize("path", ["/tmp/\0x", "/tmp/\ud800"], ids=["NUL", "surrogate"])
def test_attack_05_a_name_that_no_file_has_is_told(path):
    with pytest.raises(ConfigException, match="the name is invalid"):
        read_layer_file(path, name=path)


def test_a_file_that_kubernetes_mounts_is_found_behind_its_links(tmp_path):
    (tmp_path / "..2026").mkdir()
    (tmp_path / "..2026" / "base.properties").write_text("spark.a=1\n")
    (tmp_path / "..data").symlink_to("..2026")
    (tmp_path / "base.properties").symlink_to("..data/base.properties")

    bound = AllowedDirectories((str(tmp_path),), "is elsewhere.")
    assert read_layer_file(str(tmp_path / "base.properties"), name="x", bounds=[bound]) == b"spark.a=1\n"


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("{inside}/../outside/a", id="up"),
        pytest.param("{inside}/link", id="link"),
        pytest.param("{inside}/folder/a", id="link to a directory"),
        pytest.param("{outside}/a", id="elsewhere"),
        pytest.param("{outside}/missing", id="elsewhere and missing"),
        pytest.param("{inside}2/a", id="a name that begins alike"),
    ],
)
def test_attack_57_a_file_outside_of_its_bound_is_not_opened(tmp_path, path):
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder in (inside, outside, Path(f"{inside}2")):
        folder.mkdir()
        (folder / "a").write_text("a=1\n")
    (inside / "link").symlink_to(outside / "a")
    (inside / "folder").symlink_to(outside)

    with pytest.raises(ConfigException) as raised:
        read_layer_file(
            path.format(inside=inside, outside=outside),
            name="x",
            bounds=[AllowedDirectories((str(inside),), "is elsewhere.")],
        )
    assert str(raised.value) == "The file 'x' is elsewhere."


def test_a_bound_may_be_reached_by_a_link_itself(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a").write_text("a=1\n")
    (tmp_path / "link").symlink_to("real")

    bounds = [AllowedDirectories((str(tmp_path / "link"),), "is elsewhere.")]
    assert read_layer_file(str(tmp_path / "link" / "a"), name="x", bounds=bounds) == b"a=1\n"


def file_of(tmp_path, content: bytes, **kwargs):
    path = tmp_path / "base.properties"
    path.write_bytes(content)
    return ConfigFile("base.properties", str(path), **kwargs)


def test_each_key_of_a_file_has_its_line_as_origin(tmp_path):
    layer = file_layer(file_of(tmp_path, b"# a comment\nspark.a = 1\n\nspark.b = x \\\n  y\nspark.c 3\n"))

    assert layer.configs == {"spark.a": "1", "spark.b": "x y", "spark.c": "3"}
    assert layer.origins == {
        "spark.a": "base.properties:2",
        "spark.b": "base.properties:4",
        "spark.c": "base.properties:6",
    }


def test_attack_36_a_key_that_a_file_sets_twice_is_an_error_with_both_lines(tmp_path):
    with pytest.raises(ConfigException, match=r"'spark.a' is set in lines 1, 3"):
        file_layer(file_of(tmp_path, b"spark.a=1\nspark.b=1\nspark.a=2\n"))


def test_in_a_file_that_is_not_ours_to_correct_the_last_one_counts(tmp_path):
    layer = file_layer(file_of(tmp_path, b"spark.a=1\nspark.a=2\n", is_lenient=True))

    assert layer.configs == {"spark.a": "2"}
    assert layer.origin("spark.a") == "base.properties:2"


@pytest.mark.parametrize("text", ["NO", "yes", "0123", "1e5", "null", "!!python/object:x", "[1, 2]", "${a", "&a *a"])
def test_attack_36_a_text_stays_the_text_it_is(tmp_path, text):
    assert file_layer(file_of(tmp_path, f"spark.a={text}".encode())).configs == {"spark.a": text}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param(b"spark.a=1\nspark.b=\\u12G4\n", "base.properties:2", id="malformed"),
        pytest.param(b"spark.a=\xff", "byte 8 is not UTF-8", id="not-utf-8"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_the_place(tmp_path, content, problem):
    with pytest.raises(ConfigException, match=problem):
        file_layer(file_of(tmp_path, content))


def test_a_missing_file_is_named_as_the_author_named_it(tmp_path):
    with pytest.raises(ConfigException, match=r"'\$\{p:file\}' cannot be read: No such file") as caught:
        file_layer(ConfigFile("${p:file}", str(tmp_path / "resolved-secret-path")))
    assert "resolved-secret-path" not in str(caught.value)


def layer(folder, name, text, *, is_lenient=False):
    path = folder / name
    path.write_text(text)
    return file_layer(ConfigFile(str(path), str(path), is_lenient=is_lenient))


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
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


@pytest.mark.parametrize("name", ["base.yaml", "base.YML"])
def test_a_file_is_yaml_if_its_name_says_so(tmp_path, name):
    found = layer(tmp_path, name, "# all jobs\nspark:\n  executor:\n    memory: 4g\n")

    assert found.configs == {"spark.executor.memory": "4g"}
    assert found.origin("spark.executor.memory") == f"{tmp_path / name}:4"


def test_a_key_that_two_maps_of_a_yaml_file_set_is_an_error_with_both_lines(tmp_path):
    with pytest.raises(ConfigException, match=r"'spark.a' is set in lines 1, 3\. Keep one"):
        layer(tmp_path, "base.yaml", "spark.a: 1\nspark:\n  a: 2\n")


def test_a_yaml_file_has_at_most_a_mebibyte(tmp_path):
    with pytest.raises(ConfigException, match=r"The YAML file '.*base.yaml' cannot be read: it is larger than"):
        layer(tmp_path, "base.yaml", "#" * (LARGEST + 1))


def test_the_path_says_what_a_file_is_that_is_named_by_a_reference(tmp_path):
    (tmp_path / "base.yaml").write_text("spark.a: 1\n")

    assert file_layer(ConfigFile("${env:FILE}", str(tmp_path / "base.yaml"))).configs == {"spark.a": "1"}


def test_a_yaml_file_cannot_leave_its_bound(tmp_path):
    (tmp_path / "base.yaml").write_text("spark.a: 1\n")

    with pytest.raises(ConfigException, match="is elsewhere"):
        file_layer(
            ConfigFile(
                "x", str(tmp_path / "base.yaml"), bounds=(AllowedDirectories((str(tmp_path / "a"),), "is elsewhere."),)
            )
        )


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
