"""Texts that look as if a secret were written out."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_config_providers.core import sensitive
from airflow_config_providers.core.sensitive import shown_path, shows_secret, sounds_secret
from airflow_config_providers.spark.catalogue import spark_definition

LONG = "k7Q" * 400


@pytest.mark.parametrize(
    "text",
    ['{"password":"abc"}', "{'password':'abc'}", "password: abc", "//u:p@h", "sig=abc&se=1", "password=abc"],
)
def test_a_secret_is_seen_however_it_is_written(text):
    assert shows_secret(text)


@pytest.mark.parametrize(
    "form",
    ["{}=abc", "{} = abc", '{{"{}":"abc"}}', "{}: abc", "--{} abc"],
    ids=["equals", "blanks", "json", "yaml", "option"],
)
@pytest.mark.parametrize(
    "name",
    [
        "password",
        "passwd",
        "passw",
        "pwd",
        "secret",
        "token",
        "accessKey",
        "account-key",
        "api_key",
        "private.key",
        "secretkey",
        "sharedKey",
    ],
)
def test_a_setting_with_a_secret_is_seen_in_each_form(name, form):
    assert shows_secret(form.format(name))


@pytest.mark.parametrize(
    "text",
    [
        r"{\"password\":\"abc\"}",
        r"{\"password\":123}",
        "{'password' : 'abc'}",
        '{"password":\n"abc"}',
        '{"password":123}',
        "password =abc",
        "{password: abc}",
        "a: 1;password: abc",
        "{a: 1,\tpassword: abc}",
        "- password: abc",
        "db.user-password: abc",
        "password : abc",
        'password: "a b"',
        "password: 'a b'",
        "password: abc\t}",
        "password: abc; a: 1",
        r"Authorization\": \"Bearer abc",
        r"Authorization\":\"Basic abc",
        "authorization = token abc",
        "x '--password abc'",
    ],
)
def test_a_setting_with_a_secret_is_seen_wherever_it_begins_and_ends(text):
    assert shows_secret(text)


@pytest.mark.parametrize(
    "parameter",
    [
        "sig",
        "Signature",
        "X-Amz-Signature",
        "X-Amz-Credential",
        "X-Amz-Security-Token",
        "X-Goog-Signature",
        "X-Goog-Credential",
    ],
)
def test_a_signed_link_is_a_secret(parameter):
    assert shows_secret(f"https://bucket.example/logs?a=1&{parameter}=abc&b=2")


@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN PRIVATE KEY-----\nMIIE",
        "-----BEGIN RSA PRIVATE KEY-----\\nMIIE",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----",
        "Authorization: Bearer abc",
        '{"Authorization": "Basic dTpw"}',
        "jdbc:oracle:thin:scott/tiger@//db:1521/x",
        "--user me --password tiger",
        "--db-password tiger",
        pytest.param(f"x://token:{LONG}@h", id="long-password"),
        pytest.param(f"x://{LONG}:p@h", id="long-name"),
        pytest.param(f"jdbc:oracle:thin:{LONG}/{LONG}@h", id="long-password-of-oracle"),
        pytest.param(f"a: 1\npassword: {LONG}", id="long-password-in-yaml"),
        pytest.param(f'password: "{LONG} x"', id="long-password-in-quotes"),
        "x://u:ab/cd@h:5/x",
        "x://u:1a/b/c@h",
        "x://u:12,ab@h",
        "x://u@server:ab@h",
        "jdbc:oracle:thin:u/ab/cd@h",
        'jdbc:oracle:thin:u/"ab/cd"@h',
        "jdbc:oracle:thin:u/ajdb@h",
    ],
)
def test_a_secret_without_a_name_beside_it_is_seen(text):
    assert shows_secret(text)


@given(st.from_regex(sensitive._TEXTS))
def test_every_secret_that_is_looked_for_is_seen(text):
    assert shows_secret(text)


@pytest.mark.parametrize(
    "text",
    [
        "-DpasswordFiler=abc",
        "https://hooks.example/token=abc/x",
        "s3a://bucket/x?token=abc",
        "s3a://bucket/token=a/ password=abc",
        "s3a://u:p@bucket/token=a/",
        "s3a://bucket/x,token=abc",
        "s3a://bucket/password=abc/x.jar",
        "s3a://user:pass/token=word@bucket/x",
        "https://hooks.example/file:/token=abc",
        "jdbc:h2:file:/data/flights/token=abc",
    ],
)
def test_a_secret_near_what_looks_like_one_is_seen(text):
    assert shows_secret(text)


@pytest.mark.parametrize(
    "text",
    [
        "The token: ask for it",
        'password=""',
        "password=''",
        "password=",
        "password=&user=me",
        '{"password": ""}',
        r"{\"password\":\"\"}",
        "password: {",
        "password: [a]",
        "my-sig=abc",
        "sig=",
        "sig=&a=1",
        "x--password abc",
        "bearer: token abc",
        "Ask for the token: here",
        "token: ask for it",
        "secret:name",
        '{"token": null}',
        "design=1",
        "https://bucket.example/logs?X-Amz-Expires=60",
        "-Dapp.signature=abc",
        "signature=",
        "algo=x;signature=none",
        "signature=SHA256withRSA",
        "s3a://b/c:d@e",
        "a@b",
        "http://h:8080/a@b",
        "http://[2001:db8::1]:8080/a@b",
        "jdbc:x://h:5432/db?user=a@b",
        "mongodb://h:27017,i:27017/a@b",
        "file://C:/a@b",
        "abfss://a@b.example:443/c@d",
        "git+ssh://git@h:a/b.git@v1",
        "-----BEGIN PUBLIC KEY-----",
        "-----BEGIN CERTIFICATE-----",
        "Authorization: Bearer ${vault:apps/api:token}",
        "Authorization: Bearer {{ var.value.api }}",
        "authorization: none",
        "jdbc:oracle:thin:/@alias",
        "jdbc:oracle:thin:@//db:1521/x",
        "jdbc:oracle:thin:@//db:1521/a@b",
        "--password-file /run/x",
        "--password --user me",
        "--password ${vault:apps/db:password}",
        "-Djavax.net.ssl.keyStorePasswordFile=/etc/store.pass",
        "passwdPath=/x;passwordFile: /x",
        "s3a://bucket/token=ETH/day=1/x.jar",
        "hdfs://h:8020/a/api_key=x,file:/b/db.secret=1/",
    ],
)
def test_ordinary_text_is_no_secret(text):
    assert not shows_secret(text)


def test_no_default_of_spark_looks_like_a_secret():
    assert [key for key, text in spark_definition().default_texts().items() if shows_secret(text)] == []


@pytest.mark.parametrize(
    "key",
    [
        "clientSecret",
        "passwd",
        "passphrase",
        "spark.x.PWD",
        "tokens",
        "credential",
        "signature",
        "connectionString",
        "connection.string",
        "connection-string",
        "connection_string",
        "access.key",
        "accountKey",
        "api_key",
        "private-key",
        "sas.key",
        "sharedKey",
        "encryption.key",
        "encryption_keys",
        "encryption-key",
        "spark.x.pass",
    ],
)
def test_a_name_of_a_secret_is_one(key):
    assert sounds_secret(key)


@pytest.mark.parametrize(
    "key",
    [
        "spark.x.pw",
        "spark.x.cred",
        "spark.x.creds",
        "spark.x.SAS",
        "spark.x.dbCreds",
        "spark.x.dbCred",
        "spark.x.dbPw",
        "spark.x.blobSas",
        "spark.x.pwFile",
        "spark.x.sasUrl",
        "credsFile",
        "credFile",
    ],
)
def test_a_short_name_of_a_secret_is_one(key):
    assert sounds_secret(key)


@given(st.from_regex(sensitive._NAMES))
def test_every_name_that_is_looked_for_is_that_of_a_secret(key):
    assert sounds_secret(key)


@pytest.mark.parametrize(
    "key",
    [
        "encryption.keySize",
        "encryption.keygen",
        "spark.x.bypass",
        "spark.x.compass",
        "spark.x.trespass",
        "spark.x.passenger",
        "spark.x.sasl",
        "spark.x.pws",
        "spark.x.upw",
        "spark.x.credit",
        "spark.x.sacred",
        "spark.x.dbPwm",
        "spark.x.upwFile",
        "SPARK_XPwFile",
        "connection.url",
        "spark.x.key",
        "spark.x.public.key",
    ],
)
def test_an_ordinary_name_is_none(key):
    assert not sounds_secret(key)


@pytest.mark.parametrize(
    "part",
    [
        "s3a:/",
        "s3a://b/token=",
        "/token",
        "//u:",
        "//u:a/",
        "//u@",
        "/:",
        "jdbc:oracle:a:u/",
        "{password: x",
        ",password: '",
        'password=""',
        "\npassword: ",
    ],
)
def test_attack_14_hostile_text_is_searched_in_linear_time(part):
    """The bound is twenty times the expected time, and a tenth of what a quadratic search needs."""
    text = part * (500_000 // len(part)) + " //key:"
    began = time.process_time()

    shows_secret(text)

    assert time.process_time() - began < 5


@pytest.mark.parametrize("path", ["/etc/key.pem", "./key.pem", "../key.pem", "~/key.pem"])
def test_a_path_is_shown(path):
    assert shown_path(path) == path


@pytest.mark.parametrize("text", ["hvs.c4nary", "-----BEGIN PRIVATE KEY-----\nc4nary", "eyJ.c4nary/+", "c4nary"])
def test_a_secret_in_the_place_of_a_path_is_not_shown(text):
    assert shown_path(text) == "[hidden, because it does not begin with /]"
