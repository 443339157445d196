"""Names that are imported when they are first used."""

from __future__ import annotations

import copy
import json
import pickle

import pytest

from airflow_config_providers.lazy import LazyModule


def test_a_lazy_module_has_the_names_of_the_module() -> None:
    assert LazyModule("json").dumps is json.dumps


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda module: pickle.loads(pickle.dumps(module))])
def test_a_lazy_module_can_be_copied(duplicate) -> None:  # type: ignore[no-untyped-def]
    assert duplicate(LazyModule("json")).dumps is json.dumps
