"""What is wrong with a text that should define a connection."""

from __future__ import annotations

import pytest

from airflow_config_providers.providers.airflow_secrets import mistake
from tests.canary import CANARY


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('{"extras": {}}', "'extras' is not a field, did you mean 'extra'?", id="misspelt"),
        pytest.param('{"config.providers": "x"}', "'config.providers' is not a field. Correct its", id="not-in-extra"),
        pytest.param('{"conn_id": "x"}', "Its id is in the name of the variable. Remove conn_id.", id="id"),
        pytest.param(f'{{"port": "{CANARY}"}}', "Its port is not a number.", id="port"),
        pytest.param(f'{{"password": "{CANARY}",}}', "it is invalid at line 1, column", id="malformed"),
        pytest.param(f'{{"conn_type": ["{CANARY}"]}}', "Airflow cannot read its fields.", id="type"),
        pytest.param(
            f'{{"extra": "{{{CANARY}"}}',
            "Its extra is not a JSON object. The string is not valid JSON: it is",
            id="extra",
        ),
        pytest.param(f'{{"extra": "[]", "host": "{CANARY}"}}', "Its extra is not a JSON object.", id="extra-is-a-list"),
        pytest.param(f"a://{CANARY}://b://c", "Airflow cannot read it as a URI.", id="uri"),
    ],
)
def test_a_mistake_is_named_without_the_content(text, expected):
    found = mistake(text)

    assert expected in found
    assert CANARY not in found


def test_every_unknown_field_is_named():
    assert mistake('{"hots": "h", "loging": "l"}').count("is not a field") == 2
