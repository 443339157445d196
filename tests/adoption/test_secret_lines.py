"""The lines that must not be shown."""

from __future__ import annotations

import ast
import textwrap

import pytest

from airflow_config_providers.adoption.secret_lines import secret_lines

CANARY = "c4nary-of-a-line"


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(f'PASSWORD = "{CANARY}"', id="assignment"),
        pytest.param(f'PASSWORD: str = "{CANARY}"', id="annotated"),
        pytest.param(f'settings.password = "{CANARY}"', id="attribute"),
        pytest.param(f'conf["spark.app.token"] = "{CANARY}"', id="item"),
        pytest.param(f'conf = {{"spark.app.token": "{CANARY}"}}', id="entry"),
        pytest.param(f'connect(password="{CANARY}")', id="argument"),
        pytest.param(f'conf.setdefault("spark.app.password", "{CANARY}")', id="beside-its-name"),
        pytest.param(f'os.getenv("PASSWORD", default="{CANARY}")', id="default-of-a-variable"),
        pytest.param(f'conf = dict([("spark.app.password", "{CANARY}")])', id="pair"),
        pytest.param(f'def f(password="{CANARY}"): ...', id="default"),
        pytest.param(f'def f(*, password="{CANARY}"): ...', id="keyword-only-default"),
        pytest.param(f'if (token := "{CANARY}"): ...', id="walrus"),
        pytest.param(f'password == "{CANARY}"', id="comparison"),
        pytest.param(f'x = "jdbc:postgresql://user:{CANARY}@db/x"', id="in-a-url"),
        pytest.param(f'x = f"jdbc:postgresql://{{user}}:{CANARY}@db/x"', id="in-an-f-string"),
        pytest.param(f'"""\nConnect with password={CANARY}\n"""', id="docstring"),
        pytest.param(f"# password: {CANARY}", id="comment"),
        pytest.param(f"x = 1  # the token is {CANARY}", id="comment-at-the-end"),
        pytest.param(f'P = "{CANARY}"\nconf = {{"spark.app.password": P}}', id="through-a-name"),
        pytest.param(f'A = "{CANARY}"\nB = A\nconf = {{"spark.app.password": B}}', id="through-two-names"),
        pytest.param(f'token = "{CANARY}"\nother = "{CANARY}"', id="the-same-elsewhere"),
        pytest.param(f'token = (\n    "c4nary"\n    "{CANARY}"\n)', id="several-lines"),
        pytest.param(f'token = "{{{{ ds }}}}-{CANARY}"', id="beside-a-template"),
        pytest.param(f'token = "${{vault:a:b}}-{CANARY}"', id="beside-a-reference"),
        pytest.param(f'token = b"{CANARY}"', id="bytes"),
        pytest.param(f'class Secrets:\n    DB = "{CANARY}"', id="in-a-class"),
        pytest.param(f'def db_password():\n    if x:\n        return "{CANARY}"', id="returned"),
        pytest.param(f'for password in ["{CANARY}"]: ...', id="loop"),
        pytest.param(f'x = [f(token) for token in ("{CANARY}",)]', id="comprehension"),
        pytest.param(f'token = "{CANARY}"\nother = "c4nary\\x2d{CANARY[7:]}"', id="the-same-in-escapes"),
        pytest.param(f'token = "a\\\\{CANARY}"\nother = "a\\\\{CANARY}"', id="the-same-with-a-backslash"),
        pytest.param(f'token = b"{CANARY}"\nother = b"{CANARY}"', id="the-same-bytes"),
        pytest.param(f'x = "a;password=%s" % (\n    "{CANARY}"\n)', id="formatted-with-a-percent-sign"),
        pytest.param(f'x = "a;password={{}}".format(\n    "{CANARY}"\n)', id="formatted-by-a-method"),
        pytest.param(f'x = "a" + ";password=" + (\n    "{CANARY}"\n)', id="added"),
        pytest.param(f'x = "password=" + {"a + " * 1200}"{CANARY}"', id="in-a-long-sum"),
        pytest.param(f'def db_password():\n    return (\n        a +\n        "{CANARY}"\n    )', id="sum-returned"),
        pytest.param(f'def db_password():\n    x = "{CANARY}"\n    return x', id="returned-through-a-name"),
        pytest.param(f'conf = {{f"spark.app.{{x}}.password": "{CANARY}"}}', id="under-an-f-string"),
        pytest.param(f'conf = {{"spark.app.pass" + "word": "{CANARY}"}}', id="under-a-sum"),
        pytest.param(f'conf = {{"spark.app.%s.password" % x: "{CANARY}"}}', id="under-a-formatted-string"),
        pytest.param(f'conf["spark.app.{{}}.password".format(x)] = "{CANARY}"', id="under-the-result-of-a-method"),
        pytest.param(f'K = "spark.app.password"\nconf = {{K: "{CANARY}"}}', id="under-a-variable"),
        pytest.param(f'K = f"spark.{{x}}.password"\nconf[K] = "{CANARY}"', id="item-under-a-variable"),
        pytest.param(f'KEY = """-----BEGIN PRIVATE KEY-----\n{CANARY}\n"""', id="private-key"),
    ],
)
def test_a_secret_is_found(source: str):
    lines = source.split("\n")
    shown = "\n".join(
        line for number, line in enumerate(lines, 1) if number not in secret_lines(source, ast.parse(source))
    )

    assert "c4nary" not in shown


@pytest.mark.parametrize(
    "source",
    [
        pytest.param('conf = {"spark.app.password": "{{ conn.db.password }}"}', id="template"),
        pytest.param('conf = {"spark.app.password": "${vault:apps/db:password}"}', id="reference"),
        pytest.param('conf = {"spark.executor.memory": "4g"}', id="no-secret"),
        pytest.param('K = "spark.app.x"\nconf = {K: "1", "spark.app." + x: "2"}', id="under-other-names"),
        pytest.param('conf = {f"spark.app.{x}.password": "{{ conn.db.password }}"}', id="template-under-an-f-string"),
        pytest.param('conf = {"spark.authenticate.secret.enabled": "true"}', id="switch"),
        pytest.param('def db_password():\n    return Variable.get("db")', id="returned-variable"),
        pytest.param("# the memory of the executors", id="comment"),
    ],
)
def test_other_lines_are_shown(source: str):
    assert secret_lines(textwrap.dedent(source), ast.parse(source)) == frozenset()
