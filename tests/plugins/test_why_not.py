"""Why a setting does not apply, asked of a server: its verdicts, what it does not judge, and what it never repeats."""

from __future__ import annotations

import json
import subprocess
from secrets import token_hex
from typing import Any

import pytest

from tests.cli.recorded import RUN, Records
from tests.plugins.serving import Server, set_

MEMORY = "spark.executor.memory"
REPORT = "/dags/flights/tasks/report"
DENYING = "policies: [{name: few gigabytes, class: bounds, params: {spark.executor.memory: {max: 16g}}}]\n"
CANARY = f"c4nary-{token_hex(8)}"


def asked(server: Server, setting: str, *, user: str = "admin", path: str = f"{REPORT}/why-not") -> list[Any]:
    answer = server.ask(user, "POST", path, json={"setting": setting})
    assert answer.status_code == 200, answer.text
    rows: list[Any] = answer.json()["rows"]
    return rows


def verdicts(server: Server, setting: str, **more: str) -> list[str]:
    return [row["verdict"] for row in asked(server, setting, **more)]


@pytest.fixture
def changed(server: Server) -> None:
    server.alter("admin", REPORT, set_(MEMORY, "8g"))


@pytest.mark.usefixtures("changed")
@pytest.mark.parametrize(
    ("setting", "verdict"),
    [
        pytest.param(f"{MEMORY}=8g", "applies", id="applies"),
        pytest.param(f"{MEMORY}=3g", "beaten", id="beaten"),
        pytest.param("spark.executor.memroy=8g", "typo", id="typo"),
        pytest.param("conf/other.toml", "not read", id="absent-layer"),
    ],
)
def test_a_reader_learns_why_a_setting_does_not_apply(server: Server, setting: str, verdict: str):
    assert verdicts(server, setting, user="viewer") == [verdict]


@pytest.mark.usefixtures("changed")
def test_a_layer_answers_for_each_of_its_keys(server: Server):
    rows = asked(server, "DYNAMIC_TASK_CONFIG", user="viewer")

    assert [(row["key"], row["verdict"]) for row in rows] == [(MEMORY, "applies")]


def test_policies_judge_a_value_only_in_a_dry_run(server: Server):
    server.policies.write_text(DENYING)
    judged = asked(server, f"{MEMORY}=20g", user="ann", path=f"{REPORT}/why-not/dry-run")

    assert [row["verdict"] for row in judged] == ["not allowed"]
    assert "Policy 'few gigabytes' denies" in judged[0]["reason"]
    assert verdicts(server, f"{MEMORY}=20g", user="ann") == ["not set"]


def test_a_dry_run_changes_nothing(server: Server):
    assert verdicts(server, f"{MEMORY}=5g", path=f"{REPORT}/why-not/dry-run") == ["not set"]
    assert server.ask("admin", "GET", f"{REPORT}/history").json()["rows"] == []


def test_a_run_says_why_it_did_not_have_a_setting(server: Server, records: Records):
    pytest.importorskip("airflow.models.task_state_store", reason="the state of tasks came with Airflow 3.3")
    records({MEMORY: "1g"})
    path = f"{REPORT}/runs/{RUN.replace('+', '%2B')}/why-not"

    assert verdicts(server, f"{MEMORY}=8g", path=path) == ["not set"]
    assert verdicts(server, MEMORY, path=path) == ["applies"]


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        pytest.param(f"={CANARY}", "has no key and no layer", id="no-key"),
        pytest.param(" ", "has no key and no layer", id="blank"),
        pytest.param("x" * 3000, "is longer than 2000 characters", id="long"),
        pytest.param("spark.a=" + "${a:b}" * 30_000, "value is longer than 65536 characters", id="many references"),
        pytest.param(f"spark.app.a={CANARY}\ud800", "half of a surrogate pair", id="half-of-a-pair"),
        pytest.param({"key": CANARY}, "expected a string", id="no-text"),
        pytest.param(None, "expected a string", id="nothing"),
    ],
)
@pytest.mark.parametrize("path", [f"{REPORT}/why-not", f"{REPORT}/why-not/dry-run"])
def test_a_question_that_cannot_be_answered_is_malformed_and_not_repeated(
    server: Server, path: str, setting: object, problem: str
):
    content = json.dumps({"setting": setting})
    answer = server.ask("admin", "POST", path, content=content, headers={"Content-Type": "application/json"})

    assert (answer.status_code, answer.json()["kind"]) == (400, "malformed")
    assert problem in answer.json()["problems"][0]
    assert CANARY not in answer.text


def test_names_with_markup_and_control_characters_stay_on_one_line(server: Server):
    (row,) = asked(server, "spark.app.<b>\x1b[31m\n.x=1")

    assert row["verdict"] == "not allowed"
    assert r"spark.app.<b>\x1b[31m\n.x" in row["reason"]


def test_attack_41_a_value_that_is_asked_about_is_in_no_log_and_no_file(server: Server):
    """Under a key that holds a secret and one that does not, as a layer, refused, denied, and without permission."""
    server.policies.write_text(DENYING)
    settings = (f"spark.app.token={CANARY}", f"spark.app.a={CANARY}", CANARY, f"{MEMORY}={CANARY}", f"={CANARY}")
    for path in (f"{REPORT}/why-not", f"{REPORT}/why-not/dry-run", f"{REPORT}/runs/nosuch/why-not"):
        for user in ("ann", "gus", None):
            for setting in settings:
                server.ask(user, "POST", path, json={"setting": setting})

    command = ["grep", "-r", "--binary-files=text", "-l", CANARY, str(server.deployment.home)]
    assert subprocess.run(command, capture_output=True, text=True, check=False).stdout == ""


@pytest.mark.parametrize("path", [f"{REPORT}/why-not", f"{REPORT}/why-not/dry-run"])
def test_attack_41_a_secret_that_is_asked_about_does_not_come_back(server: Server, path: str):
    server.alter("admin", REPORT, set_("spark.app.token", CANARY))
    answer = server.ask("admin", "POST", path, json={"setting": f"spark.app.token={CANARY}"})

    assert "Its value is hidden, and was not compared." in answer.json()["rows"][0]["reason"]
    assert CANARY not in answer.text


@pytest.mark.parametrize("path", [f"{REPORT}/why-not", f"{REPORT}/why-not/dry-run"])
def test_attack_41_a_wrong_guess_of_a_secret_is_answered_like_the_right_one(server: Server, path: str):
    server.alter("admin", REPORT, set_("spark.app.token", CANARY))
    right, wrong = (
        server.ask("admin", "POST", path, json={"setting": f"spark.app.token={value}"}).text
        for value in (CANARY, "wrong")
    )

    assert right == wrong


@pytest.mark.parametrize("path", [f"{REPORT}/why-not", f"{REPORT}/why-not/dry-run"])
def test_attack_41_a_page_of_another_site_asks_nothing(server: Server, path: str):
    headers = {"Cookie": f"_token={server.token('admin')}", "Sec-Fetch-Site": "cross-site"}

    answer = server.ask(None, "POST", path, json={"setting": "spark.app.a=b"}, headers=headers)

    assert answer.status_code == 400


@pytest.mark.parametrize("setting", ["spark.app.base=1", "spark.app.base", "/etc/x.properties"])
def test_the_server_says_that_a_file_of_the_task_can_have_what_it_does_not_read(server: Server, setting: str):
    (answer,) = asked(server, setting)

    assert "a layer file that the task names, which is not read here" in answer["reason"]
