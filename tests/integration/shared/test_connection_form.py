"""The connection's form in Airflow's UI, filled in by a real browser."""

from __future__ import annotations

import json

import pytest

from tests.integration.browser import Browser, browser
from tests.integration.conftest import Airflow

pytestmark = [pytest.mark.integration, pytest.mark.slow]

DEFINITIONS = """\
config.providers=dir
config.providers.dir.class=directory
config.providers.dir.param.allowed.paths=/tmp"""

ENTER = "\ue007"
"""The key, as WebDriver writes it."""


@pytest.fixture(scope="module")
def airflow(shared_airflow):
    return shared_airflow


@pytest.fixture(scope="module")
def window():
    with browser() as window:
        yield window


def add(window: Browser, airflow: Airflow, conn_id: str) -> None:
    """Add a connection by the form, with ``DEFINITIONS``."""
    window.open(f"http://127.0.0.1:{airflow.port}/connections")
    window.click("//button[contains(., 'Add Connection')]")
    window.type("//input[@name='connection_id']", conn_id)
    window.type("//input[@role='combobox' and @aria-required='true']", f"Config Providers{ENTER}")
    window.click("//button[contains(., 'Extra Fields')]")
    window.paste("//*[@name='element_properties']", DEFINITIONS)
    window.click("//button[contains(., 'Save')]")
    window.text(f"//td[text()='{conn_id}']")


def test_lines_that_are_put_into_the_form_are_lines_of_the_connection(airflow, window):
    """The browser drops the line ends in a field of one line, and with them every provider."""
    add(window, airflow, "pasted")

    extra = json.loads(airflow.get("/api/v2/connections/pasted")["extra"])
    assert extra["properties"] == DEFINITIONS


def test_the_test_button_turns_green_for_a_connection_with_port_0(airflow, window):
    """From 3.3 on, Airflow takes the button's port 0 for another destination than no port, and refuses."""
    airflow.cli(
        "connections", "add", "tried", "--conn-type", "config_providers", "--conn-port", "0",
        "--conn-extra", json.dumps({"properties": DEFINITIONS}),
    )  # fmt: skip
    window.open(f"http://127.0.0.1:{airflow.port}/connections")
    window.click("//tr[td[text()='tried']]//button[@aria-label='Test Connection']")

    window.text("//tr[td[text()='tried']]//button[@aria-label='Test Connection']/*[@color='green']")
