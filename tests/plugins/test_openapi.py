"""The description of the REST interface for programs."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("airflow")

from airflow_config_providers.plugins.app import make_app
from airflow_config_providers.plugins.body import alteration, rolled_back, setting_of
from airflow_config_providers.plugins.openapi import document
from tests.plugins.serving import Server

APP = make_app()
DOCUMENT = document(APP, "/airflow/config-providers")
OPERATIONS = [
    pytest.param(operation, id=f"{method} {path}")
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
]


def test_every_route_is_described():
    routes = {(method.lower(), route.path) for route in APP.routes for method in getattr(route, "methods", ())}
    described = {(method, path) for path, methods in DOCUMENT["paths"].items() for method in methods}

    assert {(method, path.replace(":path", "")) for method, path in routes} - described == {("get", "/openapi.json")}


def test_its_addresses_are_below_the_path_of_the_server():
    assert DOCUMENT["servers"] == [{"url": "/airflow/config-providers"}]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_wants_a_token(operation: dict[str, Any]):
    assert {"HTTPBearer": []} in operation["security"]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_describes_its_answers(operation: dict[str, Any]):
    assert set(operation["responses"]) == {"200", "default"}


def body(suffix: str, method: str = "post") -> dict[str, Any]:
    operation = DOCUMENT["paths"][f"/v1/default{suffix}"][method]
    return operation["requestBody"]["content"]["application/json"]["schema"]["properties"]


@pytest.mark.parametrize(
    ("fields", "parse"),
    [
        pytest.param(body("", "patch"), alteration, id="alter"),
        pytest.param(body("/rollback"), rolled_back, id="rollback"),
        pytest.param(body("/why-not"), setting_of, id="why-not"),
        pytest.param(body("/why-not/dry-run"), setting_of, id="why-not-with-dry-run"),
    ],
)
def test_a_described_body_is_one_that_the_server_reads(fields: dict[str, Any], parse: Any):
    values = {
        "operations": [{"name": "spark.a", "value": "b"}],
        "validate_only": True,
        "if_version": 1,
        "to_version": 1,
        "setting": "spark.a=b",
    }

    parse({name: values[name] for name in fields})


def test_a_server_describes_itself_to_its_users(running: Server):
    headers = {"Authorization": f"Bearer {running.token('viewer')}"}

    answer = running.client.get(f"{running.address}/config-providers/openapi.json", headers=headers)

    assert answer.json()["servers"] == [{"url": "/config-providers"}]
    assert answer.headers["Cache-Control"] == "no-store"
