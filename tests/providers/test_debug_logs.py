"""What client libraries log at DEBUG when a secrets backend is asked, before a guard of the log knows its values."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from airflow_config_providers.providers.airflow_secrets import asked

CANARY = "c4nary-of-a-backend"
NAMES = [
    "azure.core.pipeline.policies._universal",
    "botocore.auth",
    "botocore.endpoint",
    "botocore.parsers",
    "google.auth.transport.requests",
    "google.cloud.secretmanager_v1.services.secret_manager_service.transports.grpc",
    "kubernetes.client.rest",
    "msal.managed_identity",
]
SILENCED = [*NAMES, "google.auth", "google.cloud.secretmanager_v1"]


@pytest.fixture(autouse=True)
def levels() -> Iterator[None]:
    before = {name: logging.getLogger(name).level for name in SILENCED}
    for name in SILENCED:
        logging.getLogger(name).setLevel(logging.NOTSET)
    yield
    for name, level in before.items():
        logging.getLogger(name).setLevel(level)


def ask(name: str) -> None:
    def answer() -> str:
        logging.getLogger(name).debug("response body: %s", CANARY)
        return CANARY

    assert asked(answer, who="A backend", what="a variable") == CANARY


@pytest.mark.parametrize("name", NAMES)
def test_what_a_client_logs_of_an_answer_is_not_shown(name: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        ask(name)

    assert CANARY not in caplog.text


def test_a_level_that_the_deployment_has_set_stays(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("kubernetes.client.rest").setLevel(logging.DEBUG)

    with caplog.at_level(logging.DEBUG):
        ask("kubernetes.client.rest")

    assert CANARY in caplog.text


def test_a_stricter_level_above_stays() -> None:
    parent = logging.getLogger("google")
    before = parent.level
    parent.setLevel(logging.WARNING)
    try:
        ask("google.auth.transport.requests")

        assert not logging.getLogger("google.auth").isEnabledFor(logging.INFO)
    finally:
        parent.setLevel(before)
