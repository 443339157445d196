"""The commands behind ``--server``: what they print and end with is what they do in the database."""

from __future__ import annotations

import json
import re
import shlex

import pytest

from tests.cli.conftest import Cli, Ended
from tests.plugins.serving import Server, password

INGEST = "--dag flights --task nightly.ingest"
ODD = "x\nerror: y\x1b[31m?#%2E;é"

SESSIONS = [
    pytest.param(
        [
            f"alter {INGEST} --add-config spark.executor.memory=8g",
            "alter --dag flights --add-config spark.app.a=b,spark.app.list=[a,b] --output json",
            f"describe {INGEST}",
            f"describe {INGEST} --all --output json",
            f"describe {INGEST} --key spark.executor.memory --synonyms --output plain",
            f"alter {INGEST} --delete-config spark.executor.memory",
            f"history {INGEST} --output yaml",
            "rollback --dag flights --to-version 0 --validate-only",
            "rollback --dag flights --to-version 0 --leave-out spark.app.a --validate-only",
            f"rollback {INGEST}",
            "history --dag flights --output json",
        ],
        id="a task and its DAG",
    ),
    pytest.param(
        [
            "describe --dag flights --task stock_copy --output json",
            "describe --dag flights --task stock_copies --output json",
            "describe --dag flights --task stock_queries",
            "describe --dag flights --task tuned",
            "describe --dag flights --task counts",
        ],
        id="jobs of other operators",
    ),
    pytest.param(
        [
            "alter --default --add-config-file -",
            "alter --default --append spark.jars.packages=e:f:3",
            "describe --default",
            "describe --default --output json",
            "describe --default --synonyms",
            "history --default --output json",
            "rollback --default --to-version 0",
            "describe --default",
        ],
        id="a secret",
    ),
    pytest.param(
        [
            "describe --default",
            "history --default",
            "rollback --default",
            "describe --dag flights --task done",
            "describe --dag flights --task differing",
            "describe --dag flight",
            "describe --dag flights --task repor",
            "describe --dag flights --task nightly",
            "describe --default --key spark.executor.memori --key odd",
            "alter --default --add-config spark.executor.cores=x,config.providers=y",
            "alter --default --add-config a=b --delete-config a",
            "alter --default --append spark.app.a=b",
            "alter --default --add-config a=b --if-version 7",
            "alter --default --add-config spark.app.a=b --validate-only",
            f"alter --default --add-config spark.app.a={'x' * 70_000}",
            "alter --dag flights",
            "describe",
        ],
        id="what is wrong",
    ),
    pytest.param(
        [
            f"describe --default --key {shlex.quote(ODD)}",
            f"alter --default --add-config {shlex.quote(ODD)}=1",
            "describe --dag a.b --task invoices",
            "describe --dag a --task b.invoices",
            "history --dag a%2Eb",
        ],
        id="odd names",
    ),
]


def as_both(words: str, done: Ended, user: str) -> tuple[str, int, str, str]:
    """Return what does not depend on the user and the time."""
    out = re.sub(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", "NOW", done.out)
    if words.startswith("history"):
        out = re.sub(rf"\b{user}\b", "WHO", out)
    return words, done.code, out, done.err


def names(cli: Cli) -> str:
    """Return the users in the history if the command works in the database."""
    cli("alter --default --add-config spark.app.who=me")
    return str(cli.json("history --default")[0]["by"])


@pytest.mark.parametrize("session", SESSIONS)
def test_a_server_gives_what_the_database_gives(cli: Cli, server: Server, session: list[str]):
    text = "spark.app.token=hunter2-token\nspark.app.a=b\n"
    me = names(cli)
    server.forget()
    here = [as_both(words, cli(words, input=text), me) for words in session]
    server.forget()

    there = []
    for words in session:
        done = cli.airflow("config-providers", *shlex.split(words), input=text, environ=server.environ("admin"))
        there.append(as_both(words, done, "admin"))

    assert there == here
    assert "hunter2-token" not in str(there)


@pytest.mark.parametrize("task", ["--dag ..", f"--dag {shlex.quote(ODD)}", f"--dag flights --task {shlex.quote(ODD)}"])
def test_a_server_is_not_asked_for_a_name_that_leads_elsewhere_in_an_address(cli: Cli, server: Server, task: str):
    words = shlex.split(f"config-providers describe {task}")
    done = cli.airflow(*words, environ=server.environ("admin"))
    assert done.code == cli.airflow(*words).code == 3
    assert "its name would lead elsewhere" in done.err


def asked(cli: Cli, words: str, *, input: str = "", **environ: str) -> Ended:  # noqa: A002
    return cli.airflow("config-providers", *shlex.split(words), input=input, environ=environ)


@pytest.mark.parametrize(
    ("user", "value", "verdict"),
    [
        pytest.param("ann", "2g", "applies", id="applies"),
        pytest.param("ann", "3x", "not allowed", id="refused"),
        pytest.param("ben", "3x", "not set", id="without-the-permission-to-change"),
    ],
)
def test_why_not_is_answered_through_the_server(cli: Cli, server: Server, user: str, value: str, verdict: str):
    words = f"describe --dag flights --task copy --why-not spark.executor.memory={value} --output json"
    done = asked(cli, words, **server.environ(user))

    assert (done.code, [row["verdict"] for row in done.rows]) == (0, [verdict])


def test_another_deployment_is_a_side_of_a_difference(cli: Cli, server: Server):
    """Its server is that of the same database here, so nothing differs but what it does not show."""
    environ = server.environ("ann")
    address = environ.pop("AIRFLOW_CONFIG_PROVIDERS_SERVER")
    done = asked(cli, f"describe --dag flights --task copy --diff now {address} --output json", **environ)

    assert done.code == 0
    assert [(row["key"], row["change"], row["changed_by"]) for row in done.rows] == [
        ("spark.app.base", "not read here", None)
    ]
    assert any(note.startswith(f"{address}: ") for note in done.notes)


def test_the_user_of_the_token_makes_the_change(cli: Cli, server: Server):
    done = asked(cli, "alter --dag flights --add-config spark.app.a=b", **server.environ("ann"))

    assert (done.code, done.err) == (0, "")
    assert cli.json("history --dag flights")[0]["by"] == "ann"
    assert server.deployment.query("select owner, dag_id from log where event = 'config_providers.alter'") == [
        ("ann", "flights")
    ]


@pytest.mark.parametrize(
    "words", ["describe --dag billing", "alter --dag billing --add-config a=b", "describe --default"]
)
def test_what_the_user_may_not_do_is_denied(cli: Cli, server: Server, words: str):
    done = asked(cli, words, **server.environ("ann"))

    assert (done.code, done.out) == (4, "")
    assert "You do not have permission to" in done.err


def test_a_version_that_is_not_the_newest_is_refused(cli: Cli, server: Server):
    done = asked(cli, "alter --dag flights --add-config spark.app.a=b --if-version 9", **server.environ("ann"))

    assert done.code == 3
    assert "version 9" in done.err


GIVEN = [
    pytest.param("--token-file token", "", id="a file"),
    pytest.param("--token-file -", "token", id="standard input"),
    pytest.param("--username ann --password-file password", "", id="a password in a file"),
    pytest.param("--username ann --password-file -", "password", id="a password on standard input"),
]


@pytest.mark.parametrize(("words", "given"), GIVEN)
def test_the_token_comes_from_where_it_is_said_to(cli: Cli, server: Server, words: str, given: str):
    texts = {"token": f"{server.token('ann')}\n", "password": f"{password('ann')}\n", "": ""}
    for name in ("token", "password"):
        (server.deployment.home / name).write_text(texts[name])

    done = asked(
        cli, f"describe --dag flights --server {server.address}/ {words}", input=texts[given], AIRFLOW_CLI_TOKEN="odd"
    )

    assert (done.code, done.err) == (0, "")


WRONG = [
    pytest.param("", {}, 2, "No credentials for the server.", id="nobody"),
    pytest.param("", {"AIRFLOW_CLI_TOKEN": "odd"}, 4, "Invalid JWT token", id="no token"),
    pytest.param("", {"AIRFLOW_CLI_TOKEN": "o d\nd"}, 3, "does not contain a valid token", id="something else"),
    pytest.param("", {"AIRFLOW_CLI_TOKEN": "Bearer odd"}, 3, "Remove 'Authorization: Bearer'", id="a header"),
    pytest.param("--token-file nowhere", {}, 3, "cannot be read", id="no file"),
    pytest.param("--username ann", {}, 2, "The password cannot be prompted for", id="nobody to ask for a password"),
    pytest.param("--username ann --token-file x", {}, 2, "Keep one of them", id="two ways"),
    pytest.param("--password-file x", {}, 2, "--password-file requires --username", id="a password of nobody"),
    pytest.param("--username ann --password-file passwords.json", {}, 4, "does not accept", id="a wrong password"),
]


@pytest.mark.parametrize(("words", "environ", "code", "told"), WRONG)
def test_who_is_not_known_is_told_what_to_do(
    cli: Cli, server: Server, words: str, environ: dict[str, str], code: int, told: str
):
    done = asked(cli, f"describe --dag flights --server {server.address} {words}", **environ)

    assert (done.code, done.out) == (code, "")
    assert told in done.err
    assert all(text not in done.err for text in environ.values())


@pytest.mark.parametrize("command", ["policies test", "providers list", "encoder rotate"])
def test_what_needs_the_deployment_s_machine_says_so(cli: Cli, server: Server, command: str):
    done = asked(cli, command, **server.environ("admin"))

    assert (done.code, done.out) == (2, "")
    assert f"'{command}' works only on a machine of the deployment" in done.err


def test_a_server_without_the_interface_is_told_from_one_with_it(cli: Cli, server: Server):
    done = asked(
        cli,
        f"describe --default --server {server.address}/api/v2",
        AIRFLOW_CLI_TOKEN=server.token("admin"),
    )

    assert done.code == 3
    assert "has no interface of airflow-config-providers (404)" in done.err


def test_a_command_needs_no_database_of_its_own(cli: Cli, server: Server):
    elsewhere = {"AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": "sqlite:////nowhere/airflow.db"}

    done = asked(cli, f"describe {INGEST} --output json", **server.environ("ann"), **elsewhere)

    assert (done.code, done.err) == (0, "")
    assert {row["key"] for row in json.loads(done.out)} == {"spark.driver.memory"}
