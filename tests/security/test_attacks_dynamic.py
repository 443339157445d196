"""Rows of the list of attacks that concern changes of configuration, policies and secrets at rest."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_config_providers.core.alter import AlterConfigOp, ConfigResource, OpType, ResourceType, altered, whole
from airflow_config_providers.core.data import Password
from airflow_config_providers.core.definition import ConfigDef, ConfigType
from airflow_config_providers.core.policy import (
    AlterConfigPolicy,
    Moment,
    NamedPolicy,
    PolicyViolation,
    RequestMetadata,
    validate_all,
)
from airflow_config_providers.dynamic.password_encoder import PasswordEncoder
from airflow_config_providers.dynamic.policies import (
    Bounds,
    CelExpression,
    CodeLoadingKeys,
    ForbiddenKeys,
    ImmutableKeys,
    ReferencesOnly,
)
from airflow_config_providers.exceptions import ConfigException

DAG = ConfigResource(ResourceType.DAG, "flights")
DEFINITION = ConfigDef().define("spark.jars", ConfigType.LIST, "").define("spark.app.tags", ConfigType.LIST, "a,b")
CANARY = "Zq8-s3cr3t/é+"


def made(kind, params=None):
    policy = kind()
    policy.configure(params or {})
    return policy


def is_denied(policy, before, after, **more):
    try:
        validate_all([NamedPolicy("p", policy)], RequestMetadata(DAG, before, after, **more))
    except PolicyViolation:
        return True
    return False


# --- 38: a value that brings in another key, or code ------------------------------------------------

INJECTIONS = [
    "4g\nspark.jars=/tmp/evil.jar",
    "4g;spark.jars=/tmp/evil.jar",
    "4g --conf spark.jars=/tmp/evil.jar",
    "4g,spark.jars=/tmp/evil.jar",
    "4g -javaagent:/tmp/evil.jar",
    "4g\u2028spark.jars=/tmp/evil.jar",
    "4g\x00x",
    "4g' || true || '",
]


@pytest.mark.parametrize("text", INJECTIONS)
@pytest.mark.parametrize("op", [OpType.SET, OpType.APPEND])
def test_attack_38_a_value_makes_no_other_key(text, op):
    assert altered({}, [AlterConfigOp("spark.app.tags", text, op)], DEFINITION).after.keys() == {"spark.app.tags"}
    assert whole({"spark.app.tags": text}).after == {"spark.app.tags": text}


@pytest.mark.parametrize("text", INJECTIONS)
def test_attack_38_a_size_with_more_behind_it_is_no_size(text):
    policy = made(Bounds, {"spark.executor.memory": {"max": "16g"}})
    expression = CelExpression("bytes_of(after['spark.executor.memory']) <= bytes_of('16g')")
    request = RequestMetadata(DAG, {}, {"spark.executor.memory": text})

    with pytest.raises(PolicyViolation):
        policy.validate(request)
    with pytest.raises(PolicyViolation):
        expression.holds(request)


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40))
def test_attack_38_a_value_is_never_read_as_an_expression(text):
    expression = CelExpression("after['k'] == 'the only value'")

    assert expression.holds(RequestMetadata(DAG, {}, {"k": text})) is (text == "the only value")


@pytest.mark.parametrize("at", Moment)
@pytest.mark.parametrize(
    "key",
    [
        "spark.jars",
        "spark.jars.packages",
        "spark.driver.extraJavaOptions",
        "spark.yarn.jar",
        "spark.executorEnv.LD_PRELOAD",
        "spark.sql.extensions",
        "spark.hadoop.fs.evil.impl",
    ],
)
def test_attack_38_dynamic_layers_bring_in_no_code(key, at):
    policy = made(CodeLoadingKeys)

    assert is_denied(policy, {}, {key: "evil"}, at=at)
    assert is_denied(policy, {key: "good"}, {key: "good,evil"}, at=at)


# --- 40: a policy that is shown less than what happens ----------------------------------------------

BEFORE = {"spark.jars": "good", "spark.executor.memory": "4g"}
DELETIONS = [
    pytest.param(altered(BEFORE, [AlterConfigOp("spark.jars", None, OpType.DELETE)], DEFINITION).after, id="deleted"),
    pytest.param(whole({"spark.executor.memory": "4g"}).after, id="left out of the whole"),
    pytest.param({"spark.jars": None, "spark.executor.memory": "4g"}, id="None"),
]


@pytest.mark.parametrize("after", DELETIONS)
def test_attack_40_each_way_to_delete_looks_the_same_and_can_be_denied(after):
    request = RequestMetadata(DAG, BEFORE, after)

    assert dict(request.configs_after) == {"spark.executor.memory": "4g"}
    assert request.changed == ["spark.jars"]
    assert is_denied(made(ImmutableKeys, {"keys": ["spark.jars"]}), BEFORE, after)


def test_attack_40_a_whole_list_is_shown_and_not_what_is_appended():
    after = altered(BEFORE, [AlterConfigOp("spark.jars", "evil", OpType.APPEND)], DEFINITION).after

    assert dict(RequestMetadata(DAG, BEFORE, after).configs_after)["spark.jars"] == "good,evil"


def test_attack_40_what_was_there_before_is_judged_too():
    """A rule that is broken already is not passed by changing something else."""
    assert is_denied(made(ForbiddenKeys, {"keys": ["spark.jars"]}), BEFORE, {**BEFORE, "spark.executor.memory": "8g"})


def test_attack_40_an_empty_text_is_not_an_absent_key():
    assert is_denied(made(ForbiddenKeys, {"keys": ["spark.jars"]}), {}, {"spark.jars": ""})
    assert is_denied(made(ImmutableKeys, {"keys": ["spark.jars"]}), {}, {"spark.jars": ""})


def test_attack_40_a_secret_that_changes_behind_its_mask_is_a_change():
    policy = made(ImmutableKeys, {"keys": ["k"]})

    assert is_denied(policy, {"k": "[hidden]"}, {"k": "[hidden]"}, hidden_changes=frozenset({"k"}))


def test_attack_40_a_secret_that_is_written_out_is_denied_also_when_it_would_be_encrypted():
    assert is_denied(made(ReferencesOnly), {}, {"spark.app.db.password": "[hidden]"})


def test_attack_40_a_policy_that_fails_is_not_a_policy_that_agrees():
    class Failing(AlterConfigPolicy):
        def validate(self, request):
            raise KeyError(CANARY)

    with pytest.raises(PolicyViolation) as error:
        validate_all([NamedPolicy("p", Failing())], RequestMetadata(DAG, {}, {}))
    assert CANARY not in str(error.value)


def test_attack_40_one_policy_cannot_hide_a_key_from_the_next():
    class Hiding(AlterConfigPolicy):
        def validate(self, request):
            request.configs_after.clear()

    policies = [NamedPolicy("hiding", Hiding()), NamedPolicy("p", made(ForbiddenKeys, {"keys": ["spark.jars"]}))]

    with pytest.raises(PolicyViolation) as error:
        validate_all(policies, RequestMetadata(DAG, {}, dict(BEFORE)))
    assert len(error.value.problems) == 2


@pytest.mark.parametrize("text", ["TRUE", " true", "tRuE\n"])
def test_attack_40_a_truth_is_a_truth_however_it_is_spelled(text):
    from airflow_config_providers.dynamic.policies import DynamicAllocation

    assert is_denied(made(DynamicAllocation), {}, {"spark.dynamicAllocation.enabled": text})


# --- 46: encryption without integrity ---------------------------------------------------------------

FAST = {"iterations": 1000}


def fields(text):
    return dict(field.rsplit(":", 1) for field in text.split(","))


def written(values):
    return ",".join(f"{name}:{value}" for name, value in values.items())


def relabelled(text, mode, *, flip=0):
    """
    Make of a text in GCM one without integrity.

    GCM encrypts a block with what AES makes of the nonce and a counter; with these as the vector, the other modes
    decrypt the first block alike.
    """
    values = fields(text)
    octets = bytearray(base64.b64decode(values["encryptedPassword"])[: int(values["passwordLength"])])
    octets[0] ^= flip
    vector = base64.b64decode(values["initializationVector"]) + b"\x00\x00\x00\x02"
    del values["authenticationTagLength"]
    return written(
        values
        | {
            "cipherAlgorithm": f"AES/{mode}/NoPadding",
            "encryptedPassword": base64.b64encode(bytes(octets)).decode(),
            "initializationVector": base64.b64encode(vector).decode(),
        }
    )


def test_attack_46_texts_are_written_with_integrity():
    assert fields(PasswordEncoder("s").encode(Password("x")))["cipherAlgorithm"] == "AES/GCM/NoPadding"


def test_attack_46_no_octet_of_a_text_can_be_changed():
    encoder = PasswordEncoder("s", **FAST)
    text = encoder.encode(Password(CANARY))
    values = fields(text)

    for name in ("encryptedPassword", "initializationVector", "salt"):
        raw = base64.b64decode(values[name])
        for place in range(len(raw)):
            changed = raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :]
            with pytest.raises(ConfigException) as error:
                encoder.decode(written(values | {name: base64.b64encode(changed).decode()}))
            assert CANARY not in str(error.value)


@pytest.mark.parametrize("mode", ["CFB", "OFB"])
@pytest.mark.parametrize("flip", [0, 1])
def test_attack_46_a_text_cannot_be_taken_for_one_of_a_mode_without_integrity(mode, flip):
    encoder = PasswordEncoder("s", **FAST)
    text = encoder.encode(Password("hunter2"))

    with pytest.raises(ConfigException, match="cannot be decoded"):
        encoder.decode(relabelled(text, mode, flip=flip))


@pytest.mark.parametrize("mode", ["CFB", "OFB"])
def test_attack_46_that_would_work_with_texts_that_kafka_wrote_so_they_are_to_be_encoded_anew(mode):
    file = Path(__file__).parents[1] / "dynamic" / "kafka_encoded.json"
    kafka = json.loads(file.read_text(encoding="utf-8"))
    encoder = PasswordEncoder(kafka["secret"])
    values = fields(kafka["texts"]["AES/GCM/NoPadding"]) | {"passwordLength": "4"}

    attacked = relabelled(written(values), mode, flip=1)

    assert encoder.decode(attacked).value == "uest"
    assert encoder.wants_reencoding(attacked)
    assert encoder.wants_reencoding(kafka["texts"]["AES/GCM/NoPadding"])


def test_attack_46_a_rotation_needs_no_moment_in_which_nobody_can_read():
    old, both, new = (
        PasswordEncoder("o", **FAST),
        PasswordEncoder("n", old_secret="o", **FAST),
        PasswordEncoder("n", **FAST),
    )
    text = old.encode(Password("x"))

    renewed = both.encode(both.decode(text))

    assert both.decode(text) == both.decode(renewed) == new.decode(renewed) == Password("x")
    with pytest.raises(ConfigException):
        new.decode(text)


# --- 47: comparisons that take telling time, and hashes of secrets ----------------------------------


def test_attack_47_passwords_are_compared_in_constant_time(monkeypatch):
    from airflow_config_providers.core import data

    compared = []
    monkeypatch.setattr(data.hmac, "compare_digest", lambda one, other: compared.append((one, other)) or one == other)

    assert Password("a") != Password("b")
    assert compared == [(b"a", b"b")]


def test_attack_47_the_hash_of_a_password_is_good_for_one_process_only():
    script = "from airflow_config_providers.core.data import Password; print(hash(Password('hunter2')))"
    run = [sys.executable, "-c", script]

    hashes = {subprocess.run(run, capture_output=True, text=True, check=True).stdout for _ in range(3)}

    assert len(hashes) > 1


@pytest.mark.parametrize("algorithm", ["md5", "sha1", "sha224", "sha256", "sha384", "sha512", "blake2b"])
def test_attack_47_an_encrypted_text_holds_no_hash_of_the_secret_or_of_the_password(algorithm):
    text = PasswordEncoder("the-secret", **FAST).encode(Password("hunter2"))
    octets = b"".join(
        base64.b64decode(fields(text)[name]) for name in ("salt", "initializationVector", "encryptedPassword")
    )

    for known in (b"the-secret", b"hunter2"):
        digest = hashlib.new(algorithm, known).digest()
        assert digest[:8] not in octets
        assert digest.hex()[:8] not in text


def test_attack_47_equal_passwords_do_not_have_equal_texts():
    encoder = PasswordEncoder("s", **FAST)

    assert encoder.encode(Password("x")) != encoder.encode(Password("x"))


def test_attack_47_what_does_not_fit_is_told_with_the_same_words_whatever_the_reason():
    encoder = PasswordEncoder("s", cipher_algorithm="AES/CBC/PKCS5Padding", **FAST)
    values = fields(encoder.encode(Password("x" * 20)))
    raw = base64.b64decode(values["encryptedPassword"])
    told = set()

    for place in range(len(raw)):
        changed = raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :]
        try:
            encoder.decode(written(values | {"encryptedPassword": base64.b64encode(changed).decode()}))
        except ConfigException as error:
            told.add(str(error))

    assert len(told) == 1
