from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import traceback
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_config_providers.core.alter import ConfigResource, ResourceType
from airflow_config_providers.core.policy import Moment, PolicyViolation, RequestMetadata
from airflow_config_providers.dynamic.policies.cel import CelExpression, CelPolicy
from airflow_config_providers.exceptions import ConfigException

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)

TASK = ConfigResource.of_task("flights_daily", "join")
BEFORE = {"spark.executor.memory": "4g", "spark.jars": "a.jar"}
AFTER = {
    "spark.executor.memory": "8g",
    "spark.executor.cores": "4",
    "spark.jars": "a.jar,b.jar",
    "spark.app.db.password": "${vault:apps/db:password}",
    "spark.app.note": "hunter2",
}


def request(after=AFTER, before=BEFORE, resource=TASK, at=Moment.ALTER, **more):
    return RequestMetadata(resource, before, after, at, **more)


def holds(text, **given):
    return CelExpression(text).holds(request(**given))


@pytest.mark.parametrize(
    "text",
    [
        "bytes_of(after['spark.executor.memory']) <= bytes_of('16g')",
        "bytes_of('1024', 'm') == bytes_of('1g')",
        "bytes_of(' 1024K ') == bytes_of('1m')",
        "milliseconds_of('2min') == 120000",
        "milliseconds_of('10', 's') == 10000",
        "milliseconds_of('1500us') == 1",
        "int(after['spark.executor.cores']) < 8",
        "after['spark.jars'].split(',').all(jar, jar.endsWith('.jar'))",
        "'spark.jars' in before && size(after) == 5",
        "!('spark.nope' in after) || after['spark.nope'] == 'x'",
        "after[?'spark.nope'].orValue('x') == 'x'",
        "after['spark.app.db.password'].startsWith('${vault:apps/')",
        "after['spark.executor.memory'].matches('^[0-9]+g$')",
        "after.all(key, key.startsWith('spark.'))",
        "after.exists(key, !(key in before) && key.lowerAscii().contains('cores'))",
        "changed == ['spark.app.db.password', 'spark.app.note', 'spark.executor.cores', 'spark.executor.memory', "
        "'spark.jars']",
        "resource.type == 'task' && resource.dag_id == 'flights_daily' && resource.task_id == 'join'",
        "resource.name == 'flights_daily.join' && at == 'alter'",
        "[1, 2].map(n, n * 2) == [2, 4] && duration('10s') < duration('1h')",
        "after['spark.nope'] == 'x' || true",
    ],
)
def test_what_holds(text):
    assert holds(text)


def test_what_does_not_hold():
    assert not holds("bytes_of(after['spark.executor.memory']) <= bytes_of('4g')")


def test_the_moment_is_known():
    assert holds("at == 'render'", at=Moment.RENDER)


def test_what_a_task_refers_to_beside_its_configuration_is_seen():
    texts = {"env_vars['TOKEN']": "${vault:apps/db:token}", "application_args[1]": "${env:ARG}"}
    seen = RequestMetadata(TASK, {}, {}, Moment.RENDER, texts=texts)

    assert CelExpression("texts.exists(name, name.startsWith('application_args['))").holds(seen)
    assert CelExpression("texts[\"env_vars['TOKEN']\"].startsWith('${vault:apps/')").holds(seen)
    assert holds("size(texts) == 0")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("aftr['a'] == 'b'", "line 1, column 1: undeclared reference to 'aftr'."),
        ("after['a'] + 1 == 2", "line 1, column 12: found no matching overload for '_+_' applied to '(string, int)'."),
        ("true &&\n resource.dagid == ''", "line 2, column 10: undeclared reference to 'resource.dagid'."),
        ("bytes('128g') <= bytes('16g')", "line 1, column 6: undeclared reference to 'bytes'. Write bytes_of()."),
        ("after['a']", "it returns string, but must return true or false. Add a comparison."),
        ("dyn(after['a'])", "it returns dyn, but must return true or false. Add a comparison."),
        ("has(after['a'])", "line 1, column 10: has() argument must be a field selection."),
        ("(" * 40 + "true" + ")" * 40, "Expression recursion limit exceeded. limit: 32."),
        ("true" + " " * 100_000, "expression size exceeds codepoint limit. input size: 100004, limit: 100000."),
    ],
)
def test_what_cannot_be_compiled_is_told_with_its_place(text, problem):
    with pytest.raises(ConfigException) as error:
        CelExpression(text)

    assert error.value.problems[0] == problem
    assert error.value.__context__ is None


@pytest.mark.parametrize("text", ["", "   ", "1 +", "\ud800", "true true", "a" * 10_000, "!" * 50_000])
def test_whatever_is_no_expression_is_refused(text):
    with pytest.raises(ConfigException):
        CelExpression(text)


def test_every_place_that_is_wrong_is_told():
    with pytest.raises(ConfigException) as error:
        CelExpression("aftr == bfore")

    assert len(error.value.problems) == 2


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("after['spark.nope'] == 'x'", "there is no key 'spark.nope'. Test it with 'in'"),
        ("after[after['spark.app.note']] == 'x'", "a key is missing. Test it with 'in'"),
        ("int(after['spark.app.note']) > 1", "the argument of int() is not a whole number"),
        ("bytes_of(after['spark.app.note']) > 1", "the argument of bytes_of() is not a size such as 512m"),
        ("bytes_of('512') > 1", "bytes_of(text, 'm')"),
        ("bytes_of('512', 'hunter2') > 1", "bytes_of(text, 'm')"),
        ("bytes_of(after['spark.app.db.password']) > 1", "the argument of bytes_of() is not a size"),
        ("milliseconds_of(after['spark.app.note']) > 1", "the argument of milliseconds_of() is not a time"),
        ("1 / (size(after) - 5) > 1", "it divides by zero"),
        ("'a'.matches(after['spark.app.note'] + '[')", "not a valid RE2 regular expression"),
        ("[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, after.all(k, after.all(l, after.all(m, true)))))",
         "it takes too many steps"),
        ("bytes_of('9223372036854775807p') > 1", "a number is too large"),
        ("timestamp(after['spark.app.note']) < timestamp('2026-01-01T00:00:00Z')", "it does not fit the values"),
    ],
)  # fmt: skip
def test_what_cannot_be_evaluated_denies_and_quotes_no_value(text, reason):
    with pytest.raises(PolicyViolation, match="cannot be evaluated") as error:
        holds(text)

    assert reason in str(error.value)
    assert "hunter2" not in "".join(traceback.format_exception(error.value))
    assert error.value.__context__ is None


@pytest.mark.parametrize("value", ["\ud800", "\x00", "x" * 1_000_000, "," * 50_000])
def test_a_hostile_value_denies_or_does_not_match(value):
    with contextlib.suppress(PolicyViolation):
        assert not holds("after['k'].split(',').exists(part, part == 'y')", after={"k": value})


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        pytest.param({"after": {"k": "x" * 65_537}}, "'k' has 65537 bytes", id="a long value"),
        pytest.param({"after": {"k": "\u20ac" * 30_000}}, "'k' has 90000 bytes", id="its bytes count"),
        pytest.param({"before": {"k": "x" * 65_537}}, "'k' has 65537 bytes", id="before"),
        pytest.param({"texts": {"k": "x" * 65_537}}, "'k' has 65537 bytes", id="beside the configuration"),
        pytest.param({"after": {"k" * 65_537: "x"}}, "has 65537 bytes", id="a long key"),
        pytest.param({"after": {f"k{n}": "x" * 10_000 for n in range(150)}}, "the configuration has", id="all"),
        pytest.param(
            {"after": {"k": "x" * 60_000, **{f"k{n}": "" for n in range(300)}}},
            "together with 301 keys",
            id="for each key",
        ),
        pytest.param({"after": {"k": "," * 5_000}}, "5001 keys or parts", id="for each part"),
    ],
)
def test_a_configuration_that_would_take_too_much_memory_denies(given, reason):
    with pytest.raises(PolicyViolation, match="cannot be evaluated") as error:
        holds("!('spark.x' in after) || after['spark.x'].split(',').all(part, part != '')", **given)

    assert reason in str(error.value)
    assert len(str(error.value)) < 1_000


@pytest.mark.parametrize(
    ("expression", "is_taken"),
    [
        ("after['k'].split(';').size() == 1", True),
        ("after['k'].split(',').size() == 5001", False),
        ('after["k"].replace(",", "") == ""', False),
        ("after['k'].split(at).size() == 1", False),
        ("after['k'].split ( ',' ).size() == 1", False),
        ("size(after['k']) == 5000", True),
    ],
)
def test_a_text_has_as_many_parts_as_the_expression_makes_of_it(expression, is_taken):
    with contextlib.nullcontext() if is_taken else pytest.raises(PolicyViolation, match="parts of a value"):
        assert holds(expression, after={"k": "," * 5_000})


def test_a_configuration_of_a_large_job_is_taken():
    jars = ",".join(f"s3a://libraries/release/{number}/some-library-{number}.jar" for number in range(300))
    after = {"spark.jars": jars, **{f"spark.app.key{number}": "value " * 20 for number in range(300)}}

    assert holds("after['spark.jars'].split(',').all(jar, jar.endsWith('.jar'))", after=after, before=after)
    assert holds("after.all(key, key in before && after[key] == before[key])", after=after, before=after)


def test_a_configuration_that_reaches_the_limits_is_taken():
    others = {f"k{number:03}": "x" * (3_851 if number else 3_865) for number in range(255)}
    after = {"k": "x" * 65_536, **others}  # 65,536 bytes, 1,048,576 in all, and 256 keys of the longest are 16 MiB

    assert holds("size(after) == 256", after=after, before={})


def test_a_job_without_configuration_is_judged():
    assert not holds("size(after) > 0", after={}, before={})


HOSTILE = [
    ("size(after['k']) > 0", "{'k': 'x' * 64_000_000}"),
    ("after['k'].split(',').exists(part, part == 'y')", "{'k': ',' * 4_000_000}"),
    ("size(after['k'].replace(',', after['k'])) > 0", "{'k': ',' * 16_000}"),
    ("size(after['k'].replace(',', after['k'])) > 0", "{'k': ',' * 4_000}"),
    ("size(after['k'].split('').map(part, after['k'])) > 0", "{'k': 'x' * 9_000}"),
    (
        "size(after.map(key, after['k'] + after['k'])) > 0",
        "{'k': 'x' * 65_000, **{f'k{n}': 'v' for n in range(9_000)}}",
    ),
    ("size(after.map(key, after['k'] + after['k'])) > 0", "{'k': 'x' * 65_000, **{f'k{n}': 'v' for n in range(240)}}"),
    ("after.all(key, after['k'].split(',').size() != 1)", "{'k': ',' * 6_000, **{f'k{n}': 'v' for n in range(3_000)}}"),
    ("after['k'].matches('^(a|aa)+$')", "{'k': 'a' * 64_000_000 + 'b'}"),
    (
        "after.all(one, after.all(two, one == two || after[one] != after[two]))",
        "{f'k{n}': f'{n}' + 'x' * 9_000 for n in range(99)}",
    ),
    (
        "[1, 2, 3].all(n, after.all(key, after['k'] + key != ''))",
        "{'k': 'x' * 65_000, **{f'k{n}': '' for n in range(240)}}",
    ),
]
MEASURE = """
import re, sys
from pathlib import Path
from airflow_config_providers.core.alter import ConfigResource
from airflow_config_providers.core.policy import PolicyViolation, RequestMetadata
from airflow_config_providers.dynamic.policies.cel import CelExpression

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])

expression = CelExpression(sys.argv[1])
request = RequestMetadata(ConfigResource.of_task("a", "b"), {}, eval(sys.argv[2]))
before = peak()
try:
    expression.holds(request)
except PolicyViolation:
    pass
print(peak() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak from /proc, so it needs Linux")
@pytest.mark.parametrize(("expression", "configs"), HOSTILE)
def test_memory_is_bounded_whatever_the_configuration_holds(expression, configs):
    run = [sys.executable, "-c", MEASURE, expression, configs]

    grown = int(subprocess.run(run, capture_output=True, text=True, check=True).stdout) // 1024

    assert grown < 200


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"after": {"k": "4g\0more"}}, id="value"),
        pytest.param({"after": {"k\0more": "4g"}}, id="key"),
        pytest.param({"before": {"k": "4g\0more"}}, id="before"),
        pytest.param({"resource": ConfigResource(ResourceType.DAG, "a\0b")}, id="resource"),
        pytest.param({"texts": {"name": "a\0b"}}, id="text beside the configuration"),
    ],
)
def test_a_text_that_would_arrive_cut_off_denies(given):
    with pytest.raises(PolicyViolation, match="NUL"):
        holds("true", **given)


def test_an_expression_that_would_arrive_cut_off_is_refused():
    with pytest.raises(ConfigException, match="NUL"):
        CelExpression("true\0 && false")


def test_the_library_still_cuts_texts_off():
    """When it no longer does, such a text need not be denied."""
    from cel_expr_python import cel

    expression = cel.NewEnv(variables={"text": cel.Type.STRING}).compile("text")

    assert expression.eval(data={"text": "4g\0more"}).plain_value() == "4g"


def test_a_configuration_of_many_keys_is_walked_through():
    assert holds("after.all(key, key.startsWith('k'))", after={f"k{number}": "v" for number in range(5_000)})


def test_a_regular_expression_takes_linear_time():
    assert not holds("after['k'].matches('^(a|aa)+$')", after={"k": "a" * 60_000 + "b"})


@given(st.dictionaries(TEXTS, TEXTS, max_size=4))
def test_every_text_arrives_as_it_is(configs):
    assert holds("after == before && after.all(key, after[key] == before[key])", after=configs, before=configs)


@given(TEXTS)
def test_a_text_arrives_whole(text):
    assert holds(f"size(after['k']) == {len(text)}", after={"k": text})


def test_one_expression_serves_several_threads():
    expression, wrong = CelExpression("int(after['n']) == size(changed) - 1 + int(after['n'])"), []

    def work():
        for number in range(300):
            CelExpression(f"{number} > -1")
            if not expression.holds(request({"n": str(number)}, {})):
                wrong.append(number)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []


def test_an_expression_works_in_a_process_that_was_forked():
    expression = CelExpression("after['a'] == 'b'")

    child = os.fork()
    if child == 0:
        os._exit(0 if expression.holds(request({"a": "b"})) and CelExpression("true").holds(request()) else 1)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


# --- the policy -------------------------------------------------------------------------------------


def policy(**params):
    made = CelPolicy()
    made.configure(params)
    return made


def test_a_change_for_which_it_holds_passes():
    policy(expression="bytes_of(after['spark.executor.memory']) <= bytes_of('16g')").validate(request())


def test_another_one_is_denied_with_the_message():
    with pytest.raises(PolicyViolation, match=r"^Executors get 4g at most\.$"):
        policy(
            expression="bytes_of(after['spark.executor.memory']) <= bytes_of('4g')",
            message="Executors get 4g at most.\n",
        ).validate(request())


def test_without_a_message_the_expression_is_told():
    with pytest.raises(PolicyViolation, match=r"^This is not true: size\(after\) < 3$"):
        policy(expression="size(after)\n  < 3").validate(request())


def test_an_unknown_parameter_is_refused():
    with pytest.raises(ConfigException, match=r"'mesage' is unknown, did you mean 'message'\?"):
        policy(expression="true", mesage="x")


def test_a_resource_of_each_kind_is_seen():
    seen = [
        holds(f"resource.type == '{kind.name.lower()}'", resource=ConfigResource(kind, "a.b" if kind > 1 else ""))
        for kind in ResourceType
    ]

    assert seen == [True, True, True]
