"""A secret that a DAG file has together with a sensitive name is in no patch, wherever else the file has it."""

from __future__ import annotations

import ast
from itertools import pairwise

import pytest

from airflow_config_providers.adoption.patch_lines import SecretTexts
from tests.adoption.proposing import patch_around, patch_of, removal_of

CANARY = "c4nary-of-a-line"
SECRETS = [
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
    pytest.param(f'def f():\n    return "{CANARY}"\npassword = f()', id="through-a-function"),
    pytest.param(f'class Settings:\n    a = "{CANARY}"\npassword = Settings.a', id="through-a-class"),
    pytest.param(f'KEY = """-----BEGIN PRIVATE KEY-----\n{CANARY}\n"""', id="private-key"),
]
IN_MORE = {
    *("in-a-url", "in-an-f-string", "docstring", "comment", "comment-at-the-end", "private-key", "several-lines"),
    *("beside-a-template", "beside-a-reference", "the-same-with-a-backslash"),
}
"""Where the string has more than the secret, it is the whole of it that is looked for."""


@pytest.mark.parametrize("source", SECRETS)
def test_around_a_change_no_secret_is_shown(source: str):
    shown = patch_around(source)

    assert "c4nary" not in shown
    assert "+ConfiguredSparkSubmitOperator(" in shown


@pytest.mark.parametrize("source", [one for one in SECRETS if one.id not in IN_MORE])
@pytest.mark.parametrize(
    "value",
    [
        pytest.param("c4nary-of-a-line", id="alone"),
        pytest.param("http://x/c4nary-of-a-line", id="in-a-url"),
        pytest.param("a;c4nary-of-a-line;b", id="in-a-list"),
        pytest.param("xc4nary-of-a-linex", id="inside-a-word"),
    ],
)
def test_a_value_that_has_a_secret_is_not_removed_in_a_patch(source: str, value: str):
    found = removal_of(value, beside=source)

    assert (patch_of(found), found.removed) == ("", 0)
    assert any("no change of it is shown" in one.reason for one in found.by_hand)


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(f'"spark.app.password": "{CANARY}"', id="value"),
        pytest.param('"spark.app.password": P', id="variable"),
        pytest.param('"spark.app.password": "a" + Q', id="sum-of-variables"),
        pytest.param(f'K: "{CANARY}"', id="under-a-variable"),
        pytest.param(f'f"spark.{{x}}.y": "{CANARY}"', id="under-an-f-string"),
    ],
)
def test_what_another_task_has_under_a_sensitive_key_is_looked_for(entry: str):
    found = removal_of(CANARY, beside=f'P = "{CANARY}"\nQ = P\nSparkSubmitOperator(conf={{{entry}}})')

    assert (patch_of(found), found.removed) == ("", 0)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param('conf = {"spark.app.password": "{{ conn.db.password }}"}', id="template"),
        pytest.param('conf = {"spark.app.password": "${vault:apps/db:password}"}', id="reference"),
        pytest.param('conf = {"spark.executor.memory": "4g"}', id="no-secret"),
        pytest.param('K = "spark.app.x"\nconf = {K: "1", "spark.app." + x: "2"}', id="under-other-names"),
        pytest.param('conf = {"spark.authenticate.secret.enabled": "true"}', id="switch"),
        pytest.param('conf = {"spark.app.password.length": 999.5}', id="small-number"),
        pytest.param('def db_password():\n    return Variable.get("db")', id="returned-variable"),
        pytest.param('"""Reads the password of nightly."""', id="docstring"),
        pytest.param("# the memory of the executors", id="comment"),
    ],
)
def test_nothing_is_looked_for_without_a_secret(source: str):
    assert SecretTexts.of(ast.parse(source), set(), []).words == ()


@pytest.mark.parametrize("number", ["1000", "-1000", "1000.5", "1000j"])
def test_a_large_number_is_looked_for(number: str):
    assert SecretTexts.of(ast.parse(f"PIN = password = {number}"), set(), []).words == (number.lstrip("-"),)


def test_a_long_chain_of_variables_is_followed():
    names = [f"v{n}" for n in range(3_000)]
    lines = [f'{names[0]} = "{CANARY}"', *(f"{new} = {old}" for old, new in pairwise(names))]
    source = "\n".join([*reversed(lines), f"password = {names[-1]}"])

    assert SecretTexts.of(ast.parse(source), set(), []).words == (CANARY,)
