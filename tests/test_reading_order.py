"""CONTRIBUTING.md shows a newcomer the way of one reference through the code."""

import re
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import pytest

STEPS = re.findall(
    r"^\| .+ \| `([\w/]+)\.py` \| `([\w.]+)` \|$",
    (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(),
    flags=re.MULTILINE,
)


def test_the_way_has_all_its_steps():
    assert len(STEPS) == 17


@pytest.mark.parametrize(("file", "name"), STEPS)
def test_each_step_is_where_the_page_says(file: str, name: str):
    module = f"airflow_config_providers.{file.replace('/', '.')}"

    assert attrgetter(name)(import_module(module)).__module__ == module
