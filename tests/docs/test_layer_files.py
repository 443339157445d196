"""The YAML layer files that the documentation shows are ones."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from jsonschema import Draft7Validator

from airflow_config_providers.spark.layer_files import ConfigFile, file_layer
from airflow_config_providers.spark.layer_schema import layer_schema
from tests.docs.pages import PAGES, Snippet, snippets

LAYERS = [
    pytest.param(snippet, id=str(snippet))
    for page in PAGES
    for snippet in snippets(page)
    if snippet.language == "yaml" and snippet.title.startswith("base.")
]


@pytest.mark.parametrize("snippet", LAYERS)
def test_a_layer_file_in_yaml_is_one(snippet: Snippet, tmp_path: Path) -> None:
    (tmp_path / snippet.title).write_text(snippet.text)

    layer = file_layer(ConfigFile(snippet.title, str(tmp_path / snippet.title)))

    assert {"spark.speculation", "spark.speculation.interval"} < layer.configs.keys()


@pytest.mark.parametrize("snippet", LAYERS)
def test_the_schema_for_editors_accepts_it(snippet: Snippet) -> None:
    assert list(Draft7Validator(layer_schema()).iter_errors(yaml.safe_load(snippet.text))) == []


def test_there_is_such_a_file() -> None:
    """Otherwise the test above checks nothing."""
    assert LAYERS
