"""``airflow config-providers schema``."""

from __future__ import annotations

import json
from argparse import Namespace
from typing import Any

import pytest

pytest.importorskip("airflow")

from airflow_config_providers.cli.schema import schema


def printed(capsys: pytest.CaptureFixture[str], kind: str, version: str | None = None) -> Any:
    schema(Namespace(kind=kind, spark_version=version))
    return json.loads(capsys.readouterr().out)


def test_the_schema_of_layer_files_is_of_the_version_that_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "layer", "3.5.8")["title"].endswith("for Spark 3.5.8")


def test_the_schema_of_policies_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "policies")["required"] == ["policies"]


def test_a_version_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        schema(Namespace(kind="layer", spark_version="new"))

    assert ended.value.code == 2
    assert "'new' is no version" in capsys.readouterr().err


def test_a_version_that_the_catalogue_does_not_have_is_noted(capsys: pytest.CaptureFixture[str]) -> None:
    schema(Namespace(kind="layer", spark_version="99.1"))

    assert capsys.readouterr().err.startswith("note: The catalogue has no Spark 99.1. The schema is that of ")


def test_another_patch_of_a_version_in_the_catalogue_is_not_noted(capsys: pytest.CaptureFixture[str]) -> None:
    schema(Namespace(kind="layer", spark_version="3.5.1"))

    assert capsys.readouterr().err == ""
