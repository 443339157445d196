"""Names that are imported lazily: what a type checker sees is what there is."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

PACKAGES = [
    "airflow_config_providers",
    "airflow_config_providers.core",
    "airflow_config_providers.dynamic",
    "airflow_config_providers.dynamic.policies",
    "airflow_config_providers.providers",
    "airflow_config_providers.providers.vault",
    "airflow_config_providers.spark",
]


def seen_by_a_type_checker(package):
    tree = ast.parse(Path(package.__file__).read_text())
    (block,) = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    return {(node.module, alias.asname) for node in block.body for alias in node.names}


@pytest.mark.parametrize("name", PACKAGES)
def test_what_a_type_checker_sees_is_what_there_is(name):
    package = importlib.import_module(name)

    assert {public for _, public in seen_by_a_type_checker(package)} == set(dir(package))


@pytest.mark.parametrize("name", PACKAGES)
def test_each_public_name_is_that_of_its_module(name):
    package = importlib.import_module(name)

    for module, public in seen_by_a_type_checker(package):
        assert getattr(package, public) is getattr(importlib.import_module(module), public)


@pytest.mark.parametrize("name", PACKAGES)
def test_another_name_is_an_attribute_error(name):
    assert not hasattr(importlib.import_module(name), "nothing")


@pytest.mark.parametrize("name", PACKAGES)
def test_a_star_imports_every_public_name(name):
    found: dict[str, object] = {}
    exec(f"from {name} import *", found)

    assert set(dir(importlib.import_module(name))) <= set(found)
