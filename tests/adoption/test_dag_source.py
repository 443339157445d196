"""Which DAG files others import."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_config_providers.adoption.dag_source import imported_files


@pytest.mark.parametrize(
    "statement",
    [
        "import team.base",
        "import team.base as other",
        "from team import base",
        "from team.base import SHARED",
        "from . import base",
        "from .base import *",
        "def make():\n    from ..team import base",
    ],
)
def test_a_file_is_imported_by_its_name(tmp_path: Path, statement: str):
    sources = {f"{tmp_path}/team/base.py": "", f"{tmp_path}/team/dag.py": statement}

    assert imported_files(sources, tmp_path) == {f"{tmp_path}/team/base.py"}


@pytest.mark.parametrize("statement", ["import other.base", "from airflow.sdk import dag, base", "import (", "\0"])
def test_another_module_with_the_same_last_name_is_another_file(tmp_path: Path, statement: str):
    sources = {f"{tmp_path}/team/base.py": "", f"{tmp_path}/team/dag.py": statement}

    assert imported_files(sources, tmp_path) == frozenset()


def test_a_package_is_its_first_file(tmp_path: Path):
    sources = {f"{tmp_path}/team/__init__.py": "", f"{tmp_path}/dag.py": "import team"}

    assert imported_files(sources, tmp_path) == {f"{tmp_path}/team/__init__.py"}
