"""A patch shows no string, number or comment of which it is not known what it is."""

from __future__ import annotations

import ast

import pytest

from airflow_config_providers.adoption.edits import Positions, edited
from airflow_config_providers.adoption.patch_lines import lines_with_text
from airflow_config_providers.adoption.references import has_hidden_text
from tests.adoption.proposing import USER, patch_around, patch_of, proposal_of, removal_of

CANARY = "c4nary"
STATEMENTS = [
    pytest.param(f'match token:\n    case "{CANARY}":\n        pass', id="match"),
    pytest.param(f'match x:\n    case {{"password": "{CANARY}"}}:\n        pass', id="match-of-a-mapping"),
    pytest.param(f'x = dict(zip(["password"], ["{CANARY}"]))', id="zip"),
    pytest.param(f'class Password:\n    def value(self):\n        return "{CANARY}"', id="method-of-a-class"),
    pytest.param(f'class Password(Enum):\n    DB = auto("{CANARY}")', id="enum"),
    pytest.param(f'x = """\npassword: |\n  {CANARY}\n"""', id="yaml-block"),
    pytest.param(f'x = "curl -u user:{CANARY} https://x"', id="curl"),
    pytest.param(f'x = "mysql -p{CANARY} password"', id="mysql"),
    pytest.param(f'x = "run --password {CANARY}"', id="option"),
    pytest.param(f'x = "export PGPASSWORD={CANARY}"', id="export"),
    pytest.param(f'x = "-Dkey.password={CANARY}"', id="property-of-java"),
    pytest.param(f'x = {{k: v for k, v in [("password", "{CANARY}")]}}', id="comprehension"),
    pytest.param(f'setattr(x, "password", "{CANARY}")', id="setattr"),
    pytest.param(f'os.environ["X_PASSWORD"] = "{CANARY}"', id="environment"),
    pytest.param(f'f = functools.partial(g, password="{CANARY}")', id="partial"),
    pytest.param(f'f((password := "{CANARY}"))', id="walrus"),
    pytest.param(f'f = lambda password="{CANARY}": password', id="default-of-a-lambda"),
    pytest.param(f'x = f"password {{a}} {CANARY}"', id="f-string"),
    pytest.param(f'x = "password {{}}".format("{CANARY}")', id="format"),
    pytest.param(f'x = "password %s" % ("{CANARY}",)', id="percent-sign"),
    pytest.param(f'@with_password("{CANARY}")\ndef f(): ...', id="decorator"),
    pytest.param(f'Password = Literal["{CANARY}"]', id="type-alias"),
    pytest.param(f'x: Literal["{CANARY}"] = password()', id="annotation"),
    pytest.param(f'try:\n    f(password)\nexcept E("{CANARY}"):\n    pass\nelse:\n    token = b"{CANARY}"', id="try"),
    pytest.param(f'assert f(token), "{CANARY}"', id="assertion"),
    pytest.param(f'hunter("{CANARY}")', id="without-a-sensitive-name"),
    pytest.param(f"f(1)  # {CANARY}", id="comment"),
    pytest.param(f'x = f"""\n{{a}}\n{CANARY}\n"""', id="lines-of-an-f-string"),
]
NOT_NAMED = {"curl", "without-a-sensitive-name", "comment", "lines-of-an-f-string"}


@pytest.mark.parametrize("statement", STATEMENTS)
def test_around_a_change_no_text_is_shown(statement: str):
    shown = patch_around(statement)

    assert CANARY not in shown
    assert "+ConfiguredSparkSubmitOperator(" in shown


@pytest.mark.parametrize("statement", [one for one in STATEMENTS if one.id not in NOT_NAMED])
def test_a_value_that_is_also_beside_a_sensitive_name_is_not_shown(statement: str):
    found = removal_of(CANARY, beside=statement)

    assert (patch_of(found), found.removed) == ("", 0)
    assert ["no change of it is shown" in one.reason for one in found.by_hand] == [True]


@pytest.mark.parametrize("value", ['b"c4nary"', "87654321"], ids=["bytes", "number"])
def test_a_value_that_is_no_string_is_not_shown_if_it_is_also_beside_a_sensitive_name(value: str):
    found = proposal_of(f'f(password={value})\nSparkSubmitOperator(conf={{"spark.app.x": {value}, {USER}}})\n')

    assert patch_of(found) == ""


@pytest.mark.parametrize(
    "argument",
    [
        pytest.param(f'application_args=["{CANARY}"]', id="other-argument"),
        pytest.param(f'params={{"x": "{CANARY}"}}', id="mapping"),
        pytest.param(f'**dict(x="{CANARY}")', id="keywords"),
        pytest.param(f'**{{"params": "{CANARY}"}}', id="keywords-of-a-mapping"),
        pytest.param(f'name=f("{CANARY}")', id="call"),
        pytest.param(f'name=f"{CANARY}{{x}}"', id="f-string"),
        pytest.param('retries="h" + "u" + "n" + "c4nary"', id="pieces"),
        pytest.param('params=[b"c4nary"]', id="bytes"),
        pytest.param("pin=12345678", id="number"),
        pytest.param("pin=-1234.5", id="other-number"),
        pytest.param("name=\"{{ x | default('c4nary') }}\"", id="default-in-a-template"),
        pytest.param('name="a{# c4nary #}"', id="comment-in-a-template"),
        pytest.param('pool="{{ params.x or 12345678 }}"', id="number-in-a-template"),
        pytest.param('name="jdbc://u:c4nary@x"', id="in-a-url"),
        pytest.param('env_vars={"X_PASSWORD": 12345678}', id="number-under-a-sensitive-key"),
    ],
)
def test_a_line_with_an_unknown_text_stays_by_hand(argument: str):
    found = proposal_of(f'SparkSubmitOperator(task_id="x", conf={{{USER}}}, {argument})\n', classes=True)

    assert patch_of(found).count("\n+") == 0 or not found.replacements
    assert not any(text in patch_of(found) for text in (CANARY, "12345678", "1234.5"))
    assert any("so no change of it is shown" in one.reason for one in found.by_hand)


@pytest.mark.parametrize(
    "comment",
    [
        pytest.param(f"# was {CANARY}", id="word-with-a-digit"),
        pytest.param("# hUnTer", id="mixed-case"),
        pytest.param("# hun-ter+x", id="signs"),
        pytest.param("# noqa: c4nary", id="for-a-linter"),
        pytest.param(f"# {'abcdefghij' * 3}", id="long-word"),
        pytest.param(f"# {chr(39) * 100_000}0", id="quotes"),
    ],
)
def test_a_line_with_a_comment_that_is_no_sentence_stays_by_hand(comment: str):
    found = proposal_of(f"SparkSubmitOperator(conf={{\n    {USER},  {comment}\n}})\n")

    assert patch_of(found) == ""


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f'SparkSubmitOperator(task_id="etl", application="/etl.py", conf={{{USER}}})\n', id="names"),
        pytest.param(f'SparkSubmitOperator(conn_id="spark_prod", pool="nightly", conf={{{USER}}})\n', id="more-names"),
        pytest.param(f'SparkSubmitOperator(executor_memory="2048m", retries=3, conf={{{USER}}})\n', id="of-spark"),
        pytest.param(f'SparkSubmitOperator(conf={{{USER}, "spark.app.mode": "fast"}})\n', id="other-entry"),
        pytest.param(
            f'SparkSubmitOperator(args=["{{{{ ds }}}}", "${{vault:a:b}}"], conf={{{USER}}})\n', id="templates"
        ),
        pytest.param(f'SparkSubmitOperator(params={{}}, x="", y="True", z=None, conf={{{USER}}})\n', id="switches"),
        pytest.param(
            f"SparkSubmitOperator(conf={{\n    {USER},  # the user (of the app), that's all!\n}})\n", id="comment"
        ),
        pytest.param(f"SparkSubmitOperator(conf={{\n    {USER},  # noqa: E501, S105\n}})\n", id="noqa"),
        pytest.param(f"SparkSubmitOperator(conf={{\n    {USER},  # type: ignore[arg-type]\n}})\n", id="type-ignore"),
    ],
)
def test_a_line_with_only_known_texts_changes(text: str):
    found = proposal_of(text)

    assert "${connection:db:login}" in patch_of(found)
    assert found.by_hand == ()


DAG_FILE = """'docs'
x = Variable.get("variable")
with DAG("dag", schedule="@daily", tags=["tag"], params={"param": "value"}):
    SparkSubmitOperator(
        task_id="own line",
        conf={
            "key": "{{ conn.db.login }}",
            "other": "other entry",
        },
        application_args=["argument"],
    )
    SparkSubmitOperator(task_id="id", application="path", conf={"inline": "{{ conn.db.host }}", "next": "entry"})
    SparkSubmitOperator(task_id="id2", conf={"inline2": "{{ conn.db.host }}"}, application_args=["argument2"])
f("last")
"""


def test_of_all_strings_of_a_file_only_those_of_changed_entries_and_names_beside_them_are_shown():
    """Each string in turn is replaced by the canary."""
    nodes = [node for node in ast.walk(ast.parse(DAG_FILE)) if isinstance(node, ast.Constant)]
    files = {node.value: edited(DAG_FILE, [Positions(DAG_FILE).replacing(node, f'"{CANARY}"')]) for node in nodes}

    shown = {text for text, file in files.items() if CANARY in patch_of(proposal_of(file))}

    assert shown == {"key", "id", "path", "inline", "next", "entry"}


def test_a_class_whose_line_has_an_unknown_text_says_so():
    found = proposal_of('SparkSubmitOperator(task_id="x", application_args=["secure-me"])\n', classes=True)

    assert [(one.line, one.reason.partition(":")[0]) for one in found.by_hand] == [
        (2, "the class is not changed to ConfiguredSparkSubmitOperator")
    ]


@pytest.mark.parametrize(
    ("line", "has_text"),
    [
        pytest.param("with DAG(x) as dag:", False, id="code"),
        pytest.param("", False, id="empty"),
        pytest.param("x = y", False, id="names"),
        pytest.param("x = ''", True, id="string"),
        pytest.param("x = f''", True, id="f-string"),
        pytest.param("x = rb''", True, id="bytes"),
        pytest.param("x = 1", True, id="number"),
        pytest.param("x = y  #", True, id="comment"),
    ],
)
def test_lines_with_text_are_found(line: str, has_text: bool):
    assert lines_with_text(f"a = b\n{line}\nc = d\n") == (frozenset({2}) if has_text else frozenset())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("jdbc://{{ conn.db.host }}:5432/{{ ds }}", False, id="number-beside-a-template"),
        pytest.param("{{ conn.get('db').password }}", False, id="name-of-a-connection"),
        pytest.param("it's {{ ds }}", False, id="quote-beside-a-template"),
        pytest.param("{{ xs[0] }}", False, id="short-number"),
        pytest.param("{{ var.value.get('x', 'c4nary') }}", True, id="default"),
        pytest.param("{{ conn.db.host }}{{ 'c4nary' }}", True, id="string"),
        pytest.param("{% if x == 'c4nary' %}a{% endif %}", True, id="condition"),
        pytest.param("{{ conn.db.host }}{# c4nary #}", True, id="comment"),
        pytest.param("{{ 12345678 }}", True, id="number"),
    ],
)
def test_a_string_in_a_template_is_found(text: str, expected: bool):
    assert has_hidden_text(text) is expected
