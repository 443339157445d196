"""The commands as people call them, against the API server as people start it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from secrets import token_hex

import httpx
import pytest

from tests.cli.conftest import Deployment, Ended
from tests.limits import LONGEST, eventually
from tests.plugins.serving import Server, environ, password
from tests.servers.ports import free_port

pytestmark = [pytest.mark.slow, pytest.mark.integration]

CANARY = f"c4nary-{token_hex(8)}"


def wait_until_it_answers(address: str, process: subprocess.Popen[bytes]) -> None:
    def answers() -> bool:
        assert process.poll() is None
        with suppress(httpx.HTTPError):
            return httpx.get(f"{address}/api/v2/version", timeout=LONGEST).status_code == 200
        return False

    assert eventually(answers, every=0.2)


@pytest.fixture(scope="module")
def api_server(deployment: Deployment) -> Iterator[Server]:
    """``airflow api-server``, where the environment overrides and has what no DAG author may read."""
    port, log = free_port(), deployment.home / "api-server.log"
    settings = {
        "AIRFLOW__CONFIG_PROVIDERS__ENVIRONMENT_ENABLED": "True",
        "AIRFLOW__API__BASE_URL": f"http://127.0.0.1:{port}/base",
        "SPARK_DRIVER_MEMORY": CANARY,
    }
    with log.open("w") as output, httpx.Client(timeout=LONGEST) as client:
        process = subprocess.Popen(
            [sys.executable, "-m", "airflow", "api-server", "--port", str(port), "--host", "127.0.0.1"],
            env=environ(deployment, **settings),
            cwd=deployment.home,
            stdout=output,
            stderr=output,
        )
        try:
            server = Server(f"http://127.0.0.1:{port}/base", deployment, log, client)
            wait_until_it_answers(server.address, process)
            yield server
        finally:
            process.terminate()
            process.wait(LONGEST)


def run(server: Server, user: str, *words: str, text: str = "") -> Ended:
    return server.deployment.airflow("config-providers", *words, input=text, **server.environ(user))


def test_commands_work_against_a_real_server_with_the_rights_of_the_user(api_server: Server):
    task = ("--dag", "flights", "--task", "nightly.ingest")
    api_server.forget()

    altered = run(
        api_server, "ann", "alter", *task, "--add-config-file", "-", text=f"spark.app.token={CANARY}\nspark.app.a=b\n"
    )
    described = run(api_server, "ben", "describe", *task, "--output", "json")
    denied = run(api_server, "ben", "alter", *task, "--add-config", "spark.app.a=c")
    history = run(api_server, "ann", "history", *task, "--output", "json")
    back = run(api_server, "ann", "rollback", *task, "--output", "json")
    refreshed = run(api_server, "ann", "refresh", *task, "--output", "json")
    not_refreshed = run(api_server, "ben", "refresh", *task)
    local = api_server.deployment.airflow("config-providers", "history", *task, "--output", "json")

    assert [one.code for one in (altered, described, denied, history, back, local)] == [0, 0, 4, 0, 0, 0]
    found = {row["key"]: (row["value"], row["source"]) for row in described.rows}
    assert found == {
        "spark.app.a": ("b", "DYNAMIC_TASK_CONFIG"),
        "spark.app.token": (None, "DYNAMIC_TASK_CONFIG"),
        "spark.driver.memory": ("2g", "DAG_CONFIG"),
    }
    assert "the server does not have them" in described.notes[0]
    assert [row["by"] for row in local.rows] == ["ann"] * 4
    assert [row["value"] for row in back.rows] == [None, None]
    everything = "".join(one.out + one.err for one in (altered, described, denied, history, back, local))
    assert CANARY not in everything + api_server.log.read_text()
    assert refreshed.rows == [{"resource": "task 'nightly.ingest' of DAG 'flights'", "version": 3}]
    assert (refreshed.code, not_refreshed.code) == (0, 4)


def test_airflow_s_own_pages_know_the_plugin_and_its_changes(api_server: Server):
    """The list of plugins, and the audit log, as Airflow's REST interface gives them."""
    api_server.forget()
    run(api_server, "ann", "alter", "--dag", "flights", "--add-config", "spark.app.a=b")
    headers = {"Authorization": f"Bearer {api_server.token('admin')}"}

    plugins, events = (
        httpx.get(f"{api_server.address}/api/v2/{what}", headers=headers, timeout=LONGEST).json()
        for what in ("plugins", "eventLogs?event=config_providers.alter")
    )

    (plugin,) = [one for one in plugins["plugins"] if one["name"] == "config_providers"]
    assert [app["url_prefix"] for app in plugin["fastapi_apps"]] == ["/config-providers"]
    assert [(event["owner"], event["dag_id"]) for event in events["event_logs"]] == [("ann", "flights")]


def test_a_password_is_enough(api_server: Server):
    words = (
        "describe",
        "--dag",
        "flights",
        "--server",
        api_server.address,
        "--username",
        "ann",
        "--password-file",
        "-",
    )

    done = api_server.deployment.airflow("config-providers", *words, input=f"{password('ann')}\n")

    assert (done.code, done.errors) == (0, [])
    assert json.dumps(password("ann")) not in api_server.log.read_text()
