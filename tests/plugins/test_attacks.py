"""Attack 41: a route that everybody can ask, that tells too much, or that does what a page of others says."""

from __future__ import annotations

import json
import subprocess
from secrets import token_hex
from typing import Any

import pytest

from tests.plugins.serving import Server, set_

CANARY = f"c4nary-{token_hex(8)}"


def test_attack_41_what_a_user_may_not_see_answers_like_what_there_is_not(server: Server):
    """Neither the status nor the text reveals which DAGs exist."""
    asked = [
        server.ask("ann", "GET", f"/dags/{name}{more}") for name in ("billing", "nosuch") for more in ("", "/tasks/x")
    ]

    assert {(one.status_code, one.text) for one in asked} == {(403, asked[0].text)}


def test_attack_41_the_nearest_name_is_one_that_the_user_may_know(server: Server):
    """``eve`` may ask for a DAG ``flight``, of which there is none, and not for ``flights``."""
    told, hidden = server.ask("viewer", "GET", "/dags/flight"), server.ask("eve", "GET", "/dags/flight")

    assert "did you mean 'flights'?" in told.text
    assert (hidden.status_code, "flights" in hidden.text) == (404, False)


@pytest.mark.parametrize("path", ["/dags/a%252Eb", "/dags/a%252Eb/tasks/invoices"])
@pytest.mark.parametrize("method", ["GET", "PATCH"])
def test_attack_41_the_dag_that_is_asked_for_is_the_one_that_the_right_is_for(server: Server, path: str, method: str):
    """``eve`` has rights to a DAG ``a%2Eb``; inside, that is how the dot of ``a.b`` is written."""
    body = {"json": {"operations": [set_("spark.app.a", "b")]}} if method == "PATCH" else {}

    answer = server.ask("eve", method, path, **body)

    assert (answer.status_code, answer.json()["kind"]) == (404, "unknown")
    assert server.ask("admin", "GET", "/dags/a.b/history").json()["rows"] == []


@pytest.mark.parametrize(
    ("method", "path", "problem"),
    [
        pytest.param("GET", "/default?synonym=true", "'synonym' is an unknown parameter, did you mean", id="reading"),
        pytest.param("GET", "/dags/flights?all=true&ALL=1", "'ALL' is an unknown parameter", id="case"),
        pytest.param("PATCH", "/default?validate_only=true", "'validate_only' is an unknown parameter", id="changing"),
    ],
)
def test_a_parameter_that_a_route_does_not_take_is_refused(server: Server, method: str, path: str, problem: str):
    """A change with ``validate_only`` in the query, and not in the body, must not be made."""
    body = {"json": {"operations": [set_("spark.app.a", "b")]}} if method == "PATCH" else {}

    answer = server.ask("admin", method, path, **body)

    assert (answer.status_code, answer.json()["kind"]) == (400, "malformed")
    assert problem in answer.json()["problems"][0]
    assert server.ask("admin", "GET", "/default/history").json()["rows"] == []


@pytest.mark.parametrize("query", ["section=other", "dag_id=flights"])
def test_attack_41_no_right_is_chosen_by_the_query(server: Server, query: str):
    """``ann`` may read the section ``other``, and the DAG ``flights``."""
    asked = [server.ask("ann", "GET", f"/{path}?{query}") for path in ("default", "dags/billing")]

    assert [answer.status_code for answer in asked] == [403, 403]


def test_attack_41_no_right_to_change_is_chosen_by_the_query(server: Server):
    """``fay`` may edit the variable of the DAG ``flights``, and no other."""
    answer = server.ask("fay", "PATCH", "/default?dag_id=flights", json={"operations": [set_("spark.app.a", "b")]})

    assert (answer.status_code, answer.json()["kind"]) == (403, "forbidden")


def test_attack_41_files_of_dag_authors_are_not_opened_on_the_server(server: Server):
    """It has files that they may not read, and ``config_files=["/etc/airflow/airflow.cfg"]`` would reveal them."""
    answer = server.ask("viewer", "GET", "/dags/flights/tasks/report").json()

    assert "spark.app.base" not in {row["key"] for row in answer["rows"]}
    assert any("the server does not open files that DAG authors name" in note for note in answer["notes"])


def test_a_note_about_files_that_are_not_opened_says_how_to_see_them(server: Server):
    answer = server.ask("viewer", "GET", "/dags/flights/tasks/report").json()

    assert any("Run airflow config-providers describe on a worker" in note for note in answer["notes"])


WRONG = {
    "no JSON": f'{{"operations": [{{"name": "spark.app.token", "value": "{CANARY}"',
    "a name twice": f'{{"operations": [], "operations": "{CANARY}"}}',
    "a list": json.dumps([CANARY]),
    "a number": json.dumps({"operations": [{"name": "a", "value": {"x": CANARY}}]}),
    "an operation": json.dumps({"operations": [{"op": CANARY, "name": "a"}]}),
    "no name": json.dumps({"operations": [{"value": CANARY}]}),
    "no object": json.dumps({"operations": [CANARY]}),
    "a flag": json.dumps({"operations": [set_("a", "b")], "validate_only": CANARY}),
    "a version": json.dumps({"operations": [set_("a", "b")], "if_version": CANARY}),
    "a true version": json.dumps({"operations": [set_("a", "b")], "if_version": True}),
    "nothing": json.dumps({"operations": []}),
    "an odd field": json.dumps({"operations": [{"name": "a", "value": CANARY, "secret": CANARY}], "opertions": CANARY}),
    "deep": '{"operations": ' + "[" * 100_000 + f'"{CANARY}"',
    "no text": b'{"operations": "\xff\xfe"}',
}


@pytest.mark.parametrize("content", WRONG.values(), ids=WRONG)
def test_attack_41_what_cannot_be_understood_is_not_told_back(server: Server, content: str | bytes):
    answer = server.ask("admin", "PATCH", "/default", content=content, headers={"Content-Type": "application/json"})

    assert (answer.status_code, answer.json()["kind"]) == (400, "malformed")
    assert CANARY not in answer.text
    assert server.ask("admin", "GET", "/default/history").json()["rows"] == []


JSON = {"Content-Type": "application/json"}


def test_a_rollback_does_not_undo_a_change_that_its_user_has_not_seen(server: Server):
    for value in ("1", "2"):
        server.alter("admin", "/default", set_("spark.app.a", value))

    asked = [server.ask("admin", "POST", "/default/rollback", json={"if_version": version}) for version in (1, 2)]

    assert [answer.status_code for answer in asked] == [409, 200]


def test_a_change_of_very_many_keys_is_refused_at_once(server: Server):
    """They would take minutes, and whoever else asks would wait."""
    answer = server.alter("admin", "/default", *(set_(f"spark.app.key{n}", "x") for n in range(20_000)))

    assert (answer.status_code, answer.json()["kind"]) == (422, "refused")
    assert answer.json()["problems"] == [
        "20000 operations in one request, but the limit is 1000. Make several requests."
    ]
    assert server.ask("admin", "GET", "/default/history").json()["rows"] == []


def test_a_change_of_many_keys_is_made(server: Server):
    answer = server.alter("admin", "/default", *(set_(f"spark.app.key{n}", "x") for n in range(1000)))

    assert answer.status_code == 200
    assert len(answer.json()["rows"]) == 1000


def test_a_key_of_a_million_characters_is_refused_at_once_and_not_echoed(server: Server):
    """It pushed all older changes out of the history, and was compared with all keys, which took the server seconds."""
    answer = server.alter("admin", "/default", set_("spark.app." + "k" * 1_000_000, "x"))

    assert (answer.status_code, answer.json()["kind"]) == (422, "refused")
    assert "a key has more than 1000 characters" in answer.text
    assert len(answer.text) < 1000


@pytest.mark.parametrize("header", ["If-Match", "If-None-Match"])
def test_a_condition_in_a_header_is_not_ignored(server: Server, header: str):
    body = {"operations": [set_("spark.app.a", "x")]}

    answer = server.ask("admin", "PATCH", "/default", json=body, headers={header: '"999"'})

    assert (answer.status_code, answer.json()["kind"]) == (400, "malformed")
    assert answer.json()["problems"][0].startswith(f"{header} would be ignored. Remove it; to change only what you saw")
    assert server.ask("admin", "GET", "/default/history").json()["rows"] == []


@pytest.mark.parametrize(("encoding", "status"), [("gzip", 415), ("identity", 200)])
def test_a_body_is_read_only_as_it_is(server: Server, encoding: str, status: int):
    body = {"operations": [set_("spark.app.a", "x")]}

    answer = server.ask("admin", "PATCH", "/default", json=body, headers={"Content-Encoding": encoding})

    assert answer.status_code == status


@pytest.mark.parametrize(
    ("path", "body"),
    [
        pytest.param("/default", {"operations": [set_("spark.app.a", "x")], "if_version": 10**3999}, id="if_version"),
        pytest.param("/default/rollback", {"to_version": 10**3999}, id="to_version"),
    ],
)
def test_a_number_of_thousands_of_digits_is_cut(server: Server, path: str, body: dict[str, Any]):
    server.alter("admin", "/default", set_("spark.app.a", "1"))

    answer = server.ask("admin", "POST" if "rollback" in path else "PATCH", path, json=body)

    assert "000... (4000 characters)" in answer.text
    assert len(answer.text) < 1000


def test_very_many_unknown_fields_are_counted_and_not_listed(server: Server):
    answer = server.ask(
        "admin", "PATCH", "/default", content=json.dumps({f"f{n:06}": 0 for n in range(50_000)}), headers=JSON
    )

    assert answer.status_code == 400
    assert answer.json()["problems"][-1] == "There are 49,990 more unknown fields. Remove them."
    assert len(answer.json()["problems"]) < 20


@pytest.mark.parametrize(
    ("operation", "key"),
    [
        pytest.param(f'{{"name": "spark.app.x", "value": "{CANARY}\\ud800"}}', "spark.app.x", id="a value"),
        pytest.param('{"name": "spark.app.\\udfff", "value": "x"}', "spark.app.\\udfff", id="a key"),
        pytest.param('{"op": "DELETE", "name": "spark.app.\\udfff"}', "spark.app.\\udfff", id="a key that is deleted"),
    ],
)
def test_half_of_a_surrogate_pair_is_refused_by_the_name_of_its_key(server: Server, operation: str, key: str):
    answer = server.ask("admin", "PATCH", "/default", content=f'{{"operations": [{operation}]}}', headers=JSON)

    assert (answer.status_code, answer.json()["kind"]) == (400, "malformed")
    assert f"of the key '{key}' contains half of a surrogate pair" in answer.json()["problems"][0]
    assert CANARY not in answer.text


@pytest.mark.parametrize(
    "path", ["/default?key=%ED%A0%80", "/dags/%ED%A0%80", "/dags/flights/tasks/%ED%A0%80", "/dags/%FF"]
)
def test_an_address_with_half_of_a_surrogate_pair_names_nothing(server: Server, path: str):
    assert server.ask("admin", "GET", path).status_code in {400, 404, 422}


@pytest.mark.parametrize("first", ["0", "-1", "x", "9" * 30])
def test_a_number_of_keys_that_cannot_be_counted_is_malformed(server: Server, first: str):
    answer = server.ask("admin", "GET", f"/dags/flights/tasks/report?first={first}")

    assert (answer.status_code, answer.json()["kind"]) == (400, "malformed")


@pytest.mark.parametrize("depth", [100, 900, 5000])
@pytest.mark.parametrize("part", ['{"operations": DEEP}', '{"operations": [{"name": "a", "value": DEEP}]}', "DEEP"])
def test_a_deep_list_is_malformed(server: Server, part: str, depth: int):
    content = part.replace("DEEP", "[" * depth + "]" * depth)

    assert server.ask("admin", "PATCH", "/default", content=content, headers=JSON).status_code == 400


def test_attack_41_a_secret_is_in_no_answer_no_log_and_no_file(server: Server):
    """Altered, described, rolled back, refused and denied: answers only show whether there is one."""
    server.policies.write_text(
        "policies: [{name: none, class: forbidden_keys, params: {keys: [spark.app.forbidden]}}]\n"
    )
    token = set_("spark.app.token", CANARY)
    path = "/dags/flights/tasks/report"
    asked = [
        server.alter("ann", path, token, set_("spark.app.plain", "seen")),
        server.ask("ann", "GET", f"{path}?synonyms=true"),
        server.alter("ann", path, {"op": "DELETE", "name": "spark.app.token"}),
        server.ask("ann", "POST", f"{path}/rollback", json={}),
        server.ask("ann", "GET", f"{path}/history"),
        server.alter("ann", path, token, set_("spark.executor.cores", CANARY)),
        server.alter("ann", path, token, token),
        server.alter("ann", path, token, set_("spark.app.forbidden", "x")),
        server.alter("ann", path, token, if_version=77),
        server.alter("ann", "/dags/billing", token),
        server.alter(None, "/dags/billing", token),
        server.ask("ann", "GET", f"{path}?all={CANARY}"),
    ]

    assert [one.status_code for one in asked] == [200, 200, 200, 200, 200, 422, 422, 403, 409, 403, 401, 400]
    assert asked[7].json()["kind"] == "denied"
    (row,) = [row for row in asked[1].json()["rows"] if row["key"] == "spark.app.token"]
    assert (row["value"], row["source"]) == (None, "DYNAMIC_TASK_CONFIG")
    assert not any(CANARY in one.text for one in asked)
    command = ["grep", "-r", "--binary-files=text", "-n", "-I", CANARY, str(server.deployment.home)]
    found = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    assert [line for line in found.splitlines() if f"all={CANARY}" not in line] == []


def test_a_denied_change_is_in_the_log_with_its_user_and_policy_and_a_dry_run_is_not(server: Server):
    server.policies.write_text(
        "policies: [{name: none of these, class: forbidden_keys, params: {keys: [spark.app.f]}}]\n"
    )
    body = {"operations": [set_("spark.app.f", CANARY)], "validate_only": True}

    asked = [
        server.ask("ann", "PATCH", "/dags/flights", json=body),
        server.alter("ann", "/dags/flights/tasks/report", set_("spark.app.f", CANARY)),
    ]

    assert [one.status_code for one in asked] == [403, 403]
    (line,) = [line for line in server.log.read_text().splitlines() if "'none of these'" in line]
    assert "Denied to user ann: Policy 'none of these' denies the change of task 'report' of DAG 'flights' " in line


def cookie(server: Server, user: str) -> dict[str, str]:
    """Return what a browser sends by itself."""
    return {"Cookie": f"_token={server.token(user)}"}


FORMS = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/json", ""]


@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize(
    ("method", "path"), [("PATCH", "/default"), ("POST", "/default/rollback"), ("POST", "/default/refresh")]
)
def test_attack_41_a_form_of_another_site_changes_nothing(server: Server, kind: str, method: str, path: str):
    """A browser sends such a form, with the cookie, without asking the server before."""
    server.alter("admin", "/default", set_("spark.app.a", "b"))
    body = json.dumps({"operations": [set_("spark.app.a", "c")]} if method == "PATCH" else {})

    answer = server.ask(None, method, path, content=body, headers={**cookie(server, "admin"), "Content-Type": kind})

    assert answer.status_code == 415
    assert len(server.ask("admin", "GET", "/default/history").json()["rows"]) == 1


@pytest.mark.parametrize(
    ("site", "status"), [("same-origin", 200), ("none", 200), ("same-site", 400), ("cross-site", 400)]
)
def test_attack_41_a_page_of_another_site_changes_nothing(server: Server, site: str, status: int):
    headers = {**cookie(server, "admin"), "Sec-Fetch-Site": site}

    answer = server.ask(None, "PATCH", "/default", json={"operations": [set_("spark.app.a", "b")]}, headers=headers)

    assert answer.status_code == status


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        pytest.param("{address}", 200, id="this server"),
        pytest.param("https://airflow.example", 200, id="base_url"),
        pytest.param("http://evil.example", 400, id="another host"),
        pytest.param("http://127.0.0.1:1", 400, id="another port"),
        pytest.param("http://airflow.example.evil.example", 400, id="a host that begins alike"),
        pytest.param("null", 400, id="a page without an origin"),
        pytest.param("", 400, id="empty"),
    ],
)
def test_attack_41_a_page_of_another_origin_changes_nothing(server: Server, origin: str, status: int):
    """Over plain HTTP, browsers send no Sec-Fetch-Site."""
    headers = {**cookie(server, "admin"), "Origin": origin.format(address=server.address)}

    answer = server.ask(None, "PATCH", "/default", json={"operations": [set_("spark.app.a", "b")]}, headers=headers)

    assert answer.status_code == status


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        pytest.param("a.example:80", "http://a.example", 200, id="of http"),
        pytest.param("a.example:443", "https://a.example", 200, id="of https"),
        pytest.param("a.example:443", "http://a.example", 400, id="of https, from a page of http"),
        pytest.param("a.example:8080", "http://a.example", 400, id="another port"),
        pytest.param("", "null", 400, id="no host, and a page without an origin"),
    ],
)
def test_the_host_of_a_request_may_have_the_default_port_of_its_origin(
    server: Server, host: str, origin: str, status: int
):
    headers = {**cookie(server, "admin"), "Host": host, "Origin": origin}

    answer = server.ask(None, "PATCH", "/default", json={"operations": [set_("spark.app.a", "b")]}, headers=headers)

    assert answer.status_code == status


def test_a_proxy_that_replaces_the_host_does_not_matter_to_a_browser_that_says_same_origin(server: Server):
    headers = {**cookie(server, "admin"), "Origin": "https://proxy.example", "Sec-Fetch-Site": "same-origin"}

    answer = server.ask(None, "PATCH", "/default", json={"operations": [set_("spark.app.a", "b")]}, headers=headers)

    assert answer.status_code == 200


def test_attack_41_a_body_that_never_ends_is_not_read(server: Server):
    """Who has no right gets not even that far."""
    huge = json.dumps({"operations": [set_("spark.app.a", "x" * 5 * 1024 * 1024)]})
    headers = {"Content-Type": "application/json"}

    asked = [server.ask(user, "PATCH", "/default", content=huge, headers=headers) for user in ("admin", "viewer", None)]

    assert [answer.status_code for answer in asked] == [413, 403, 401]


@pytest.mark.parametrize("path", ["/", "/v1", "/v2/default", "/docs", "/redoc", "/v1/default/"])
def test_attack_41_there_is_nothing_beside_the_routes(server: Server, path: str):
    answer = server.client.get(f"{server.address}/config-providers{path}")

    assert (answer.status_code, answer.json()["kind"]) == (404, "malformed")


def test_attack_41_no_answer_is_kept(server: Server):
    for user in ("admin", None):
        answer = server.ask(user, "GET", "/default")
        assert (answer.headers["cache-control"], answer.headers["x-content-type-options"]) == ("no-store", "nosniff")
