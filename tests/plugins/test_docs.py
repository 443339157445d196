"""The page of the REST interface: its example runs, and its tables name all there is."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess

import pytest

from airflow_config_providers.deployment.failures import FAILURES
from airflow_config_providers.plugins.app import make_app
from airflow_config_providers.plugins.request import LONGEST_BODY
from tests.cli.conftest import Cli
from tests.cli.test_docs import examples
from tests.docs.pages import ROOT, snippets
from tests.plugins.serving import Server, password, set_

COMMANDS = ROOT / "docs" / "reference" / "command-line.md"
PAGE = ROOT / "docs" / "reference" / "rest-interface.md"


@pytest.mark.skipif(not shutil.which("curl"), reason="needs curl")
def test_the_example_runs(server: Server, tmp_path):
    server.alter("ann", "/dags/flights", set_("spark.app.owner", "ann"))
    for snippet in snippets(PAGE):
        if snippet.title:
            (tmp_path / snippet.title).write_text(snippet.text)
    (example,) = [snippet.text for snippet in snippets(PAGE) if snippet.language == "sh"]

    script = example.replace("https://airflow.example.com", server.address)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    described, references, change = json.loads(f"[{done.stdout.replace('}{', '},{')}]")
    assert [row["key"] for row in described["rows"]] == ["spark.executor.memory"]
    assert references["rows"] == []
    changed = {row["key"]: row["value"] for row in change["rows"]}
    assert changed == {
        "spark.executor.memory": "8g",
        "spark.app.db.password": "${vault:apps/db:password}",
        "spark.app.owner": None,
        "spark.jars.packages": "org.postgresql:postgresql:42.7.4",
    }


def test_the_examples_of_the_command_line_run(cli: Cli, server: Server):
    (server.deployment.home / "token").write_text(server.token("ann"))
    texts = [snippet.text for snippet in snippets(COMMANDS) if snippet.language == "sh"]
    words = [example for text in texts for example in examples(text, server=True)]

    for example in words:
        asked = shlex.split(example.replace("https://airflow.example.com", server.address))
        more = ("--password-file", "-") if "--username" in asked else ()
        done = cli.airflow("config-providers", *asked, *more, input=password("ann"))
        assert (done.code, done.errors) == (0, []), example
    assert len(words) == 2


def test_the_page_names_every_route_and_no_other():
    routes = [
        f"{method} {route.path.replace(':path', '')}"
        for route in make_app().routes
        for method in getattr(route, "methods", ())  # the files of the page have none
    ]

    resources = ("/v1/default", "/v1/dags/{dag_id}", "/v1/dags/{dag_id}/tasks/{task_id}")
    described = {
        route.replace(" R", f" {resource}")
        for route in re.findall(r"^\| `((?:GET|PATCH|POST) [^`]*)` \|", PAGE.read_text(), re.MULTILINE)
        for resource in resources
    }

    assert sorted(described) == sorted(routes)


def test_the_page_names_every_way_to_fail():
    rows = re.findall(r"^\| ([\d, ]+) \| `(\w+)` \|", PAGE.read_text(), re.MULTILINE)

    assert {(failure.kind, failure.status) for failure in FAILURES} <= {
        (kind, int(status)) for statuses, kind in rows for status in statuses.split(", ")
    }
    assert f"{LONGEST_BODY:,} bytes" in PAGE.read_text()
