"""Who may do what: every route, asked by nobody and by users of every kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from tests.plugins.auth import NO_RUNS
from tests.plugins.serving import Server, set_

RESOURCES = {
    "default": "/default",
    "flights": "/dags/flights",
    "report": "/dags/flights/tasks/report",
    "billing": "/dags/billing",
    "unknown": "/dags/nosuch",
}
ASKING: Mapping[str, tuple[str, str, object]] = {
    "describe": ("GET", "", None),
    "history": ("GET", "/history", None),
    "explain": ("GET", "/keys/spark.executor.memory", None),
    "alter": ("PATCH", "", {"operations": [set_("spark.app.a", "b")], "validate_only": True}),
    "rollback": ("POST", "/rollback", {"to_version": 0, "validate_only": True}),
    "refresh": ("POST", "/refresh", {}),
    "why-not": ("POST", "/why-not", {"setting": "spark.app.a=b"}),
    "dry-run": ("POST", "/why-not/dry-run", {"setting": "spark.app.a=b"}),
}
READING = {"describe", "explain", "history", "why-not"}
CHANGING = {"alter", "rollback", "refresh", "dry-run"}
DAGS = {"flights", "report", "billing"}

ALLOWED = {
    None: {},
    "viewer": dict.fromkeys(RESOURCES, READING),
    "user": dict.fromkeys(RESOURCES, READING),
    "op": dict.fromkeys(RESOURCES, READING | CHANGING),
    "admin": dict.fromkeys(RESOURCES, READING | CHANGING),
    "ann": dict.fromkeys(("flights", "report"), READING | CHANGING),
    "ben": dict.fromkeys(DAGS, READING),
    "dan": dict.fromkeys(("flights", "report"), READING),
    "fay": {"default": READING},
    "gus": dict.fromkeys(("flights", "report"), READING),
    "eve": {},
}
"""Who may do what to which resource."""


def cases() -> Iterator[object]:
    for user in ALLOWED:
        for resource in RESOURCES:
            for what in ASKING:
                yield pytest.param(user, resource, what, id=f"{user or 'nobody'}-{resource}-{what}")


@pytest.mark.parametrize(("user", "resource", "what"), list(cases()))
def test_attack_41_a_route_asks_for_the_right(running: Server, user: str | None, resource: str, what: str):
    method, suffix, body = ASKING[what]

    answer = running.ask(user, method, f"{RESOURCES[resource]}{suffix}", **({} if body is None else {"json": body}))

    if user is None:
        assert (answer.status_code, answer.json()["kind"]) == (401, "unauthenticated")
    elif what in ALLOWED[user].get(resource, ()):
        assert answer.status_code in ({200, 404, 422} if resource == "unknown" or what == "rollback" else {200}), (
            answer.text
        )
        assert answer.json().get("kind") in {None, "unknown", "refused"}
    else:
        assert (answer.status_code, answer.json()["kind"]) == (403, "forbidden")


def may_read_runs(user: str | None) -> bool:
    return user not in {None, *NO_RUNS} and "describe" in ALLOWED[user].get("report", ())


@pytest.mark.parametrize("user", ALLOWED)
def test_attack_41_a_run_is_described_to_those_who_may_read_its_task_instances(running: Server, user: str | None):
    """There is no such run, which only those learn who may know it."""
    answer = running.ask(user, "GET", "/dags/flights/tasks/report/runs/nosuch")
    may_read = may_read_runs(user)

    assert answer.status_code == (404 if may_read else 401 if user is None else 403), answer.text
    assert ("has no run" in answer.text) is may_read


@pytest.mark.parametrize("user", ALLOWED)
def test_attack_41_runs_are_listed_for_those_who_may_read_its_task_instances(running: Server, user: str | None):
    answer = running.ask(user, "GET", "/dags/flights/tasks/report/runs")
    may_read = may_read_runs(user)

    assert answer.status_code == (200 if may_read else 401 if user is None else 403), answer.text


@pytest.mark.parametrize("user", ALLOWED)
def test_attack_41_runs_are_compared_for_those_who_may_read_its_task_instances(running: Server, user: str | None):
    """There is no such run, which only those learn who may know it."""
    answer = running.ask(user, "GET", "/dags/flights/tasks/report/runs/nosuch/differences")
    may_read = may_read_runs(user)

    assert answer.status_code == (404 if may_read else 401 if user is None else 403), answer.text
    assert ("has no run" in answer.text) is may_read


@pytest.mark.parametrize("user", ALLOWED)
def test_attack_41_why_a_run_did_not_have_a_setting_is_said_to_those_who_may_read_its_task_instances(
    running: Server, user: str | None
):
    """There is no such run, which only those learn who may know it."""
    question = {"setting": "spark.app.a=b"}
    answer = running.ask(user, "POST", "/dags/flights/tasks/report/runs/nosuch/why-not", json=question)
    may_read = may_read_runs(user)

    assert answer.status_code == (404 if may_read else 401 if user is None else 403), answer.text
    assert ("has no run" in answer.text) is may_read


@pytest.mark.parametrize("user", ALLOWED)
def test_attack_41_tasks_are_listed_for_those_who_may_read_them(running: Server, user: str | None):
    answer = running.ask(user, "GET", "/dags/flights/tasks")
    may_read = may_read_runs(user)

    assert answer.status_code == (200 if may_read else 401 if user is None else 403), answer.text
    assert ("nightly.ingest" in answer.text) is may_read


@pytest.mark.parametrize("user", ALLOWED)
def test_attack_41_references_are_listed_for_those_who_may_read_task_instances(running: Server, user: str | None):
    """A DAG that the query names gives no permission."""
    answer, with_dag = (
        running.ask(user, "GET", "/references", params={"pattern": "*"} | dag) for dag in ({}, {"dag_id": "flight"})
    )
    may_read = may_read_runs(user)

    assert answer.status_code == (200 if may_read else 401 if user is None else 403), answer.text
    assert with_dag.status_code == (400 if may_read else answer.status_code), with_dag.text


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({}, 401, id="nobody"),
        pytest.param({"Authorization": "Bearer forged"}, 403, id="forged"),
    ],
)
def test_attack_41_the_description_of_the_interface_asks_for_a_user(
    running: Server, headers: dict[str, str], status: int
):
    answer = running.client.get(f"{running.address}/config-providers/openapi.json", headers=headers)

    assert (answer.status_code, answer.json()["kind"]) == (status, "unauthenticated")
    assert "POST /auth/token" in answer.json()["problems"][0]
    assert "--username" in answer.json()["problems"][0]
