"""The files of the page, and where Airflow shows it. test_page_in_browser.py tests what the page does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("airflow")

from airflow import plugins_manager
from airflow.api_fastapi.core_api.datamodels.plugins import ExternalViewResponse
from starlette.testclient import TestClient

from airflow_config_providers.plugins import app
from airflow_config_providers.plugins.app import make_app
from airflow_config_providers.plugins.config_providers import PREFIX, ConfigProvidersPlugin

FILES = sorted(path.name for path in (Path(app.__file__).parent / "assets").iterdir())
TEXTS = {name: (Path(app.__file__).parent / "assets" / name).read_text() for name in FILES}
SCRIPTS = [name for name in FILES if name.endswith(".js")]


@pytest.fixture(scope="module")
def client() -> TestClient:
    return TestClient(make_app())


@pytest.mark.parametrize("name", ["", *FILES])
def test_a_file_runs_only_scripts_of_the_server(client: TestClient, name: str):
    answer = client.get(f"{app.PAGE}/{name}")
    policy = answer.headers["Content-Security-Policy"]

    assert answer.status_code == 200
    assert "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'" in policy
    assert "unsafe" not in policy


def test_only_airflow_itself_may_frame_the_page(client: TestClient):
    assert "frame-ancestors 'self'" in client.get(f"{app.PAGE}/").headers["Content-Security-Policy"]


def test_a_file_is_what_its_type_says(client: TestClient):
    assert client.get(f"{app.PAGE}/").headers["X-Content-Type-Options"] == "nosniff"


def test_a_file_that_has_not_changed_is_not_sent_again(client: TestClient):
    tag = client.get(f"{app.PAGE}/main.js").headers["ETag"]

    answer = client.get(f"{app.PAGE}/main.js", headers={"If-None-Match": tag})

    assert (answer.status_code, answer.content) == (304, b"")
    assert "Content-Security-Policy" in answer.headers


@pytest.mark.parametrize("path", ["nosuch.js", "%2e%2e/app.py", "..%2fapp.py", "%2e%2e%2f%2e%2e%2fsettings.py"])
def test_there_are_no_other_files(client: TestClient, path: str):
    answer = client.get(f"{app.PAGE}/{path}")

    assert answer.status_code == 404
    assert "import" not in answer.text


@pytest.mark.parametrize("name", FILES)
def test_a_file_names_no_other_address(name: str):
    """So the page loads nothing from elsewhere, and works behind a path."""
    found = re.findall(r"https?://[\w./]+|(?:href|src|from|import)=?\s*\(?[\"']/[^\"']*", TEXTS[name])

    assert [address for address in found if address != "http://www.w3.org/2000/svg"] == []


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_makes_no_html_from_text(name: str):
    forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|setHTML|DOMParser"

    assert re.findall(forbidden, TEXTS[name]) == []


def test_all_scripts_are_loaded_at_once():
    """Otherwise a browser finds each one when it has read the one that imports it."""
    assert re.findall(r'modulepreload" href="(.*?)"', TEXTS["index.html"]) == [s for s in SCRIPTS if s != "main.js"]


@pytest.mark.parametrize("view", ConfigProvidersPlugin.external_views, ids=lambda view: view["destination"])
def test_airflow_accepts_a_view(view: dict[str, str]):
    assert ExternalViewResponse.model_validate(view).href.startswith(f"{PREFIX.removeprefix('/')}{app.PAGE}/")


def test_airflow_shows_the_page_at_the_deployment_a_dag_a_task_and_a_task_instance():
    views = [view for view in plugins_manager._get_ui_plugins()[0] if view in ConfigProvidersPlugin.external_views]

    assert [view["destination"] for view in views] == ["nav", "dag", "task", "task_instance"]
