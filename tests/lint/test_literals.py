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
        *(
            pytest.param(f"spark.app.{name}", CANARY, id=name)
            for name in ("access_key", "pwd", "credentials", "apiKey")
        ),
        pytest.param("env_vars['DB_PASSWORD']", CANARY, id="environment"),
        pytest.param("application_args[1]", f"password={CANARY}", id="argument"),
        pytest.param("spark.app.url", f"jdbc:x://u:{CANARY}@db/x", id="password in a URL"),
        pytest.param("spark.app.options", f"user=u;password={CANARY}", id="password among settings"),
        pytest.param("spark.app.url", f"jdbc:x://u:{CANARY}@${{vault:apps/db:host}}/x", id="beside a reference"),
        pytest.param("spark.app.url", f"jdbc:x://u:{CANARY}@{{{{ conn.db.host }}}}/x", id="beside a template"),
    ],
)
def test_a_secret_is_found_and_not_shown(key: str, text: str):
    found = list(rules.literal_findings(in_conf(key, text)))

    assert codes(found) == ["CP201"]
    assert f"'{key}' (conf): a string of {len(text)} characters" in messages(found)
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
        pytest.param("spark.kerberos.renewal.credentials", "ccache", id="key that Spark shows"),
        pytest.param("spark.hadoop.fs.s3a.encryption.key", "arn:aws:kms:eu-west-1:1:key/2", id="resource of AWS"),
        pytest.param("spark.hadoop.dfs.encryption.key.provider.uri", "kms://http@kms:9600/kms", id="address"),
        pytest.param("spark.hadoop.fs.azure.sas.token.provider.type.a.dfs.core.windows.net", "a.B", id="class"),
        pytest.param("spark.executorEnv.GOOGLE_APPLICATION_CREDENTIALS", "/key.json", id="path of Google"),
        pytest.param("env_vars['GOOGLE_APPLICATION_CREDENTIALS']", "/key.json", id="path of Google in the environment"),
        pytest.param("env_vars['DB_PASSWORD_FILE']", "/run/secrets/db", id="path in the environment"),
        pytest.param("application_args[0]", "2026-11-27", id="argument"),
    ],
)
def test_what_is_no_secret_is_not_found(key: str, text: str):
    assert list(rules.literal_findings(in_conf(key, text))) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("TOKENIZERS_PARALLELISM", "4"),
        ("MAX_TOKENS", "1000000"),
        ("PASSWORD_MIN_LENGTH", "12"),
        ("USE_TOKEN", "yes"),
        ("TOKEN_CACHE", "off"),
        ("X_PASSWORD_ENABLED", "1"),
        ("TOKEN_TTL", "1h30m"),
        ("TOKEN_URL", "https://login.example/token"),
        ("TOKEN_URI", "https://login.example/token"),
        ("SECRET_NAME", "prod/db"),
        ("API_KEY_HEADER", "X-Api-Key"),
        ("PASSWORD_POLICY", "strict"),
        ("SECRET_ARN", "eu-west-1:secret:db"),
    ],
)
@pytest.mark.parametrize("key", ["env_vars['{}']", "spark.executorEnv.{}"])
def test_a_variable_that_only_has_the_word_of_a_secret_in_its_name_is_not_found(key: str, name: str, text: str):
    assert list(rules.literal_findings(in_conf(key.format(name), text))) == []


@pytest.mark.parametrize(
    ("key", "text"),
    [
        pytest.param("env_vars['DB_PASSWORD']", "hunter2", id="short password"),
        pytest.param("env_vars['DB_PASSWORD']", "123456789012", id="password of digits"),
        pytest.param("env_vars['DB_PASSWORD']", "1234", id="password of few digits"),
        pytest.param("env_vars['API_TOKEN']", "abcdef0123456789", id="token"),
        pytest.param("env_vars['API_TOKENS']", "abc,def", id="tokens"),
        pytest.param("env_vars['SECRET_LEARN']", CANARY, id="no ending of its own"),
        pytest.param("env_vars['TOKEN_URL']", f"https://u:{CANARY}@login/token", id="password in a URL"),
        pytest.param("spark.executorEnv.DB_PASSWORD", "hunter2", id="variable of executors"),
        pytest.param("spark.app.password", "1234", id="key that is no variable"),
    ],
)
def test_a_secret_that_resembles_an_ordinary_variable_is_found(key: str, text: str):
    assert codes(list(rules.literal_findings(in_conf(key, text)))) == ["CP201"]


@pytest.mark.parametrize(
    ("key", "way_out"),
    [
        pytest.param("application_args[0]", "such as ${provider:path:key} in conf.", id="argument"),
        pytest.param("spark.app.url", "such as ${provider:path:key}.", id="key"),
    ],
)
def test_the_way_out_of_a_literal_is_one_that_a_run_accepts(key: str, way_out: str):
    (found,) = rules.literal_findings(in_conf(key, f"password={CANARY}"))

    assert found.message.endswith(way_out)
