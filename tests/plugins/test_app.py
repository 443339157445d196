"""The app as it is made, and its description for programs, without a server."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("airflow")

from airflow import plugins_manager
from airflow.api_fastapi.core_api.security import get_user
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from starlette.routing import Mount

from airflow_config_providers.cli.server import ROOT
from airflow_config_providers.plugins import app
from airflow_config_providers.plugins.app import (
    CHANGE_DAG,
    CHANGE_DEFAULT,
    READ_DAG,
    READ_DEFAULT,
    READ_REFERENCES,
    READ_RUNS,
    READ_TASKS,
    SIGNED_IN,
    VERSION,
    make_app,
    openapi_document,
)
from airflow_config_providers.plugins.config_providers import PREFIX, ConfigProvidersPlugin
from airflow_config_providers.plugins.request import alteration, rolled_back, setting_of
from tests.plugins.serving import Server
from tests.servers import quick_python

APP = make_app()
DOCUMENT = openapi_document(APP, "/airflow/config-providers")
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
        "leave_out": ["spark.a"],
        "setting": "spark.a=b",
    }

    parse({name: values[name] for name in fields})


def test_a_server_describes_itself_to_its_users(running: Server):
    headers = {"Authorization": f"Bearer {running.token('viewer')}"}

    answer = running.client.get(f"{running.address}/config-providers/openapi.json", headers=headers)

    assert answer.json()["servers"] == [{"url": "/config-providers"}]
    assert answer.headers["Cache-Control"] == "no-store"


ROUTES = [route for route in APP.routes if getattr(route, "path", "").startswith(VERSION)]
OTHERS = [route for route in APP.routes if route not in ROUTES]


def calls(dependant: Any) -> Iterator[Any]:
    for one in dependant.dependencies:
        yield one.call
        yield from calls(one)


def name(route: Any) -> str:
    return f"{min(getattr(route, 'methods', ['?']))} {route.path}"


def test_attack_41_there_are_routes_and_nothing_else():
    assert len(ROUTES) == 30
    assert all(isinstance(route, APIRoute) for route in ROUTES)
    assert [route.path for route in OTHERS] == [app.OPENAPI_PATH, app.PAGE]


def test_attack_41_the_description_of_the_interface_is_for_users():
    (about,) = [route for route in OTHERS if isinstance(route, APIRoute)]

    assert list(about.dependencies) == list(SIGNED_IN)
    assert get_user in list(calls(about.dependant))


def test_attack_41_beside_the_routes_there_are_only_files_of_the_page():
    (files,) = [route.app for route in OTHERS if isinstance(route, Mount)]

    assert isinstance(files, app.PageFiles)


@pytest.mark.parametrize("route", ROUTES, ids=name)
def test_attack_41_a_route_asks_airflow_who_the_user_is_and_what_they_may(route: APIRoute):
    """A mounted app has no protection by itself: one route without is open to everybody."""
    of_dag = READ_RUNS if "/runs" in route.path else READ_DAG
    others = {f"{VERSION}/references": READ_REFERENCES, f"{VERSION}/dags/{{dag_id}}/tasks": READ_TASKS}
    reading = READ_DEFAULT if "/default" in route.path else others.get(route.path, of_dag)
    is_question = route.methods == {"GET"} or route.path.endswith("/why-not")
    changing = CHANGE_DEFAULT if "/default" in route.path else CHANGE_DAG

    assert get_user in list(calls(route.dependant))
    assert list(route.dependencies) == list(reading if is_question else changing)


@pytest.mark.parametrize("route", ROUTES, ids=name)
def test_attack_41_rights_are_asked_before_anything_else(route: APIRoute):
    first = [one.call for one in route.dependant.dependencies[: len(route.dependencies)]]

    assert first == [one.dependency for one in route.dependencies]


def test_commands_ask_where_the_routes_are():
    assert f"{PREFIX}{VERSION}" == ROOT


def test_airflow_finds_the_plugin():
    found = [plugin for plugin in plugins_manager._get_plugins()[0] if plugin.name == "config_providers"]

    assert [type(plugin) for plugin in found] == [ConfigProvidersPlugin]
    assert [app["url_prefix"] for plugin in found for app in plugin.fastapi_apps] == [PREFIX]


def run(script: str) -> str:
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip()


def test_an_app_that_cannot_be_made_leaves_the_server_without_it():
    script = (
        "import sys\n"
        "sys.modules['airflow_config_providers.plugins.app'] = None\n"
        "from airflow_config_providers.plugins.config_providers import ConfigProvidersPlugin\n"
        "print(ConfigProvidersPlugin().fastapi_apps)"
    )

    done = quick_python.run("-c", script, env=os.environ)

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.slow
def test_other_processes_pay_for_one_small_module():
    loaded = run(
        "import sys\n"
        "import airflow.plugins_manager\n"
        "before = set(sys.modules)\n"
        "from airflow_config_providers.plugins.config_providers import ConfigProvidersPlugin\n"
        "ConfigProvidersPlugin()\n"
        "print(*(name for name in set(sys.modules) - before))"
    )

    names = {
        "airflow_config_providers",
        *(f"airflow_config_providers.{name}" for name in ("lazy", "plugins", "plugins.config_providers")),
    }
    assert set(loaded.splitlines()[-1].split()) <= names


def test_what_no_database_can_have_as_the_id_of_a_dag_is_unknown_before_airflow_searches_for_it():
    """PostgreSQL has no NUL in its strings, and Airflow's search for the DAG would fail."""
    app = make_app()
    app.dependency_overrides[get_user] = object
    answer = TestClient(app).get(f"{VERSION}/dags/flights%00")

    assert (answer.status_code, answer.json()["kind"]) == (404, "unknown")
