"""Rows of the list of attacks that concern changes of configuration, policies and secrets at rest."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_config_providers.core.alter import AlterConfigOp, ConfigResource, OpType, ResourceType, altered, whole
from airflow_config_providers.core.definition.config_def import ConfigDef
from airflow_config_providers.core.definition.config_type import ConfigType
from airflow_config_providers.core.policy import (
    AlterConfigPolicy,
    Moment,
    NamedPolicy,
    PolicyViolation,
    RequestMetadata,
    validate_all,
)
from airflow_config_providers.core.reconfigurable import Reconfigurable, Reconfigurables
from airflow_config_providers.core.sensitive import HIDDEN, Password
from airflow_config_providers.dynamic.admin import ConfigAdmin
from airflow_config_providers.dynamic.document import HISTORY, documents, name_of
from airflow_config_providers.dynamic.encoder_rotation import Rotation
from airflow_config_providers.dynamic.password_encoder import PasswordEncoder
from airflow_config_providers.dynamic.policies import (
    Bounds,
    CelExpression,
    CodeLoadingKeys,
    DynamicAllocation,
    ForbiddenKeys,
    IfThen,
    ImmutableKeys,
    ReferencesOnly,
)
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.testing import InMemoryConfigStore

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
    assert is_denied(made(DynamicAllocation), {}, {"spark.dynamicAllocation.enabled": text})


# --- 46: encryption without integrity ---------------------------------------------------------------

FAST = {"iterations": 1000}


def fields(text):
    return dict(field.rsplit(":", 1) for field in text.split(","))


def written(values):
    return ",".join(f"{name}:{value}" for name, value in values.items())


def relabelled(text, mode, *, flip=0):
    """
    Turn a text in GCM into one without integrity protection.

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
    compared = []
    monkeypatch.setattr(hmac, "compare_digest", lambda one, other: compared.append((one, other)) or one == other)

    assert Password("a") != Password("b")
    assert compared == [(b"a", b"b")]


def test_attack_47_the_hash_of_a_password_is_good_for_one_process_only():
    script = "from airflow_config_providers.core.sensitive import Password; print(hash(Password('hunter2')))"
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


# --- 64: a rolling upgrade that loses what the older version does not know ---------------------------

TASK = ConfigResource.of_task("flights", "report")
SECRETS = ConfigDef().define("password", ConfigType.PASSWORD, None)
OLD, BOTH = PasswordEncoder("old", **FAST), PasswordEncoder("new", old_secret="old", **FAST)
LATER = {"by": ["a newer version", None, {"number": 1.5}]}


def changed_by_a_newer_version(changes=3):
    """Return a store with a history, in which every object has a member that this version does not know."""
    store = InMemoryConfigStore()
    for number in range(changes):
        upgrading(store).incremental_alter_configs(
            {
                one: [AlterConfigOp("password", f"hunter{number}"), AlterConfigOp("k", str(number))]
                for one in (DAG, TASK)
            }
        )
    for name, text in store.texts.items():
        found = json.loads(text)
        mark(found)
        store.texts[name] = json.dumps(found)
    return store


def upgrading(store, **more):
    return ConfigAdmin(store, SECRETS, seal=OLD.encode, **more)


def mark(node, *, is_mapping=False):
    """Add a member to each object; what is in ``tasks``, ``values``, ``was`` and ``became`` is named by users."""
    if isinstance(node, dict):
        for name, child in node.items():
            mark(child, is_mapping=name in {"tasks", "values", "was", "became"})
        if not is_mapping:
            node["later"] = LATER
    for child in node if isinstance(node, list) else ():
        mark(child)


def marked(node, path=()):
    """Return the paths of the objects that still have the member as it was."""
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    own = {path} if isinstance(node, dict) and node.get("later") == LATER else set()
    return own.union(*(marked(child, (*path, name)) for name, child in children if name != "later"))


class Failing(Reconfigurable):
    def reconfigurable_configs(self):
        return ["k"]

    def validate_reconfiguration(self, configs):
        pass

    def reconfigure(self, configs):
        raise OSError


def failing_to_follow(store):
    members = Reconfigurables({})
    members.add(Failing())
    with pytest.raises(ConfigException, match="was taken back"):
        upgrading(store, followers={DAG: members}).incremental_alter_configs({DAG: [AlterConfigOp("k", "new")]})


CHANGES = pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda s: upgrading(s).incremental_alter_configs({DAG: [AlterConfigOp("k", "new")]}), id="alter"),
        pytest.param(lambda s: upgrading(s).incremental_alter_configs({TASK: [AlterConfigOp("k", "new")]}), id="task"),
        pytest.param(lambda s: upgrading(s).alter_configs({DAG: {"password": "[hidden]", "k": "n"}}), id="replace"),
        pytest.param(lambda s: upgrading(s).rollback(DAG), id="rollback"),
        pytest.param(failing_to_follow, id="take back"),
        pytest.param(lambda s: list(Rotation(s, BOTH).rotate(documents(list(s.texts)))), id="rotate"),
    ],
)


@CHANGES
def test_attack_64_a_change_keeps_members_that_it_does_not_know(change):
    store = changed_by_a_newer_version()
    before = {name: marked(json.loads(text)) for name, text in store.texts.items()}
    texts = dict(store.texts)

    change(store)

    changed = {name: text for name, text in store.texts.items() if text != texts[name]}
    assert set(changed) == {name_of(DAG), name_of(DAG, kind=HISTORY)}
    for name, text in changed.items():
        assert before[name] <= marked(json.loads(text))
        assert len(before[name]) > 4


def test_attack_64_what_a_rollback_brings_back_has_the_members_that_it_had():
    store = changed_by_a_newer_version()
    upgrading(store).incremental_alter_configs({DAG: [AlterConfigOp("password", None, OpType.DELETE)]})

    upgrading(store).rollback(DAG)

    assert ("own", "values", "password") in marked(json.loads(store.texts[name_of(DAG)]))


def test_attack_64_a_member_that_is_not_known_is_shown_to_nobody():
    store = changed_by_a_newer_version()

    assert "later" not in repr(upgrading(store).describe_configs([DAG], include_synonyms=True)[DAG]["password"])
    assert "later" not in repr(upgrading(store).history(DAG))


@pytest.mark.parametrize("kind", ["", HISTORY], ids=["document", "history"])
def test_attack_64_a_later_format_is_refused_without_advice_to_delete(kind):
    store = changed_by_a_newer_version()
    name = name_of(DAG, kind=kind)
    store.texts[name] = store.texts[name].replace('"format": 1', '"format": 2')
    before = dict(store.texts)

    for change in (
        lambda: upgrading(store).incremental_alter_configs({DAG: [AlterConfigOp("k", "new")]}),
        lambda: upgrading(store).rollback(DAG),
        lambda: next(iter(Rotation(store, BOTH).rotate([name_of(DAG)]))).problems,
    ):
        try:
            problem = str(change())
        except ConfigException as error:
            problem = str(error)
        assert f"'{name}'" in problem
        assert "format 2, but this version supports 1: upgrade" in problem
        assert "delete" not in problem.lower()
    assert store.texts == before


# --- 70: ready policies passed by substitution, by references, by "no limit" ------------------------

ON = "spark.dynamicAllocation.enabled"


@pytest.mark.parametrize(
    "text", ["${spark.app.on}", "${env:ON}", "${system:on}", "${vault:apps/x:on}", "${env.ON:-true}"]
)
@pytest.mark.parametrize("more", [{}, {"spark.app.on": "true"}], ids=["alone", "with the other key"])
def test_attack_70_a_value_that_is_completed_later_switches_nothing_on(text, more):
    assert is_denied(made(DynamicAllocation), {}, {ON: text, **more})
    assert is_denied(made(IfThen, {"if": {ON: True}, "then": {"spark.app.reviewed": True}}), {}, {ON: text, **more})


def test_attack_70_a_frozen_key_does_not_change_through_another_one():
    before = {"spark.jars": "${spark.app.jars}", "spark.app.jars": "s3a://jobs/a.jar"}

    assert is_denied(made(CodeLoadingKeys), before, {**before, "spark.app.jars": "s3a://evil/b.jar"})
    assert not is_denied(made(CodeLoadingKeys), before, {**before, "spark.app.x": "1"})


@pytest.mark.parametrize(
    "options",
    ["-D{}={}", "-Xss4m -D{}={} -Dx=y", '"-D{}={}"', "-D'{}'={}", '-D{}="{}"', '"-D\\{}={}"'],
)
@pytest.mark.parametrize("holder", ["spark.driver.extraJavaOptions", "spark.driver.defaultJavaOptions"])
def test_attack_70_an_option_of_the_driver_sets_no_key_past_a_policy(options, holder):
    def given(key, value):
        return {holder: options.format(key, value)}

    assert is_denied(made(Bounds, {"spark.executor.memory": {"max": "4g"}}), {}, given("spark.executor.memory", "64g"))
    assert is_denied(made(DynamicAllocation), {}, given(ON, "true"))
    assert is_denied(made(ForbiddenKeys, {"keys": ["spark.authenticate"]}), {}, given("spark.authenticate", "false"))
    assert is_denied(made(ImmutableKeys, {"keys": ["spark.yarn.queue"]}), {}, given("spark.yarn.queue", "fast"))
    assert not is_denied(made(ImmutableKeys, {"keys": ["spark.yarn.queue"]}), {}, given("spark.app.x", "fast"))
    assert not is_denied(
        made(Bounds, {"spark.executor.memory": {"max": "4g"}}), {}, given("spark.executor.memory", "2g")
    )


DRIVER = "spark.driver.extraJavaOptions"
TRACKING = "spark.dynamicAllocation.shuffleTracking.enabled"


@pytest.mark.parametrize("text", ['" true"', "'\ttrue'", '"\\ true"', "\\ true", "'true '", "TRUE"])
def test_attack_an_option_of_the_driver_hides_no_value_by_blanks(text):
    assert is_denied(made(DynamicAllocation), {}, {DRIVER: f"-D{ON}={text}"})
    assert is_denied(made(IfThen, {"if": {ON: True}, "then": {"spark.x": 1}}), {}, {DRIVER: f"-D{ON}={text}"})


@pytest.mark.parametrize(
    "options",
    [
        "-Da=-Dspark.shuffle.service.enabled=true",
        f'"-Da=b -D{TRACKING}=true"',
        f"'-Da=b -D{TRACKING}=true'",
        f"-Da=b\\ -D{TRACKING}=true",
        f'-Da=\\" -D{TRACKING}=true -Db=\\"',
        f"-Da=b\u00a0-D{TRACKING}=true",
        f"-Da=b\u2003-D{TRACKING}=true",
        f"x-D{TRACKING}=true",
        f"-D{TRACKING}",
        f"-D{TRACKING}=true 'x",
        f"-D{TRACKING}=true \\",
    ],
)
def test_attack_an_option_of_the_driver_that_spark_does_not_read_is_no_way_out(options):
    assert is_denied(made(DynamicAllocation), {}, {ON: "true", DRIVER: options})


@pytest.mark.parametrize(
    "options", [f"-D{TRACKING}=true", f'-Xss4m "-D{TRACKING}=true" -Dx="a b"', f"-D{TRACKING}=' true'"]
)
def test_an_option_of_the_driver_that_spark_reads_is_a_way_out(options):
    assert not is_denied(made(DynamicAllocation), {}, {ON: "true", DRIVER: options})


UNREADABLE = ["-Da='b", '-Da="b', "-Da=b\\", "-D\\spark.app.x=1", '-Da=\\" -Dspark.app.x=1 -Db=\\"', HIDDEN]


@pytest.mark.parametrize("options", UNREADABLE)
@pytest.mark.parametrize(
    "policy",
    [
        made(Bounds, {"spark.executor.cores": {"max": 4}}),
        made(DynamicAllocation),
        made(IfThen, {"if": {"spark.a": 1}, "then": {"spark.b": 1}}),
        made(ForbiddenKeys, {"keys": ["spark.authenticate"]}),
        made(ImmutableKeys, {"keys": ["spark.yarn.queue"]}),
    ],
    ids=lambda policy: type(policy).__name__,
)
def test_attack_options_that_cannot_be_split_in_one_way_may_set_any_key(policy, options):
    assert is_denied(policy, {}, {DRIVER: options})


@pytest.mark.parametrize("options", UNREADABLE)
def test_options_that_cannot_be_split_may_stay_where_keys_are_frozen(options):
    frozen = made(ImmutableKeys, {"keys": ["spark.yarn.queue"]})

    assert not is_denied(frozen, {DRIVER: options}, {DRIVER: options, "spark.app.y": "1"})
    assert not is_denied(frozen, {DRIVER: options}, {DRIVER: "-Da=b"})


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ("spark.driver.extraJavaOptions", "spark.driver.memory"),
        ("spark.driver.defaultJavaOptions", "spark.driver.memory"),
        ("spark.executor.extraJavaOptions", "spark.executor.memory"),
        ("spark.executor.defaultJavaOptions", "spark.executor.memory"),
        ("spark.yarn.am.extraJavaOptions", "spark.yarn.am.memory"),
    ],
)
@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("-XX:MaxHeapSize=64g", True),
        ("-mx64g", True),
        ("-Xmx64g", True),
        ('-Xss4m "-XX:Max"HeapSize=64g', True),
        ("-mx\\64g", True),
        ("-XX:MaxHeapSize=68719476736", True),
        ("-XX:MaxHeapSize=0x1000000000", True),
        ("-XX:MaxHeapSize=${vault:apps:heap}", True),
        ("-XX:Flags=/tmp/flags", True),
        ("-XX:VMOptionsFile=/tmp/flags", True),
        ("-Da=b @/tmp/options", True),
        ("-Da='b", True),
        ("-XX:MaxHeapSize=2g", False),
        ("-mx2097152k", False),
        ("-XX:MaxHeapSize=1073741824", False),
        ("-XX:MaxRAMPercentage=90", False),
        ("-Da=-mx64g '-Db=c -mx64g' -Dmail=a@b", False),
        ("-Dpassword=${vault:it's:p w}", False),
    ],
)
def test_attack_no_option_sets_the_heap_past_the_bounds_of_memory(options, key, text, denied):
    assert is_denied(made(Bounds, {key: {"max": "4g"}}), {}, {options: text}) == denied


def test_a_heap_is_free_where_its_memory_is_not_bounded():
    bounds = made(Bounds, {"spark.executor.memory": {"max": "4g"}})

    assert not is_denied(bounds, {}, {DRIVER: "-XX:MaxHeapSize=64g -XX:Flags=/tmp/flags"})


@pytest.mark.parametrize("text", ["0", "-1", "0b", "-1g"])
@pytest.mark.parametrize("key", ["spark.driver.maxResultSize", "spark.executor.pyspark.memory", "spark.app.size"])
def test_attack_70_no_limit_is_not_below_the_maximum(key, text):
    assert is_denied(made(Bounds, {key: {"max": "4g", "unit": "m"}}), {}, {key: text})


@pytest.mark.parametrize(
    "key",
    [
        "spark.sql.sources.default",
        "spark.kubernetes.allocation.pods.allocator",
        "spark.app.initial.jar.urls",
        "spark.streaming.clock",
        "spark.user.groups.mapping",
        "spark.sql.streaming.stateStore.compression.codec",
        "spark.hadoop.fs.s3a.custom.signers",
        "spark.hadoop.fs.s3a.bucket.lake.custom.signers",
        "fs.s3a.custom.signers",
        "spark.hadoop.fs.s3a.audit.service.classname",
        "spark.hadoop.fs.s3a.audit.request.handlers",
        "spark.hadoop.fs.s3a.audit.execution.interceptors",
        "spark.hadoop.fs.s3a.delegation.token.binding",
        "spark.hadoop.fs.s3a.s3.client.factory.impl",
        "spark.hadoop.fs.azure.account.oauth.provider.type",
        "spark.hadoop.fs.azure.account.oauth.provider.type.a.dfs.core.windows.net",
        "spark.hadoop.fs.azure.account.keyprovider.a.dfs.core.windows.net",
        "spark.hadoop.fs.azure.sas.token.provider.type.a.dfs.core.windows.net",
        "spark.hadoop.fs.azure.shellkeyprovider.script",
        "spark.hadoop.dfs.client.failover.proxy.provider.cluster",
        "spark.hadoop.dfs.client.failover.resolver.impl",
        "spark.hadoop.mapreduce.outputcommitter.factory.class",
        "spark.hadoop.mapreduce.outputcommitter.factory.scheme.s3a",
        "spark.hadoop.mapreduce.outputcommitter.factory.scheme.acme",
        "spark.hadoop.mapreduce.outputcommitter.named.classname",
        "spark.hadoop.mapred.output.committer.class",
        "spark.hadoop.mapreduce.output.fileoutputformat.compress.codec",
        "spark.hadoop.parquet.read.filter",
        "spark.hadoop.parquet.crypto.factory.class",
        "spark.hadoop.rpc.engine.org.apache.Protocol",
        "spark.hadoop.topology.script.file.name",
        "hive.metastore.uris",
    ],
)
def test_attack_70_no_run_brings_in_a_class_by_its_name(key):
    assert is_denied(made(CodeLoadingKeys), {}, {key: "acme.Evil"})
    assert is_denied(made(CodeLoadingKeys), {key: "acme.Good"}, {key: "acme.Evil"}, at=Moment.RENDER)


@pytest.mark.parametrize("name", ["pwd", "pass", "connectionString", "sas", "keyStorePass"])
def test_attack_70_a_secret_is_one_however_its_key_is_called(name):
    assert is_denied(made(ReferencesOnly), {}, {f"spark.app.db.{name}": CANARY})


@pytest.mark.parametrize("text", ["jdbc:x://u:hunter2@h/d", f"jdbc:x;password={CANARY}", f"https://h/?sig={CANARY}"])
def test_attack_70_a_secret_is_one_also_inside_of_a_value(text):
    assert is_denied(made(ReferencesOnly), {}, {"spark.app.db.url": text})


# --- a small change that costs minutes --------------------------------------------------------------


@pytest.mark.parametrize("kind", [OpType.APPEND, OpType.SUBTRACT])
def test_attack_a_value_that_is_too_long_is_refused_and_not_carried_out(kind):
    admin = ConfigAdmin(InMemoryConfigStore(), DEFINITION)
    admin.incremental_alter_configs({DAG: [AlterConfigOp("spark.jars", "a")]})

    with pytest.raises(ConfigException, match=r"'spark\.jars' has 80000 characters, and 65536 are allowed"):
        admin.incremental_alter_configs({DAG: [AlterConfigOp("spark.jars", "a," * 40_000, kind)]})

    assert admin.describe_configs([DAG])[DAG]["spark.jars"].value == "a"
