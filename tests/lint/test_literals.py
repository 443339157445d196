"""Secrets that are written out."""

from __future__ import annotations

import pytest

from airflow_config_providers.lint import rules
from tests.lint.making import codes, in_conf, messages

CANARY = "c4nary-of-nineteen!"


@pytest.mark.parametrize(
    ("key", "text"),
    [
        pytest.param("spark.app.password", CANARY, id="password"),
        pytest.param("spark.hadoop.fs.s3a.secret.key", CANARY, id="secret"),
        pytest.param("spark.hadoop.fs.s3a.access.key", CANARY, id="access key"),
        pytest.param("spark.app.url", f"jdbc:x://u:{CANARY}@db/x", id="password in a URL"),
        pytest.param("spark.app.options", f"user=u;password={CANARY}", id="password among settings"),
        pytest.param("spark.app.url", f"jdbc:x://u:{CANARY}@${{vault:apps/db:host}}/x", id="beside a reference"),
        pytest.param("spark.app.url", f"jdbc:x://u:{CANARY}@{{{{ conn.db.host }}}}/x", id="beside a template"),
    ],
)
def test_a_secret_is_found_and_not_shown(key: str, text: str):
    found = list(rules.literal_findings(in_conf(key, text)))

    assert codes(found) == ["CP201"]
    assert f"'{key}' (conf): a literal of {len(text)} characters" in messages(found)
    assert CANARY not in str(found[0])
    assert CANARY not in repr(found)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        pytest.param("spark.app.password", "${vault:apps/db:password}", id="reference"),
        pytest.param("spark.app.password", "{{ var.value.password }}", id="template"),
        pytest.param("spark.app.url", "x://${vault:a:user}:${vault:a:password}@db", id="references in a URL"),
        pytest.param("spark.app.url", "x://{{ conn.a.login }}:{{ conn.a.password }}@db", id="templates in a URL"),
        pytest.param("spark.app.password", "", id="empty"),
        pytest.param("spark.app.token.enabled", "true", id="switch"),
        pytest.param("spark.kubernetes.driver.secrets.db-password", "/etc/secrets", id="mount of Kubernetes"),
        pytest.param("spark.kubernetes.authenticate.oauthTokenFile", "/var/run/token", id="path"),
        pytest.param("spark.network.crypto.enabled", "x", id="ordinary"),
    ],
)
def test_what_is_no_secret_is_not_found(key: str, text: str):
    assert list(rules.literal_findings(in_conf(key, text))) == []
