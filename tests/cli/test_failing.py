"""What commands tell beside their results."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Iterator
from types import SimpleNamespace
from typing import TextIO

import pytest

pytest.importorskip("airflow")

from airflow_config_providers.cli.failing import reporting_errors


@pytest.fixture
def handler() -> Iterator[logging.StreamHandler[TextIO]]:
    """Log to standard output, as Airflow 3.2 does."""
    handler = logging.StreamHandler(sys.stdout)
    logging.getLogger().addHandler(handler)
    yield handler
    logging.getLogger().removeHandler(handler)


def test_what_is_logged_stands_beside_the_results(handler: logging.StreamHandler[TextIO]):
    reporting_errors(lambda _: None)(SimpleNamespace())

    assert handler.stream is sys.stderr


def test_what_libraries_warn_of_is_not_told():
    @reporting_errors
    def command(args: object) -> None:
        warnings.warn("an odd loader", DeprecationWarning, stacklevel=1)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        command(SimpleNamespace())

    assert caught == []
