"""Colours of cells in a terminal."""

from __future__ import annotations

import pytest

pytest.importorskip("airflow")

from airflow_config_providers.cli.output import colour
from airflow_config_providers.deployment.why_not import SettingStatus


@pytest.mark.parametrize("verdict", [pytest.param(verdict.value, id=verdict.name) for verdict in SettingStatus])
def test_each_verdict_has_a_colour(verdict: str):
    assert colour("verdict", verdict)


def test_what_waits_is_coloured_and_what_does_not_is_not():
    assert colour("applied", "pending, is 1g")
    assert not colour("applied", "1g")


def test_what_is_hidden_is_faint_in_every_column():
    assert colour("value", "[hidden]") == colour("before", "[hidden]") == "dim"


def test_a_value_brings_no_colour_in():
    assert not colour("value", "removed")
