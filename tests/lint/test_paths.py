"""Which files are read, and as what."""

from __future__ import annotations

import json
import os
from contextlib import nullcontext
from pathlib import Path

import pytest

from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.lint.paths import LintedPaths, has_policies

pytest.importorskip("airflow")

DAG = "from airflow.sdk import DAG\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "dags" / "old").mkdir(parents=True)
    (tmp_path / "dags" / "flights.py").write_text(DAG)
    (tmp_path / "dags" / "helper.py").write_text("x = 1\n")
    (tmp_path / "dags" / "old" / "old.py").write_text(DAG)
    (tmp_path / "dags" / ".airflowignore").write_text("old\n")
    for name in ("base.properties", "spark.conf", "policies.yaml", "README.md"):
        (tmp_path / "dags" / name).write_text("\n spark.a=1\n")
    (tmp_path / "dags" / "log4j.properties").write_text("rootLogger.level=info\n# spark.a=1\n")
    return tmp_path


def test_a_folder_has_the_dag_files_that_airflow_finds_and_layer_files(folder: Path):
    found = LintedPaths.of([str(folder / "dags")])

    assert found.dags == (str(folder / "dags" / "flights.py"),)
    assert found.layers == (str(folder / "dags" / "base.properties"),)
    assert found.policies == ()
    assert found.roots[0] == str((folder / "dags").resolve())


def test_a_file_is_read_as_its_name_says(folder: Path):
    dags = folder / "dags"

    found = LintedPaths.of([str(dags / name) for name in ("helper.py", "spark.conf", "policies.yaml", "helper.py")])

    assert found.dags == (str(dags / "helper.py"),)
    assert found.layers == (str(dags / "spark.conf"),)
    assert found.policies == (str(dags / "policies.yaml"),)


def test_a_link_that_leads_upwards_is_an_error_that_names_the_folder(folder: Path):
    (folder / "dags" / "loop").symlink_to(folder / "dags")

    with pytest.raises(ConfigException, match=r"dags'.*a link in it leads to a folder above"):
        LintedPaths.of([str(folder / "dags")])


@pytest.mark.parametrize("patterns", [b"!\n", b"caf\xe9\n"], ids=["invalid", "not-utf-8"])
def test_patterns_to_ignore_that_cannot_be_read_are_an_error_that_names_the_folder(folder: Path, patterns: bytes):
    (folder / "dags" / ".airflowignore").write_bytes(patterns)

    with pytest.raises(
        ConfigException, match=r"dags'.*an \.airflowignore in it is not UTF-8 or has an invalid pattern"
    ):
        LintedPaths.of([str(folder / "dags")])


def test_a_path_that_is_too_long_is_named_like_one_that_does_not_exist():
    with pytest.raises(ConfigException, match="There is no file"):
        LintedPaths.of([f"{'a' * 5000}.py"])


def test_all_wrong_paths_are_named(folder: Path):
    with pytest.raises(ConfigException) as caught:
        LintedPaths.of([str(folder / "nope.py"), str(folder / "dags" / "README.md")])

    assert len(caught.value.problems) == 2
    assert "There is no file" in caught.value.problems[0]
    assert "none of the files that can be checked" in caught.value.problems[1]


def test_without_paths_the_files_of_the_deployment_are_read(folder: Path, monkeypatch: pytest.MonkeyPatch):
    dags = folder / "dags"
    monkeypatch.setenv("AIRFLOW__CORE__DAGS_FOLDER", str(dags))
    monkeypatch.setenv(
        "AIRFLOW__CONFIG_PROVIDERS__CONFIG_FILES", f"{dags}/base.properties,/etc/${{env:STAGE}}.properties"
    )
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__POLICIES_FILE", str(dags / "policies.yaml"))

    found = LintedPaths.of_deployment()

    assert found.dags == (str(dags / "flights.py"),)
    assert found.layers == (f"{dags}/base.properties",)
    assert found.policies == (f"{dags}/policies.yaml",)


def test_a_dags_folder_that_does_not_exist_is_refused_with_its_setting(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AIRFLOW__CORE__DAGS_FOLDER", str(folder / "nowhere"))

    with pytest.raises(ConfigException, match=r"no folder '.*/nowhere'\. Correct \[core\] dags_folder"):
        LintedPaths.of_deployment()


LOCAL = "airflow.dag_processing.bundles.local.LocalDagBundle"
GIT = "airflow.providers.git.bundles.git.GitDagBundle"


@pytest.mark.parametrize(
    ("classpath", "path", "is_elsewhere"),
    [
        pytest.param(LOCAL, None, False, id="the folder by default"),
        pytest.param(LOCAL, "dags", False, id="the folder"),
        pytest.param(LOCAL, "team_b", True, id="another folder"),
        pytest.param(GIT, None, True, id="a repository"),
    ],
)
def test_a_deployment_with_bundles_elsewhere_is_not_taken_for_its_dags_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch, classpath: str, path: str | None, is_elsewhere: bool
):
    kwargs = {"path": str(folder / path)} if path else {}
    bundles = [
        {"name": "ours", "classpath": LOCAL, "kwargs": {}},
        {"name": "b", "classpath": classpath, "kwargs": kwargs},
    ]
    (folder / "dags").mkdir(exist_ok=True)
    monkeypatch.setenv("AIRFLOW__CORE__DAGS_FOLDER", str(folder / "dags"))
    monkeypatch.setenv("AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST", json.dumps(bundles))

    with pytest.raises(ConfigException, match=r"in b\. Name the folders") if is_elsewhere else nullcontext():
        LintedPaths.of_deployment()


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        pytest.param("spark.a: 1\n", "layers", id="key"),
        pytest.param("# all jobs\nspark:\n  a: 1\n", "layers", id="map"),
        pytest.param("'spark.a': 1\n", "layers", id="quoted"),
        pytest.param("spark.a: [\n", "layers", id="malformed"),
        pytest.param("policies:\n- name: a\n  params:\n    keys: |\n      spark.a\n", "policies", id="policies"),
        pytest.param("spark.a: 1\npolicies: []\n", "policies", id="both"),
        pytest.param("polices: []\n", "policies", id="neither"),
        pytest.param("kind: SparkApplication\nspec:\n  sparkConf:\n    spark.a: x\n", "policies", id="manifest"),
        pytest.param("", "policies", id="empty"),
    ],
)
def test_a_yaml_file_is_a_layer_if_it_sets_a_key_of_spark(tmp_path: Path, text: str, kind: str):
    (tmp_path / "a.yml").write_text(text)

    found = LintedPaths.of([str(tmp_path / "a.yml")])

    assert getattr(found, kind) == (str(tmp_path / "a.yml"),)
    assert len(found.layers) + len(found.policies) == 1


def test_other_yaml_files_can_be_left_out(tmp_path: Path):
    """A hook gets all files of a commit, also those of Kubernetes and CI."""
    texts = {"layer": "spark.a: 1\n", "policies": "policies: []\n", "manifest": "kind: Pod\n"}
    for name, text in texts.items():
        (tmp_path / f"{name}.yaml").write_text(text)

    found = LintedPaths.of([str(tmp_path / f"{name}.yaml") for name in texts], skips_other_yaml=True)

    assert found.layers == (str(tmp_path / "layer.yaml"),)
    assert found.policies == (str(tmp_path / "policies.yaml"),)


def test_a_folder_has_yaml_layer_files_too(folder: Path):
    (folder / "dags" / "base.yaml").write_text("spark:\n  a: 1\n")
    (folder / "dags" / "manifest.yaml").write_text("spec:\n  sparkConf:\n    spark.a: x\n")

    found = LintedPaths.of([str(folder / "dags")])

    assert found.layers == (str(folder / "dags" / "base.properties"), str(folder / "dags" / "base.yaml"))
    assert found.policies == ()


@pytest.mark.parametrize("text", ["\ufeffspark.a=1\n", "# x\rspark.a=1\r"], ids=["byte order mark", "old line ends"])
def test_a_layer_file_is_one_however_its_lines_begin(tmp_path: Path, text: str):
    (tmp_path / "a.properties").write_bytes(text.encode())
    (tmp_path / "b.yaml").write_bytes(text.replace("=", ": ").encode())
    (tmp_path / "c.yaml").write_bytes(f"{text.replace('=', ': ')}policies: []".encode())

    assert LintedPaths.of([str(tmp_path)]).layers == (str(tmp_path / "a.properties"), str(tmp_path / "b.yaml"))


def test_looking_into_a_pipe_does_not_block(tmp_path: Path):
    os.mkfifo(tmp_path / "a.yaml")

    assert LintedPaths.of([str(tmp_path)]).layers == ()
    assert not has_policies(str(tmp_path / "a.yaml"))
