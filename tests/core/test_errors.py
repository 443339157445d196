"""What is said of an error in the code of others."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from airflow_config_providers.core.concurrency.timed_calls import call_each
from airflow_config_providers.core.entry_points import imported
from airflow_config_providers.core.errors import kind_and_place

CODE = """\
import json

def parse():
    return json.loads('hunter2')

def fail():
    raise KeyError('hunter2')
"""


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a package of someone else."""
    folder = tmp_path / "acme_of_tests"
    folder.mkdir()
    (folder / "__init__.py").write_text(CODE)
    (folder / "broken.py").write_text("x = 1\ndef f(:\n")
    (folder / "failing.py").write_text("from acme_of_tests import fail\n\nfail()\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == folder.name]:
        del sys.modules[name]


def said(call: Callable[[], object]) -> str:
    """Return what is said of the error that ``call`` raises when our code calls it."""
    return call_each({"": call}, patience=None)[""].failure


def test_an_error_has_its_type_and_its_place(acme: Path):
    assert said(imported("acme_of_tests.fail")) == f"KeyError in {acme}/__init__.py:7"


def test_the_place_is_in_the_package_that_was_called_and_not_in_a_library_that_it_uses(acme: Path):
    assert said(imported("acme_of_tests.parse")) == f"JSONDecodeError in {acme}/__init__.py:4"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param("acme_of_tests.failing.x", "KeyError in {}/__init__.py:7", id="a module that fails"),
        pytest.param("acme_of_tests.broken.x", "SyntaxError in {}/broken.py:2", id="a module that is no Python"),
        pytest.param("acme_of_tests.nothing", "AttributeError", id="a name that is not there"),
        pytest.param("acme_of_tests.nowhere.x", "ModuleNotFoundError", id="a module that is not there"),
    ],
)
def test_an_import_says_where_it_fails(acme: Path, path: str, expected: str):
    assert said(partial(imported, path)) == expected.format(acme)


def test_an_error_that_was_not_raised_has_only_its_type():
    assert kind_and_place(KeyError("hunter2")) == "KeyError"
