"""References in place of Jinja templates."""

from __future__ import annotations

import pytest

from airflow_config_providers.adoption.references import Providers, reads_secrets, with_references
from airflow_config_providers.core.variable import ConfigVariable, parse
from tests.adoption.proposing import proposal_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("{{ conn.db.password }}", "${connection:db:password}", id="password"),
        pytest.param("{{conn.db.port}}", "${connection:db:port}", id="no-blanks"),
        pytest.param("{{- conn.db.host -}}", "${connection:db:host}", id="stripping"),
        pytest.param("{{ conn.get('my-db').login }}", "${connection:my-db:login}", id="get"),
        pytest.param("{{ conn.db.extra_dejson.a.b }}", "${connection:db:extra.a.b}", id="extra"),
        pytest.param("{{ conn['my-db'].login }}", "${connection:my-db:login}", id="connection-in-brackets"),
        pytest.param("{{ conn.db.extra_dejson['a-b']['c'] }}", "${connection:db:extra.a-b.c}", id="extra-in-brackets"),
        pytest.param('{{ var.value[ "a b" ] }}', "${variable:a b}", id="variable-in-brackets"),
        pytest.param("{{ var.json['limits'].rows['max'] }}", "${variable:limits:rows.max}", id="json-in-brackets"),
        pytest.param("{{ conn.db.get_uri() }}", "${connection:db:uri}", id="uri"),
        pytest.param("{{ var.value.endpoint }}", "${variable:endpoint}", id="variable"),
        pytest.param('{{ var.value.get("a b") }}', "${variable:a b}", id="variable-get"),
        pytest.param("{{ var.json.limits.rows }}", "${variable:limits:rows}", id="json"),
        pytest.param("x://{{ conn.db.host }}/{{ ds }}", "x://${connection:db:host}/{{ ds }}", id="others-stay"),
        pytest.param("plain", "plain", id="plain"),
        pytest.param("a {{- conn.db.host -}} b", "a${connection:db:host}b", id="stripping-blanks"),
        pytest.param('{"a": "{{ conn.db.host }}"}', '{"a": "${connection:db:host}"}', id="json-around-it"),
        pytest.param(
            "{% if params.a %}{{ conn.db.host }}{% else %}x{% endif %}",
            "{% if params.a %}${connection:db:host}{% else %}x{% endif %}",
            id="condition-around-it",
        ),
    ],
)
def test_a_template_becomes_a_reference(text: str, expected: str):
    assert with_references(text, Providers()) == expected


@pytest.mark.parametrize(
    "text",
    [
        "{{ conn.db.password | urlencode }}",
        "{{ conn.db.password or 'x' }}",
        "{{ var.value.get('a', 'default') }}",
        "{{ var.json.limits }}",
        "{{ conn[params.id].password }}",
        "{{ conn['a' ~ 'b'].password }}",
        "{{ conn.db.extra_dejson['a.b'] }}",
        "{{ var.json.limits[0] }}",
        "{% if var.value.a == 'b' %}x{% endif %}",
        "{{ conn.get(params.id).password }}",
        "{{ conn.get('a}b').password }}",
        "{{ conn.db.password }}{{ conn.db.login ~ 'x' }}",
        "{% raw %}{{ conn.db.password }}{% endraw %}",
        "{{ '{{ conn.db.password }}' }}",
        "{# {{ conn.db.password }} #}x",
        "{% filter upper %}{{ conn.db.password }}{% endfilter %}",
        "{% set x %}{{ conn.db.password }}{% endset %}{{ x | length }}",
        "${vault:{{ var.value.env }}/db:password}",
        "${vault:{{ conn.db.host }}",
        "{{ conn.db.password }",
        "{{ {'a': {'b': 1}}.get('z', var.value.password) }}",
        "{{ '}}' ~ var.value.password }}",
        "{% if {'a': {'%}': 1}} %}{{ '%}' ~ conn.db.password }}{% endif %}",
        "{{ conn.a.password }}-{{ {'k': {}}.get('z', var.value.b) }}",
    ],
)
def test_a_template_that_does_more_stays(text: str):
    assert reads_secrets(text)
    assert with_references(text, Providers()) is None


def test_providers_can_have_other_names():
    text = "{{ conn.db.host }}{{ var.value.a }}"

    assert with_references(text, Providers("airflow", "vars")) == "${airflow:db:host}${vars:a}"


def proposal_for(value: str):
    """Return the proposal for a file that reads ``value`` for its configuration."""
    return proposal_of(
        "from airflow.sdk import BaseHook, Variable\n"
        f'SparkSubmitOperator(\n    conf={{\n        "spark.app.password": {value},\n    }}\n)\n'
    )


def test_a_variable_with_a_colon_in_its_name_keeps_its_name():
    (replacement,) = proposal_for('Variable.get("team:password")').replacements

    assert parse(replacement.text) == (ConfigVariable("variable", "", "team:password"),)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param('Variable.get("a}b")', id="brace"),
        pytest.param('Variable.get("a{{ ds }")', id="template"),
        pytest.param('Variable.get("-x")', id="default-of-a-shell"),
        pytest.param('Variable.get("${x")', id="nested"),
        pytest.param('BaseHook.get_connection("team:db").password', id="colon-in-a-connection"),
    ],
)
def test_a_name_that_no_reference_can_express_stays_by_hand(value: str):
    found = proposal_for(value)

    assert not found.replacements
    assert "no reference can express the name" in str(found.by_hand[0])


@pytest.mark.parametrize("piece", ["{{ ", "{% ", "{{}} ", "{%}"])
def test_many_templates_are_looked_at_in_an_instant(piece: str):
    """The time grew with the square of the length: 30 kB took seconds."""
    assert not reads_secrets(piece * 100_000)
