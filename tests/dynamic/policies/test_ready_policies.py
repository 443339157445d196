"""The ready policies: what each denies, what it lets pass, and which parameters it refuses."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from airflow_config_providers.core.alter import ConfigResource, ResourceType
from airflow_config_providers.core.policy import Moment, PolicyViolation, RequestMetadata
from airflow_config_providers.dynamic.policies import (
    CODE_LOADING_KEYS,
    AllowedReferences,
    Bounds,
    CodeLoadingKeys,
    DynamicAllocation,
    ForbiddenKeys,
    IfThen,
    ImmutableKeys,
    ReferencesOnly,
    RequiredKeys,
)
from airflow_config_providers.dynamic.policies.bounds import HARMLESS, UNLIMITED
from airflow_config_providers.dynamic.policies.code_loading_keys import code_loading_names
from airflow_config_providers.dynamic.policies.spark_keys import KeyPatterns, canonical_name, names_of, unmatched
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.spark.catalogue import spark_definition
from airflow_config_providers.spark.catalogue_file import versions

TASK = ConfigResource.of_task("flights_daily", "join")
CANARY = "hunter2"


def made(kind, params=None):
    policy = kind()
    policy.configure(params or {})
    return policy


def denied(policy, after, before=None, *, resource=TASK, at=Moment.ALTER, hidden=()):
    """Return the reasons; none if the change passes. No reason may quote the canary."""
    violation = None
    try:
        policy.validate(RequestMetadata(resource, before or {}, after, at, frozenset(hidden)))
    except PolicyViolation as error:
        violation = error
    assert violation is None or violation.problems
    assert CANARY not in str(violation)
    return list(violation.problems) if violation else []


def keys_of(problems):
    return [re.search("'(.*?)'", problem)[1] for problem in problems]


# --- bounds -----------------------------------------------------------------------------------------

MEMORY, CORES = "spark.executor.memory", "spark.executor.cores"
BOUNDS = {MEMORY: {"min": "1g", "max": "16g"}, CORES: {"max": 8}, "spark.executor.instances": {"min": 1, "max": 50}}


@pytest.mark.parametrize(
    ("key", "text", "reason"),
    [
        (MEMORY, "16g", None),
        (MEMORY, "1G", None),
        (MEMORY, " 16384m ", None),
        (MEMORY, "16384", None),
        (MEMORY, "16385", "more than 16g"),
        (MEMORY, "17g", "more than 16g"),
        (MEMORY, "1t", "more than 16g"),
        (MEMORY, "16777217k", "more than 16g"),
        (MEMORY, "1023m", "less than 1g"),
        (MEMORY, "-1g", "less than 1g"),
        (MEMORY, CANARY, "cannot be compared"),
        (MEMORY, "1.5g", "cannot be compared"),
        (MEMORY, "", "cannot be compared"),
        (MEMORY, "${spark.executor.cores}g", "cannot be compared"),
        (MEMORY, "${file:/etc/x:memory}", "contains a reference"),
        (MEMORY, "9${env:ZEROS}g", "contains a reference"),
        (CORES, "8", None),
        (CORES, " 8", None),
        (CORES, "9", "more than 8"),
        (CORES, "\u0661\u0660", "more than 8"),
        (CORES, "8g", "cannot be compared"),
        (CORES, "0x10", "cannot be compared"),
        ("spark.executor.instances", "0", "less than 1"),
        ("spark.app.other", "999t", None),
    ],
)
def test_bounds(key, text, reason):
    problems = denied(made(Bounds, BOUNDS), {key: text})

    assert [reason in problem for problem in problems] == ([True] if reason else [])


def test_bounds_tell_of_every_key():
    assert keys_of(denied(made(Bounds, BOUNDS), {MEMORY: "1t", CORES: "99"})) == [CORES, MEMORY]


def test_bounds_with_one_value_allow_that():
    policy = made(Bounds, {CORES: {"min": 4, "max": 4}})

    assert [bool(denied(policy, {CORES: text})) for text in ("3", "4", "5")] == [True, False, True]


def test_a_value_that_cannot_be_compared_is_told_a_bound_to_compare_it_with():
    (problem,) = denied(made(Bounds, {CORES: {"min": 4}}), {CORES: "many"})

    assert "cannot be compared with 4." in problem


def test_bounds_hold_for_the_older_name_of_a_key():
    policy = made(Bounds, {"spark.executor.memoryOverhead": {"max": "2g"}})

    assert keys_of(denied(policy, {"spark.yarn.executor.memoryOverhead": "4g"})) == [
        "spark.yarn.executor.memoryOverhead"
    ]


@pytest.mark.parametrize(
    ("key", "bound", "text", "reason"),
    [
        ("spark.driver.maxResultSize", {"max": "4g"}, "0", "has a number that means no limit"),
        ("spark.driver.maxResultSize", {"max": "4g"}, "-1", "has a number that means no limit"),
        ("spark.driver.maxResultSize", {"max": "4g"}, " 0G ", "has a number that means no limit"),
        ("spark.driver.maxResultSize", {"min": 0, "max": "4g"}, "0", "has a number that means no limit"),
        ("spark.executor.pyspark.memory", {"max": "4g"}, "0", "has a number that means no limit"),
        ("spark.sql.files.maxRecordsPerFile", {"max": 1000}, "-5", "has a number that means no limit"),
        ("spark.sql.cteRecursionRowLimit", {"max": 1000}, "-1", "has a number that means no limit"),
        ("spark.dynamicAllocation.maxExecutors", {"max": 50}, "infinity", "cannot be compared"),
        ("spark.dynamicAllocation.maxExecutors", {"max": 50}, "2147483647", "more than 50"),
        (CORES, {"max": 8}, "0", "which can mean no limit"),
        (CORES, {"max": 8}, "-1", "which can mean no limit"),
        (MEMORY, {"max": "4g"}, "-1g", "which can mean no limit"),
        (MEMORY, {"max": "4g"}, "0m", "which can mean no limit"),
        ("spark.app.rows", {"max": 8}, "0", "which can mean no limit"),
        ("spark.app.rows", {"min": 0, "max": 8}, "0", None),
        ("spark.app.rows", {"min": -1, "max": 8}, "-1", None),
        ("spark.app.rows", {"max": 0}, "0", None),
        ("spark.app.rows", {"min": 0}, "0", None),
        ("spark.app.rows", {"max": 1}, "0", "which can mean no limit"),
        ("spark.app.rows", {"max": 8}, "1", None),
        ("spark.sql.files.maxRecordsPerFile", {"min": 0}, "0", None),
        ("spark.dynamicAllocation.minExecutors", {"max": 8}, "0", None),
        ("spark.sql.autoBroadcastJoinThreshold", {"max": "1g", "unit": "b"}, "-1", None),
        ("spark.executor.memoryOverhead", {"max": "1g"}, "0", None),
    ],
)
def test_a_maximum_denies_what_means_no_limit(key, bound, text, reason):
    problems = denied(made(Bounds, {key: bound}), {key: text})

    assert [reason in problem for problem in problems] == ([True] if reason else [])


def test_what_is_unlimited_and_what_is_harmless_are_keys_of_spark():
    undeclared = {"spark.port.maxRetries"}

    assert {*UNLIMITED, *HARMLESS} - undeclared <= spark_definition().names()
    assert not UNLIMITED.keys() & HARMLESS.keys()


@pytest.mark.parametrize(
    "key",
    [
        "spark.hadoop.fs.s3a.threads.max",
        "fs.s3a.threads.max",
        "spark.hadoop.fs.s3a.bucket.a.b.threads.max",
        "fs.s3a.bucket.lake.threads.max",
    ],
)
def test_bounds_hold_for_each_spelling_of_a_key_of_hadoop(key):
    assert denied(made(Bounds, {"spark.hadoop.fs.s3a.threads.max": {"max": 64}}), {key: "65"})


SPELLINGS = {
    "s3a": ["fs.s3a.threads.max", "spark.hadoop.fs.s3a.threads.max"],
    "hive": ["hive.metastore.uris", "spark.hadoop.hive.metastore.uris", "spark.hive.metastore.uris"],
    "renamed": ["spark.executor.memoryOverhead", "spark.yarn.executor.memoryOverhead"],
    "renamed in Hadoop": ["dfs.block.size", "dfs.blocksize", "spark.hadoop.dfs.block.size"],
}

PAIRS = [pair for names in SPELLINGS.values() for pair in itertools.product(names, names)]


@pytest.mark.parametrize(("rule", "key"), PAIRS)
def test_ready_policies_judge_all_spellings_of_a_key_alike(rule, key):
    assert denied(made(ForbiddenKeys, {"keys": [rule]}), {key: "65"})
    assert denied(made(ImmutableKeys, {"keys": [rule]}), {key: "65"}, before={key: "64"})
    assert denied(made(CodeLoadingKeys, {"also": [rule]}), {key: "65"})
    assert denied(made(Bounds, {rule: {"max": 64, "unit": "m"}}), {key: "65"})
    assert denied(made(IfThen, {"if": {rule: 65}, "then": {"x": 1}}), {key: "65"})
    assert denied(made(ReferencesOnly, {"keys": [rule]}), {key: "65"})
    assert not denied(made(RequiredKeys, {"keys": [rule]}), {key: "65"})


@pytest.mark.parametrize(("rule", "key"), PAIRS)
def test_exceptions_of_ready_policies_hold_for_all_spellings_of_a_key(rule, key):
    assert not denied(made(ForbiddenKeys, {"keys": ["*"], "except": [rule]}), {key: "65"})
    assert not denied(made(ImmutableKeys, {"keys": ["*"], "except": [rule]}), {key: "65"}, before={key: "64"})
    assert not denied(made(ReferencesOnly, {"keys": ["*"], "except": [rule]}), {key: "65"})


@pytest.mark.parametrize("key", SPELLINGS["hive"])
@pytest.mark.parametrize("rule", ["hive*", "spark.hive*", "spark.hadoop.hive*"])
def test_a_pattern_that_cuts_the_prefix_of_a_key_of_hive_matches_all_of_its_names(rule, key):
    assert denied(made(ForbiddenKeys, {"keys": [rule]}), {key: "x"})


def test_an_exception_for_a_key_is_none_for_the_key_of_one_bucket():
    excluded = {"keys": ["*"], "except": ["fs.s3a.endpoint"]}

    assert denied(made(ForbiddenKeys, excluded), {"fs.s3a.bucket.lake.endpoint": "x"})
    assert denied(made(ReferencesOnly, excluded), {"fs.s3a.bucket.lake.endpoint": "x"})


def test_a_reference_is_not_allowed_because_a_key_of_spark_has_an_older_name():
    policy = made(AllowedReferences, {"allow": [{"providers": ["vault"], "keys": ["spark.yarn.jar"]}]})

    assert denied(policy, {"spark.app.x": "${vault:apps:spark.yarn.jars}"})


def test_bounds_may_let_references_pass():
    assert not denied(made(Bounds, {MEMORY: {"max": "1g", "references": True}}), {MEMORY: "${file:a:b}"})


def test_bounds_know_the_unit_of_plain_numbers():
    assert denied(made(Bounds, {"spark.driver.maxResultSize": {"max": "1k"}}), {"spark.driver.maxResultSize": "1025"})
    assert denied(made(Bounds, {"spark.app.x": {"max": "1g", "unit": "g"}}), {"spark.app.x": "2"})


@given(st.integers(1, 2**40), st.sampled_from("kmgt"))
def test_bounds_agree_with_arithmetic(number, unit):
    problems = denied(made(Bounds, {MEMORY: {"max": "16g"}}), {MEMORY: f"{number}{unit}"})

    assert bool(problems) == (number * 1024 ** (" kmgt".index(unit)) > 16 * 1024**3)


@pytest.mark.parametrize(
    ("params", "problem"),
    [
        ({}, "There are no bounds"),
        ({MEMORY: "16g"}, "expected min, max or both"),
        ({MEMORY: {}}, "expected min, max or both"),
        ({MEMORY: {"max": "hunter2"}}, "max is neither a number nor a size"),
        ({MEMORY: {"max": 1.5}}, "max is neither a number nor a size"),
        ({MEMORY: {"max": True}}, "max is neither a number nor a size"),
        ({MEMORY: {"min": "2g", "max": "1g"}}, "min is more than max"),
        ({MEMORY: {"max": "1g", "maximum": "2g"}}, "'maximum' is unknown"),
        ({CORES: {"max": "8"}}, "the unit of sizes without a unit is missing"),
        ({"spark.app.x": {"max": "1g", "unit": "x"}}, "the unit of sizes without a unit is missing"),
        (
            {"spark.executor.memoryOverhead": {"max": "1g"}, "spark.yarn.executor.memoryOverhead": {"max": "64g"}},
            "'spark.yarn.executor.memoryOverhead' is another name of 'spark.executor.memoryOverhead'",
        ),
        (
            {"spark.hadoop.fs.s3a.threads.max": {"max": 8}, "fs.s3a.threads.max": {"max": 64}},
            "'fs.s3a.threads.max' is another name of 'spark.hadoop.fs.s3a.threads.max'",
        ),
        ({8: {}}, "'8': expected min, max or both"),
    ],
    ids=str,
)
def test_bounds_that_cannot_be_used(params, problem):
    with pytest.raises(ConfigException, match=problem):
        made(Bounds, params)


def test_all_bounds_that_cannot_be_used_are_told_at_once():
    with pytest.raises(ConfigException) as error:
        made(Bounds, {MEMORY: {}, CORES: {"max": "8"}})

    assert len(error.value.problems) == 2


# --- keys -------------------------------------------------------------------------------------------


def test_forbidden_keys():
    policy = made(
        ForbiddenKeys, {"keys": ["spark.jars", "spark.hadoop.fs.*"], "except": ["spark.hadoop.fs.s3a.endpoint"]}
    )
    after = {"spark.jars": CANARY, "spark.jars.x": "", "spark.hadoop.fs.a": "", "spark.hadoop.fs.s3a.endpoint": ""}

    assert keys_of(denied(policy, after)) == ["spark.hadoop.fs.a", "spark.jars"]
    assert not denied(policy, {}, before={"spark.jars": "x"})


@pytest.mark.parametrize(
    ("pattern", "key"),
    [
        ("spark.hadoop.fs.s3a.endpoint", "fs.s3a.endpoint"),
        ("spark.hadoop.fs.s3a.endpoint", "spark.hadoop.fs.s3a.bucket.lake.endpoint"),
        ("spark.hadoop.fs.s3a.endpoint", "fs.s3a.bucket.a.dotted.bucket.endpoint"),
        ("spark.hadoop.fs.azure.account.auth.type", "spark.hadoop.fs.azure.account.auth.type.a.dfs.core.windows.net"),
        ("spark.hadoop.fs.azure.account.auth.type", "fs.azure.account.auth.type.box.a.dfs.core.windows.net"),
        ("spark.hadoop.fs.azure.sas", "fs.azure.sas.a.dfs.core.windows.net"),
        ("spark.hadoop.hive.metastore.uris", "spark.hive.metastore.uris"),
        ("spark.hadoop.hive.metastore.uris", "hive.metastore.uris"),
        ("spark.hadoop.net.topology.script.file.name", "spark.hadoop.topology.script.file.name"),
        ("spark.hadoop.fs.*", "fs.defaultFS"),
        ("spark.yarn.jar", "spark.yarn.jars"),
        ("spark.reducer.maxMbInFlight", "spark.reducer.maxSizeInFlight"),
    ],
)
def test_a_key_is_meant_however_it_is_spelled(pattern, key):
    assert keys_of(denied(made(ForbiddenKeys, {"keys": [pattern]}), {key: CANARY})) == [key]


@pytest.mark.parametrize("start", ["fs.azure", "spark.hadoop.fs.s3a.bucket"])
@pytest.mark.parametrize("dots", [100, 100_000])
def test_a_key_stands_for_few_names_however_long_it_is(start, dots):
    assert len(names_of(start + ".x" * dots)) < 50


def test_the_name_of_a_bucket_is_no_part_of_a_general_key():
    assert not denied(made(ForbiddenKeys, {"keys": ["fs.s3a.endpoint.*"]}), {"fs.s3a.bucket.endpoint.region": "x"})


def test_a_spelling_can_be_excepted_like_the_key():
    policy = made(ForbiddenKeys, {"keys": "spark.hadoop.fs.*", "except": "spark.hadoop.fs.s3a.endpoint"})

    assert not denied(policy, {"fs.s3a.endpoint": "x"})


def test_forbidden_keys_cannot_be_set_by_their_older_names():
    policy = made(ForbiddenKeys, {"keys": ["spark.yarn.jars"]})

    assert keys_of(denied(policy, {"spark.yarn.jar": "x"})) == ["spark.yarn.jar"]


@pytest.mark.parametrize(
    "older",
    [
        pytest.param("spark.yarn.max.executor.failures", id="renamed once"),
        pytest.param("spark.yarn.max.worker.failures", id="renamed twice"),
    ],
)
def test_forbidden_keys_cannot_be_set_by_names_that_were_renamed(older):
    policy = made(ForbiddenKeys, {"keys": ["spark.executor.maxNumFailures"]})

    assert keys_of(denied(policy, {older: "9"})) == [older]


def test_forbidden_keys_cannot_be_set_by_older_names_that_only_spark_35_reads():
    policy = made(ForbiddenKeys, {"keys": ["spark.excludeOnFailure.enabled"]})

    assert keys_of(denied(policy, {"spark.blacklist.enabled": "true"})) == ["spark.blacklist.enabled"]


@pytest.mark.parametrize(
    ("before", "after", "at", "is_denied"),
    [
        pytest.param({}, {}, Moment.RENDER, True, id="a run without it"),
        pytest.param({"spark.app.team": "x"}, {"spark.app.team": ""}, Moment.RENDER, False, id="an empty text is one"),
        pytest.param({}, {"spark.app.team.eu": "x"}, Moment.RENDER, False, id="a key that fits the pattern"),
        pytest.param({}, {}, Moment.ALTER, False, id="another layer may have it"),
        pytest.param({"spark.app.team": "x"}, {}, Moment.ALTER, True, id="taken away"),
        pytest.param({"spark.app.team": "x"}, {"spark.app.team2": "x"}, Moment.ALTER, False, id="another one left"),
    ],
)
def test_required_keys(before, after, at, is_denied):
    policy = made(RequiredKeys, {"keys": ["spark.app.team*"]})

    assert bool(denied(policy, after, before, at=at)) is is_denied


@pytest.mark.parametrize(
    ("before", "after", "hidden", "is_denied"),
    [
        pytest.param({"k": "1"}, {"k": "1"}, (), False, id="unchanged"),
        pytest.param({"k": "1"}, {"k": "2"}, (), True, id="changed"),
        pytest.param({"k": "1"}, {"k": ""}, (), True, id="emptied"),
        pytest.param({"k": "1"}, {}, (), True, id="deleted"),
        pytest.param({}, {"k": "1"}, (), True, id="set"),
        pytest.param({"k": "[hidden]"}, {"k": "[hidden]"}, {"k"}, True, id="a secret changed"),
        pytest.param({"k": "[hidden]"}, {"k": "[hidden]"}, (), False, id="a secret unchanged"),
        pytest.param({"x": "1"}, {"x": "2"}, (), False, id="another key"),
    ],
)
def test_immutable_keys(before, after, hidden, is_denied):
    assert bool(denied(made(ImmutableKeys, {"keys": ["k"]}), after, before, hidden=hidden)) is is_denied


@pytest.mark.parametrize(
    ("text", "other"),
    [
        pytest.param("${spark.app.size}", "spark.app.size", id="of Spark"),
        pytest.param("1 ${spark.app.size}2", "spark.app.size", id="a part"),
        pytest.param("${fs.size}", "spark.hadoop.fs.size", id="of Hadoop"),
        pytest.param("${fs.size}", "fs.size", id="of Hadoop without the prefix"),
        pytest.param("${spark.app.between}", "spark.app.size", id="through another key"),
        pytest.param("${fs.${spark.app.x}}", "spark.app.size", id="nested"),
        pytest.param("${dollar}{fs.size}", "spark.hadoop.fs.size", id="in parts"),
    ],
)
def test_immutable_keys_do_not_change_through_a_part_of_their_value(text, other):
    policy = made(ImmutableKeys, {"keys": ["k"]})
    same = {"k": text, "spark.app.between": "${spark.app.size}"}

    assert keys_of(denied(policy, {**same, other: CANARY}, {**same, other: "1"})) == ["k"]
    assert keys_of(denied(policy, {**same, other: CANARY}, same)) == ["k"]
    assert keys_of(denied(policy, same, {**same, other: "1"})) == ["k"]


@pytest.mark.parametrize("name", ["fs.default.name", "fs.defaultFS"])
@pytest.mark.parametrize("changed", ["fs.default.name", "fs.defaultFS"])
def test_immutable_keys_do_not_change_through_another_name_of_a_part_of_their_value(name, changed):
    policy = made(ImmutableKeys, {"keys": ["spark.hadoop.k"]})
    configs = {"spark.hadoop.k": f"${{{name}}}/x"}

    assert denied(policy, {**configs, f"spark.hadoop.{changed}": "hdfs://y"}, configs)


def test_immutable_keys_do_not_change_through_an_option_of_the_jvm():
    policy = made(ImmutableKeys, {"keys": ["k"]})
    same = {"k": "${spark.app.size}"}

    assert keys_of(denied(policy, {**same, "spark.driver.extraJavaOptions": "-Dspark.app.size=2"}, same)) == ["k"]


def test_immutable_keys_may_take_in_what_does_not_change():
    configs = {"k": "${spark.app.size}", "spark.app.size": "1"}

    assert not denied(made(ImmutableKeys, {"keys": ["k"]}), {**configs, "x": "2"}, configs)


def test_immutable_keys_that_hadoop_does_not_read_may_have_what_it_would_put_together():
    configs = {"spark.driver.extraJavaOptions": "-Dpattern=$${ctx:id}{x}"}
    policy = made(ImmutableKeys, {"keys": ["spark.driver.extraJavaOptions"]})

    assert not denied(policy, {**configs, "x": "2"}, configs)


def test_values_that_take_in_each_other_end():
    configs = {f"k{number}": f"${{k{number - 1}}}" for number in range(2_000)} | {"k0": "${k1999}"}

    assert len(denied(made(ImmutableKeys, {"keys": ["k*"]}), {**configs, "k5": "1"}, configs)) == 2_000


def test_immutable_keys_may_be_deletable():
    policy = made(ImmutableKeys, {"keys": ["k*"], "deletable": True})

    assert not denied(policy, {}, {"k": "1"})
    assert denied(policy, {"k": "2"}, {"k": "1"})


@pytest.mark.parametrize("kind", [ForbiddenKeys, RequiredKeys, ImmutableKeys])
@pytest.mark.parametrize("keys", [None, [], 5, [5], [""], {"a": 1}], ids=str)
def test_keys_that_are_no_list_of_texts_are_refused(kind, keys):
    with pytest.raises(ConfigException, match=r"'keys': .*Correct it|'keys': .*Add it"):
        made(kind, {} if keys is None else {"keys": keys})


@pytest.mark.parametrize("kind", [CodeLoadingKeys, ReferencesOnly])
def test_an_exception_that_is_misspelt_is_refused(kind):
    with pytest.raises(ConfigException, match="'excepts' is unknown, did you mean 'except'"):
        made(kind, {"excepts": ["spark.jars"]})


@pytest.mark.parametrize(("params", "what"), [({}, "Add"), ({"keys": 5}, "Correct")], ids=["missing", "wrong"])
def test_a_parameter_is_to_be_added_or_corrected(params, what):
    with pytest.raises(ConfigException, match=rf"'keys': expected a list of strings\. {what} it\."):
        made(RequiredKeys, params)


def test_one_key_needs_no_list():
    assert denied(made(ForbiddenKeys, {"keys": "k"}), {"k": "1"})


# --- code -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "key",
    [
        "spark.jars",
        "spark.jars.packages",
        "spark.jars.repositories",
        "spark.submit.pyFiles",
        "spark.files",
        "spark.archives",
        "spark.yarn.jar",
        "spark.yarn.dist.files",
        "spark.yarn.keytab",
        "spark.driver.extraJavaOptions",
        "spark.executor.extraJavaOptions",
        "spark.executor.defaultJavaOptions",
        "spark.yarn.am.extraJavaOptions",
        "spark.driver.extraClassPath",
        "spark.files.userClassPathFirst",
        "spark.executorEnv.PYTHONPATH",
        "spark.yarn.appMasterEnv.LD_PRELOAD",
        "spark.kubernetes.driverEnv.X",
        "spark.pyspark.python",
        "spark.pyspark.driver.python",
        "spark.r.driver.command",
        "spark.plugins",
        "spark.extraListeners",
        "spark.sql.extensions",
        "spark.sql.queryExecutionListeners",
        "spark.sql.catalog.prod",
        "spark.sql.catalog.prod.io-impl",
        "spark.sql.hive.metastore.jars",
        "spark.sql.sources.commitProtocolClass",
        "spark.sql.parquet.output.committer.class",
        "spark.serializer",
        "spark.kryo.registrator",
        "spark.metrics.conf.driver.sink.x.class",
        "spark.hadoop.fs.s3a.impl",
        "spark.hadoop.fs.s3a.aws.credentials.provider",
        "spark.hadoop.hadoop.security.group.mapping",
        "spark.hadoop.net.topology.script.file.name",
        "spark.master",
        "spark.kubernetes.authenticate.driver.serviceAccountName",
        "spark.kerberos.principal",
        "spark.remote",
        "spark.submit.deployMode",
        "spark.driver.bindAddress",
        "spark.driver.host",
        "spark.driver.port",
        "spark.kubernetes.driver.master",
        "spark.kubernetes.namespace",
        "spark.ui.store.path",
        "spark.yarn.stagingDir",
        "spark.hadoop.fs.default.name",
        "spark.hadoop.yarn.resourcemanager.address",
        "spark.kubernetes.container.image",
        "spark.kubernetes.executor.container.image",
        "spark.kubernetes.driver.podTemplateFile",
        "spark.kubernetes.driver.volumes.hostPath.x.mount.path",
        "spark.driver.resource.gpu.discoveryScript",
        "spark.connect.grpc.interceptor.classes",
        "spark.connect.authenticate.token",
        "spark.connect.grpc.binding.address",
        "spark.connect.grpc.binding.port",
        "spark.api.mode",
    ],
)
def test_code_loading_keys(key):
    policy = made(CodeLoadingKeys)

    assert denied(policy, {key: CANARY})
    assert denied(policy, {key: CANARY}, {key: "x"}, at=Moment.RENDER)
    assert not denied(policy, {key: "x"}, {key: "x"}, at=Moment.RENDER)
    assert not denied(policy, {}, {key: "x"})


@pytest.mark.parametrize(
    "key",
    [
        MEMORY,
        CORES,
        "spark.sql.shuffle.partitions",
        "spark.sql.adaptive.enabled",
        "spark.sql.parquet.compression.codec",
        "spark.dynamicAllocation.maxExecutors",
        "spark.app.name",
        "spark.hadoop.fs.s3a.endpoint",
        "spark.kubernetes.driver.request.cores",
        "spark.scheduler.mode",
        "spark.r.numRBackendThreads",
    ],
)
def test_other_keys_load_no_code(key):
    assert not denied(made(CodeLoadingKeys), {key: "x"})


def test_what_sparks_catalogue_has_of_them_is_known():
    """A new version of Spark may bring more: then this names them."""
    telling = re.compile(
        r"(class|classes|plugins?|listeners|javaoptions|classpath|librarypath|jars|pyfiles|packages|repositories"
        r"|registrator|script|command|podtemplatefile|container\.image|steps|module|python)$",
        re.IGNORECASE,
    )
    harmless = {
        "spark.kubernetes.driver.pod.excludedFeatureSteps",
        "spark.kubernetes.executor.pod.excludedFeatureSteps",
        "spark.sql.hive.initializeMetastoreFormatClasses",
        "spark.sql.legacy.raiseErrorWithoutErrorClass",
        "spark.sql.legacy.useV1Command",
        "spark.yarn.isPython",
    }
    told = {key for version in versions() for key in spark_definition(version).names() if telling.search(key)}

    assert told - set(KeyPatterns(CODE_LOADING_KEYS).matching(told)) == harmless


def test_code_loading_keys_can_be_more_and_fewer():
    policy = made(CodeLoadingKeys, {"also": ["spark.app.plugin"], "except": ["spark.serializer"]})

    assert keys_of(denied(policy, {"spark.app.plugin": "x", "spark.serializer": "x"})) == ["spark.app.plugin"]


# --- if then ----------------------------------------------------------------------------------------

ALLOCATION, TRACKING = "spark.dynamicAllocation.enabled", "spark.dynamicAllocation.shuffleTracking.enabled"


@pytest.mark.parametrize(
    ("after", "is_denied"),
    [
        ({}, False),
        ({ALLOCATION: "false"}, False),
        ({ALLOCATION: "true"}, True),
        ({ALLOCATION: " TRUE\n"}, True),
        ({ALLOCATION: "true", TRACKING: "false"}, True),
        ({ALLOCATION: "true", TRACKING: "True"}, False),
        ({ALLOCATION: "true", "spark.shuffle.service.enabled": "true"}, False),
        ({ALLOCATION: "true", "spark.decommission.enabled": "true"}, True),
        (
            {
                ALLOCATION: "true",
                "spark.decommission.enabled": "true",
                "spark.storage.decommission.shuffleBlocks.enabled": "true",
            },
            False,
        ),
    ],
    ids=str,
)
def test_dynamic_allocation(after, is_denied):
    assert bool(denied(made(DynamicAllocation), after)) is is_denied


def test_if_then_tells_what_is_wanted_and_no_value():
    policy = made(IfThen, {"if": {"a": 1, "b": None}, "then": [{"c": True}, {"d": None, "e": "x"}]})

    assert denied(policy, {"a": "1", "d": CANARY}) == ["With a=1 and no b there must be c=true or no d and e=x."]
    assert not denied(policy, {"a": "1", "b": ""})
    assert not denied(policy, {"a": "1", "e": "X "})


COMPLETED_LATER = [
    "${spark.app.on}",
    "${env:ON}",
    "${system:on}",
    "${env.ON:-true}",
    "${file:/etc/jobs.properties:on}",
    "t${env:RUE}",
    "${",
    "[hidden]",
]


@pytest.mark.parametrize("text", COMPLETED_LATER)
def test_if_then_denies_where_it_cannot_tell_whether_the_condition_holds(text):
    problems = denied(made(DynamicAllocation), {ALLOCATION: text})

    assert len(problems) == 2
    assert problems[1] == f"'{ALLOCATION}' cannot be compared. Write the value itself."


@pytest.mark.parametrize("text", COMPLETED_LATER)
def test_if_then_denies_where_it_cannot_tell_whether_the_rest_holds(text):
    assert denied(made(DynamicAllocation), {ALLOCATION: "true", TRACKING: text})


def test_if_then_lets_pass_what_surely_holds():
    assert not denied(made(DynamicAllocation), {ALLOCATION: "${spark.app.on}", TRACKING: "true"})
    assert not denied(made(DynamicAllocation), {ALLOCATION: "false", TRACKING: "${spark.app.on}"})
    assert not denied(made(IfThen, {"if": {"a": 1, "b": 1}, "then": {"c": 1}}), {"a": "2", "b": "${spark.app.on}"})


@pytest.mark.parametrize(
    ("wanted", "text", "is_denied"),
    [
        (4, "4", True),
        (4, "04", True),
        (4, "+4", True),
        (4, "5", False),
        (4, "4m", True),
        (0, "0m", True),
        (0, "4m", False),
        (4, "0m", False),
        ("0m", "4", False),
        ("4m", "0", False),
        (4, "many", False),
        ("1g", "1024m", True),
        ("1g", "1048576k", True),
        ("1g", "1025m", False),
        ("1g", "1073741824", True),
        ("10min", "600s", True),
        ("10min", "601s", False),
        ("batch", "BATCH ", True),
        ("batch", "streaming", False),
        (True, "false", False),
        (None, "${spark.app.on}", False),
    ],
)
def test_if_then_compares_what_values_mean(wanted, text, is_denied):
    assert bool(denied(made(IfThen, {"if": {"k": wanted}, "then": {"x": 1}}), {"k": text})) is is_denied


def test_if_then_denies_where_only_one_of_two_equal_numbers_has_a_unit():
    assert denied(made(IfThen, {"if": {"k": 1}, "then": {"x": 4}}), {"k": "1", "x": "4m"})


def test_if_then_denies_where_a_key_has_two_values_under_two_names():
    policy = made(IfThen, {"if": {"spark.memory.offHeap.enabled": True}, "then": {"x": "1"}})

    assert denied(policy, {"spark.unsafe.offHeap": "false", "spark.memory.offHeap.enabled": "true"})
    assert denied(policy, {"spark.unsafe.offHeap": "true", "spark.memory.offHeap.enabled": "false"})
    assert not denied(policy, {"spark.unsafe.offHeap": "false", "spark.memory.offHeap.enabled": "false"})


def test_if_then_sees_keys_of_hadoop_however_they_are_spelled():
    policy = made(IfThen, {"if": {"spark.hadoop.fs.a": True}, "then": {"x": "1"}})

    assert denied(policy, {"fs.a": "true"})


def test_if_then_sees_older_names():
    policy = made(IfThen, {"if": {"spark.memory.offHeap.enabled": True}, "then": {"x": "1"}})

    assert denied(policy, {"spark.unsafe.offHeap": "true"})


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"if": {"a": 1}},
        {"then": {"a": 1}},
        {"if": {}, "then": {"a": 1}},
        {"if": "a", "then": {"a": 1}},
        {"if": [{"a": 1}, {"b": 1}], "then": {"a": 1}},
        {"if": {"a": [1]}, "then": {"a": 1}},
        {"if": {1: 1}, "then": {"a": 1}},
        {"if": {"a": 1}, "then": {"a": 1}, "else": {}},
        {"if": {"spark.unsafe.offHeap": 1, "spark.memory.offHeap.enabled": 2}, "then": {"a": 1}},
        {"if": {"a": 1}, "then": {"fs.s3a.b": 1, "spark.hadoop.fs.s3a.b": 2}},
    ],
    ids=str,
)
def test_if_then_that_cannot_be_used(params):
    with pytest.raises(ConfigException):
        made(IfThen, params)


# --- references -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "text", "is_denied"),
    [
        ("spark.app.db.password", "${vault:db:password}", False),
        ("spark.app.db.password", "${a:b:c}${d:e:f}", False),
        ("spark.app.db.password", CANARY, True),
        ("spark.app.db.PassWord", CANARY, True),
        ("spark.app.db.password", f"{CANARY}${{env:EMPTY}}", True),
        ("spark.app.db.password", "${vault}", True),
        ("spark.app.db.password", "", True),
        ("spark.app.db.password", "[hidden]", True),
        ("spark.hadoop.fs.s3a.secret.key", CANARY, True),
        ("spark.hadoop.fs.s3a.access.key", CANARY, True),
        ("spark.app.url", "jdbc:x", False),
        ("spark.app.url", "[hidden]", True),
        ("spark.app.db.pwd", CANARY, True),
        ("spark.app.db.pass", CANARY, True),
        ("spark.app.DB_PASS", CANARY, True),
        ("spark.app.keyStorePass", CANARY, True),
        ("spark.app.connectionString", CANARY, True),
        ("spark.app.connection-string", CANARY, True),
        ("spark.hadoop.fs.azure.sas.box.account.dfs.core.windows.net", CANARY, True),
        ("spark.app.sas", CANARY, True),
        ("spark.app.blobSas", CANARY, True),
        ("spark.app.sasUrl", CANARY, True),
        ("spark.app.sharedKey", CANARY, True),
        ("spark.app.db.password", "${spark.app.plain}", True),
        ("spark.app.bypass", "x", False),
        ("spark.app.compass", "x", False),
        ("spark.app.passthrough", "x", False),
        ("spark.app.disaster", "x", False),
        ("spark.io.encryption.keySizeBits", "256", False),
        ("spark.app.url", f"jdbc:postgresql://u:{CANARY}@db/x", True),
        ("spark.app.url", f"jdbc:sqlserver://db;user=u;password={CANARY}", True),
        ("spark.app.url", f"Endpoint=sb://x/;SharedAccessKey={CANARY}", True),
        ("spark.app.url", f"https://a.blob.core.windows.net/?sv=1&sig={CANARY}", True),
        ("spark.app.url", f"jdbc:x?password=${{vault:db:password}}{CANARY}", True),
        ("spark.app.url", "jdbc:x?password=${spark.app.plain}", True),
        ("spark.app.url", "jdbc:x?user=u&password=${vault:db:password}", False),
        ("spark.app.url", "jdbc:x://u:${vault:db:password}@db/x", False),
        ("spark.app.url", "jdbc:x://db:5432/x?user=u", False),
        ("spark.jars", "https://host:8080/a.jar,s3a://b/c@d.jar", False),
        ("spark.app.x", f'{{"password":"{CANARY}"}}', True),
        ("spark.app.x", f'{{"user": "u", "db_password" : "{CANARY}"}}', True),
        ("spark.app.x", f"{{'password':'{CANARY}'}}", True),
        ("spark.app.x", f'{{\\"apiKey\\":\\"{CANARY}\\"}}', True),
        ("spark.app.x", '{"secretKey": 12345}', True),
        ("spark.app.x", f"password: {CANARY}", True),
        ("spark.app.x", f"user: u\n  db.password:  '{CANARY} 2'\n", True),
        ("spark.app.x", f"- token: {CANARY}", True),
        ("spark.app.x", f"{{user: u, password: {CANARY}}}", True),
        ("spark.app.x", f"password = {CANARY}", True),
        ("spark.app.x", f"required user='a' password='{CANARY}';", True),
        ("spark.app.x", f"//u:{CANARY}@h", True),
        ("spark.app.x", f"sig={CANARY}&se=1", True),
        ("spark.app.x", f"password=${{vault:db:password}} password={CANARY}", True),
        ("spark.app.pw", CANARY, True),
        ("spark.app.DB_PW", CANARY, True),
        ("spark.app.dbPw", CANARY, True),
        ("spark.app.cred", CANARY, True),
        ("spark.app.creds", CANARY, True),
        ("spark.app.dbCreds", CANARY, True),
        ("spark.app.x", '{"password":"${vault:db:password}"}', False),
        ("spark.app.x", "{'password': '${vault:db:password}', 'user': 'u'}", False),
        ("spark.app.x", "password: ${vault:db:password}\nuser: u", False),
        ("spark.app.x", "password: ${vault:db:password} user: u", False),
        ("spark.app.x", "password = ${vault:db:password} user = u", False),
        ("spark.app.x", 'required password="${vault:db:password}" user="u";', False),
        ("spark.app.x", "//u:${vault:db:password}@h", False),
        ("spark.app.x", '{"token": null, "secret": true, "tokens": 5, "password": ""}', False),
        ("spark.app.x", "Enter the token: it is shown once", False),
        ("spark.app.x", "token: see the page about secrets", False),
        ("spark.app.x", "arn:aws:secretsmanager:eu-west-1:1:secret:db-AbC", False),
        ("spark.app.x", "tokenizer: bert, design=new, sparse: yes", False),
        ("spark.app.pwa", "x", False),
        ("spark.app.sacred", "x", False),
        ("spark.app.credit", "x", False),
        ("spark.app.x", "", False),
        ("spark.app.password", "", True),
    ],
)
def test_references_only(key, text, is_denied):
    assert bool(denied(made(ReferencesOnly), {key: text})) is is_denied


def test_references_only_with_keys_and_exceptions():
    policy = made(ReferencesOnly, {"keys": ["*.PIN", "*token*"], "except": ["*tokenizer*"]})

    assert keys_of(denied(policy, {"a.pin": "1", "a.tokenizer": "x", "a.token": "1", "a.password": "1"})) == [
        "a.pin",
        "a.token",
    ]


def test_references_only_has_exceptions_for_values_too():
    policy = made(ReferencesOnly, {"except": ["spark.app.url"]})

    assert not denied(policy, {"spark.app.url": "jdbc:x?password=public"})
    assert denied(policy, {"spark.app.url": "[hidden]"})


RULES = {
    "allow": [
        {"providers": ["vault"], "paths": ["apps/flights/*", "shared/*"], "dags": ["flights*"]},
        {"providers": "env", "keys": ["FLIGHTS_*"]},
        {"providers": ["file"], "paths": ["/etc/jobs/*.properties"], "keys": ["db.*"]},
    ]
}


@pytest.mark.parametrize(
    ("text", "is_denied"),
    [
        ("no reference", False),
        ("${vault:apps/flights/db:password}", False),
        ("a ${vault:shared/x:k} b ${env:FLIGHTS_X} c", False),
        ("${vault:apps/billing/db:password}", True),
        ("${vault:apps/flights/../billing/db:password}", True),
        ("${vault:apps/flights/./db:password}", True),
        ("${vault:apps/flights//db:password}", True),
        ("${vault:apps/flights/%2e%2e/billing:password}", True),
        ("${vault:apps/flights/..\\billing:password}", True),
        ("${vault:apps/flights/x\n:password}", True),
        ("${vault:/apps/flights/db:password}", True),
        ("${vault:password}", True),
        ("${Vault:apps/flights/db:password}", True),
        ("${env:PATH}", True),
        ("${env:x:FLIGHTS_X}", False),
        ("${file:/etc/jobs/a.properties:db.user}", False),
        ("${file:/etc/jobs/a.properties:other}", True),
        ("${file:/etc/jobs/../passwd.properties:db.user}", True),
        ("${unknown:a:b}", True),
        ("${env:FLIGHTS_X}${env:HOME}", True),
        ("${env.FLIGHTS_X}", False),
        ("${env.HOME}", True),
        ("${env.HOME:-FLIGHTS_X}", True),
        ("${env.HOME-FLIGHTS_X}", True),
        ("${env.FLIGHTS_X-/tmp}", False),
        ("${env.FLIGHTS_${n}}", True),
        ("${p}{env.FLIGHTS_X}", True),
        ("$${q}", True),
        ("{${env.FLIGHTS_X}}", False),
        ("${a${env.HOME}", True),
    ],
)
def test_allowed_references(text, is_denied):
    assert bool(denied(made(AllowedReferences, RULES), {"k": text})) is is_denied


@pytest.mark.parametrize(
    "text", ["${p}${q}", "${s}${q}", "${r}${u}", "${p}${q}$", "${spark.app.p}${q}", "${spark.app.whole}", "${t}"]
)
def test_allowed_references_do_not_let_hadoop_put_a_name_together_from_the_values_of_other_keys(text):
    dollars = {"spark.hadoop.p": "$", "spark.app.p": "x$", "spark.hadoop.s": "${p}", "spark.hadoop.r": "${s}"}
    names = {"spark.hadoop.q": "{env.FLIGHTS_X}", "spark.hadoop.u": "${q}"}
    wholes = {"spark.app.whole": "${env.FLIGHTS_${n}}", "spark.hadoop.t": "${spark.app.whole}"}

    problems = denied(made(AllowedReferences, RULES), {**dollars, **names, **wholes, "spark.hadoop.k": text})

    assert "spark.hadoop.k" in keys_of(problems)


def test_allowed_references_let_names_follow_each_other():
    configs = {"spark.hadoop.k": "${fs.defaultFS}${fs.wh}", "spark.hadoop.fs.wh": "/wh", "spark.redaction.regex": "x$"}

    assert not denied(made(AllowedReferences, RULES), configs)


def test_allowed_references_may_end_with_what_begins_a_name():
    configs = {"spark.hadoop.p": "$", "spark.hadoop.k": "${p}", "spark.hadoop.l": "x${p}"}

    assert not denied(made(AllowedReferences, RULES), configs)


def test_references_outside_of_the_configuration_are_judged_too():
    request = RequestMetadata(TASK, {}, {}, at=Moment.RENDER, texts={"env_vars": "${env:HOME}"})

    with pytest.raises(PolicyViolation, match="'env_vars' may not refer to"):
        made(AllowedReferences, RULES).validate(request)


@pytest.mark.parametrize(
    ("variable", "names"),
    [
        pytest.param("env_vars['T']", ["env_vars['T']"], id="of the key"),
        pytest.param("env_vars['U']", ["env_vars['U']", "spark.executorEnv.T"], id="another"),
    ],
)
def test_a_variable_that_sets_a_key_is_denied_once(variable: str, names: list[str]):
    request = RequestMetadata(
        TASK,
        {},
        {"spark.executorEnv.T": "${env:HOME}"},
        at=Moment.RENDER,
        texts={variable: "${env:HOME}"},
        origins={"spark.executorEnv.T": "DAG_CONFIG, env_vars['T']"},
    )

    with pytest.raises(PolicyViolation) as caught:
        made(AllowedReferences, RULES).validate(request)

    assert [problem.partition(" may")[0].strip("'") for problem in caught.value.problems] == names


def test_a_reference_without_a_path_fits_a_pattern_of_all_paths():
    policy = made(AllowedReferences, {"allow": [{"providers": ["env"], "paths": ["*"]}]})

    assert not denied(policy, {"k": "${env:HOME}"})


def test_allowed_references_leave_names_to_the_keys_that_hadoop_does_not_read():
    configs = {"spark.app.k": "${a:-${b}}", "spark.app.l": "${spark.app.k}"}

    assert not denied(made(AllowedReferences, {"allow": [{"providers": ["a"]}]}), configs)


@pytest.mark.parametrize("default", ["", "-_URL", "-x_URL", ":-_URL", ":-x_URL"])
def test_a_default_is_no_part_of_the_name_of_an_environment_variable(default):
    policy = made(AllowedReferences, {"allow": [{"providers": ["env*"], "keys": ["*_URL"]}]})

    assert denied(policy, {"k": f"${{env.DB_SECRET{default}}}"})


@pytest.mark.parametrize(
    ("resource", "is_denied"),
    [
        (ConfigResource(ResourceType.DAG, "flights"), False),
        (ConfigResource(ResourceType.DAG, "billing"), True),
        (ConfigResource.of_task("billing", "flights"), True),
        (ConfigResource(ResourceType.DEFAULT), True),
    ],
    ids=str,
)
def test_allowed_references_per_dag(resource, is_denied):
    policy = made(AllowedReferences, RULES)

    assert bool(denied(policy, {"k": "${vault:shared/x:k}"}, resource=resource)) is is_denied


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"allow": []},
        {"allow": 7},
        {"allow": ["vault"]},
        {"allow": [{}]},
        {"allow": [{"paths": ["x"]}]},
        {"allow": [{"providers": "a", "path": "x"}]},
    ],
    ids=str,
)
def test_allowed_references_that_cannot_be_used(params):
    with pytest.raises(ConfigException):
        made(AllowedReferences, params)


def test_all_that_is_wrong_with_the_rules_is_told_at_once():
    with pytest.raises(ConfigException) as error:
        made(AllowedReferences, {"allow": [{"providers": []}, {"providers": "a", "key": "b"}], "deny": []})

    assert sorted(error.value.problems) == [
        "'deny' is unknown. Remove it.",
        "rule 1 of 'allow': 'providers': the list is empty. Correct it.",
        "rule 2 of 'allow': 'key' is unknown, did you mean 'keys'?",
    ]


# --- all --------------------------------------------------------------------------------------------


REFERENCES = ["${a:b:c}", "${env:X}", "${env.X}", "${spark.jars}", "${a${b}}", "${a}{b}", "x$"]
KEYS = st.sampled_from([*BOUNDS, *code_loading_names().spark, "spark.hadoop.x"]) | st.text(max_size=30)
TEXTS = st.builds(
    "{}{}".format,
    st.sampled_from(["", CANARY]),  # first, so that it is never inside a reference, which is no secret
    st.lists(st.sampled_from(REFERENCES) | st.text(max_size=30), max_size=3).map("".join),
)


@given(st.dictionaries(KEYS, TEXTS, max_size=4))
@example({"spark.yarn.jar": "", "spark.yarn.jars": ""})
def test_no_configuration_makes_a_policy_fail(configs):
    """Each passes or denies, and says why without a value."""
    keys = {canonical_name(key): key for key in configs}.values()  # a policy refuses two names of a key
    policies = [
        made(Bounds, {key: {"max": "1g", "unit": "m"} for key in keys} or BOUNDS),
        made(ForbiddenKeys, {"keys": ["*a*"]}),
        made(ImmutableKeys, {"keys": ["*"]}),
        made(CodeLoadingKeys),
        made(ReferencesOnly, {"keys": ["*"]}),
        made(AllowedReferences, RULES),
        made(IfThen, {"if": dict.fromkeys(keys) or {"a": None}, "then": {"b": 1}}),
    ]

    for policy in policies:
        denied(policy, configs)


@pytest.mark.parametrize("excepted", ["spark.*", "spark.hadoop.*"])
@pytest.mark.parametrize("key", ["foo.bar", "fs.s3a.secret.key", "hive.metastore.uris"])
def test_an_exception_with_a_wildcard_is_none_for_names_that_it_does_not_match(excepted, key):
    assert denied(made(ForbiddenKeys, {"keys": ["*"], "except": [excepted]}), {key: "1"})


def test_the_search_for_required_keys_ends_when_it_has_found_all():
    keys = iter(["spark.x", "spark.app.owner", "fs.s3a.endpoint", "spark.y"])

    assert unmatched(["spark.app.*", "spark.hadoop.fs.s3a.endpoint"], keys) == []
    assert list(keys) == ["spark.y"]


def test_required_keys_that_no_key_matches_are_named_in_order():
    assert unmatched(["spark.z", "spark.app.*", "spark.a"], ["spark.app.owner"]) == ["spark.z", "spark.a"]
