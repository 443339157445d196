from __future__ import annotations

import logging
import traceback
from typing import ClassVar

import pytest

from airflow_config_providers.core.alter import ConfigResource, ResourceType
from airflow_config_providers.core.policy import (
    AlterConfigPolicy,
    Enforcement,
    Moment,
    PolicyViolation,
    RequestMetadata,
    judged,
    validate_all,
)
from airflow_config_providers.dynamic.policies import PolicyClasses, PolicySet
from airflow_config_providers.dynamic.policies import classes as classes_module
from airflow_config_providers.exceptions import ConfigException

DAG = ConfigResource(ResourceType.DAG, "flights_daily")
EXAMPLE = """
policies:
  - name: memory-bounds
    match: {resources: [dag, task], dags: ["flights*"]}
    when: "'spark.executor.memory' in after"
    expression: "bytes_of(after['spark.executor.memory']) <= bytes_of('16g')"
    message: "Executors get 16g at most."
  - name: frozen-jars
    class: immutable_keys
    params: {keys: [spark.jars, spark.driver.extraJavaOptions]}
"""


@pytest.fixture
def opened(tmp_path):
    """Open the policies of a text; what was opened is closed."""
    sets = []

    def open_(text, **given):
        path = tmp_path / "policies.yaml"
        path.write_text(text, encoding="utf-8")
        sets.append(PolicySet.open(str(path), PolicyClasses(**given)))
        return sets[-1]

    yield open_
    for each in sets:
        each.close()


def asked(policies, after, *, before=None, resource=DAG, at=Moment.ALTER):
    """Return the names of the policies that deny."""
    try:
        validate_all(policies, RequestMetadata(resource, before or {}, after, at))
    except PolicyViolation as violation:
        return [problem.split("'")[1] for problem in violation.problems]
    return []


def refused(opened, text, **given):
    """Return the problems of the policies in a text."""
    with pytest.raises(ConfigException) as error:
        opened(text, **given)
    assert error.value.__context__ is None
    return list(error.value.problems)


# --- asking -----------------------------------------------------------------------------------------


def test_a_tab_is_named(tmp_path):
    path = tmp_path / "policies.yaml"
    path.write_text("policies:\n\t- name: small\n")

    with pytest.raises(ConfigException) as caught:
        PolicySet.open(str(path))

    assert caught.value.problems == ("policies.yaml:2: a tab is not allowed here. Indent with spaces.",)


def test_the_policies_of_a_file_are_asked(opened):
    policies = opened(EXAMPLE)

    assert [named.name for named in policies] == ["memory-bounds", "frozen-jars"]
    assert asked(policies, {"spark.executor.memory": "16g"}) == []
    assert asked(policies, {"spark.executor.memory": "17g", "spark.jars": "x"}) == ["memory-bounds", "frozen-jars"]


def test_a_denial_has_the_message_of_the_file(opened):
    with pytest.raises(PolicyViolation, match=r"Executors get 16g at most\."):
        validate_all(opened(EXAMPLE), RequestMetadata(DAG, {}, {"spark.executor.memory": "17g"}, Moment.ALTER))


@pytest.mark.parametrize(
    ("match", "resource", "at", "is_asked"),
    [
        ("{}", DAG, Moment.ALTER, True),
        ("{resources: [dag]}", DAG, Moment.ALTER, True),
        ("{resources: task}", DAG, Moment.ALTER, False),
        ("{resources: [default]}", ConfigResource(ResourceType.DEFAULT), Moment.ALTER, True),
        ('{dags: ["flights*"]}', DAG, Moment.ALTER, True),
        ('{dags: ["billing", "x*"]}', DAG, Moment.ALTER, False),
        ('{dags: ["flights*"]}', ConfigResource.of_task("flights.v2", "t"), Moment.ALTER, True),
        ('{dags: ["flights*"]}', ConfigResource(ResourceType.DEFAULT), Moment.ALTER, False),
        ('{dags: ["*"]}', ConfigResource(ResourceType.DEFAULT), Moment.ALTER, True),
        ("{tasks: [join]}", ConfigResource.of_task("d", "join"), Moment.ALTER, True),
        ("{tasks: [join]}", ConfigResource.of_task("d", "load"), Moment.ALTER, False),
        ("{at: render}", DAG, Moment.ALTER, False),
        ("{at: [render, alter]}", DAG, Moment.RENDER, True),
    ],
)
def test_a_policy_is_asked_about_what_it_matches(opened, match, resource, at, is_asked):
    policies = opened(f"policies: [{{name: p, match: {match}, expression: 'false'}}]")

    assert bool(asked(policies, {}, resource=resource, at=at)) is is_asked


def test_when_goes_before_a_class_too(opened):
    policies = opened("policies: [{name: p, when: at == 'render', class: forbidden_keys, params: {keys: [k]}}]")

    assert asked(policies, {"k": "1"}) == []
    assert asked(policies, {"k": "1"}, at=Moment.RENDER) == ["p"]


def test_a_when_that_cannot_be_evaluated_denies(opened):
    policies = opened("policies: [{name: p, when: \"after['nope'] == 'x'\", expression: 'true'}]")

    assert asked(policies, {}) == ["p"]


def test_no_policies_is_a_list_of_none(opened):
    assert asked(opened("policies: []"), {"k": "1"}) == []


def test_a_set_that_could_not_be_opened_denies_everything_and_says_why():
    policies = PolicySet.denying(ConfigException("policies.yaml:1: it is wrong."))

    with pytest.raises(PolicyViolation, match=r"policies\.yaml:1: it is wrong\."):
        validate_all(policies, RequestMetadata(DAG, {}, {}))


def test_a_denial_because_of_a_wrong_file_says_that_everything_is_denied():
    policies = PolicySet.denying(ConfigException("policies.yaml:1: it is wrong."))

    with pytest.raises(PolicyViolation, match="until the policies can be loaded, everything is denied"):
        validate_all(policies, RequestMetadata(DAG, {}, {}))


# --- what is wrong with a file ----------------------------------------------------------------------


def test_everything_that_is_wrong_is_told_at_once_with_its_line(opened):
    problems = refused(
        opened,
        """
policies:
  - name: one
    expression: aftr == before
  - name: two
    match: {resources: [dags], dag: [x]}
    expression: |
      'a' in after &&
        after['a'] + 1
    message: x
  - name: three
    class: bounds
    params:
      spark.executor.memory: {max: lots}
  - name: four
    when: after
    class: immutable_key
""",
    )

    assert problems == [
        "policies.yaml:4: policy 'one': expression: line 1, column 1: undeclared reference to 'aftr'.",
        "policies.yaml:6: policy 'two': match: 'resources': 'dags' is not one of default, dag, task, did you mean "
        "'dag'?",
        "policies.yaml:6: policy 'two': match: 'dag' is unknown, did you mean 'dags'?",
        "policies.yaml:8: policy 'two': expression: line 2, column 14: found no matching overload for '_+_' applied to "
        "'(string, int)'.",
        "policies.yaml:14: policy 'three': params: 'spark.executor.memory': max is neither a number nor a size such as "
        "16g. Correct it.",
        "policies.yaml:16: policy 'four': when: it returns map<string, string>, but must return true or false. Add a "
        "comparison.",
        "policies.yaml:17: policy 'four': class: class 'immutable_key' is unknown, did you mean 'immutable_keys'? "
        f"Ready ones are {', '.join(classes_module.READY)}.",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "policies.yaml: expected 'policies:'"),
        ("policies:", "policies.yaml: expected 'policies:'"),
        ("[]", "policies.yaml: expected 'policies:'"),
        ("policies: {a: b}", "policies.yaml: expected 'policies:'"),
        ("policies: []\nmore: []", "policies.yaml: expected 'policies:'"),
        ("policies: [x]", "policies.yaml:1: the policy has no name"),
        ("policies:\n  - expression: 'true'", "policies.yaml:2: the policy has no name"),
        ("policies:\n  - name: p", "policies.yaml:2: policy 'p': a policy has either an expression or a class"),
        ("policies: [{name: p, expression: 'true', class: bounds}]", "an expression or a class"),
        ("policies: [{name: p, expression: 'true', params: {}}]", "params require a class"),
        ("policies: [{name: p, class: dynamic_allocation, message: x}]", "a message requires an expression"),
        ("policies: [{name: p, expresion: 'true'}]", "'expresion' is an unknown field, did you mean 'expression'?"),
        ("policies: [{name: p, expression: true}]", "expression is not a string. Put it in quotes."),
        ("policies: [{name: p, expression: 'true', match: dag}]", "match is not a mapping"),
        ("policies: [{name: p, class: bounds, params: [a]}]", "params is not a mapping"),
        ("policies: [{name: p, expression: 'true'},\n {name: p, expression: 'true'}]", "p': the policy in line 1"),
        ("policies: [{name: p, name: q, expression: 'true'}]", "policies.yaml:1: 'name' appears twice"),
        ("policies: [{name: p, class: if_then,\n params: {if: {a: 1, a: 2}, then: {b: 1}}}]", "2: 'a' appears"),
        ("policies: &a []\nx: *a", "policies.yaml:2: aliases"),
        ("policies: &a [*a]", "policies.yaml:1: aliases"),
        ("policies: [\n", "policies.yaml:2: "),
        ("policies: [!!python/object:os.system x]", "policies.yaml:1: "),
        ("policies: [{name: p, class: bounds, params: {? [a] : b}}]", "policies.yaml:1: "),
        ("a: b\n---\nc: d", "policies.yaml:2: "),
        ("\x00", "policies.yaml: it is not YAML"),
        ("[" * 500_000, "policies.yaml:1: lists and mappings are nested too deeply"),
        ("policies: [{name: p, expression: 'true', message: 2026-13-45}]", "policies.yaml"),
    ],
)  # fmt: skip
def test_a_file_of_another_form_is_refused(opened, text, problem):
    assert any(found.startswith(problem) or problem in found for found in refused(opened, text))


@pytest.mark.parametrize(
    ("content", "problem"),
    [(b"\xff", "byte 0 is not UTF-8"), (b" " * 2_000_000, "more than 1048576 bytes"), (None, "No such file")],
    ids=["octets", "size", "missing"],
)
def test_a_file_that_cannot_be_read_is_refused(tmp_path, content, problem):
    path = tmp_path / "policies.yaml"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(ConfigException, match=problem) as error:
        PolicySet.open(str(path))

    assert error.value.__context__ is None


# --- classes ----------------------------------------------------------------------------------------


def test_an_unknown_class_is_compared_with_installed_ones_which_are_listed(opened, tmp_path, monkeypatch):
    info = tmp_path / "acme-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[airflow_config_providers.policies]\ntickets = acme:Tickets\n")
    monkeypatch.syspath_prepend(tmp_path)

    (problem,) = refused(opened, "policies: [{name: p, class: ticketz}]")

    assert "class 'ticketz' is unknown, did you mean 'tickets'?" in problem
    assert problem.endswith("required_keys. Installed ones are tickets.")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("denied_keys", "forbidden_keys"),
        ("deny_keys", "forbidden_keys"),
        ("frozen_keys", "immutable_keys"),
        ("mandatory_keys", "required_keys"),
    ],
)
def test_an_unknown_class_is_compared_with_ready_ones_by_its_meaning(opened, written, meant):
    (problem,) = refused(opened, f"policies: [{{name: p, class: {written}}}]")

    assert f"class '{written}' is unknown, did you mean '{meant}'?" in problem


class Recording(AlterConfigPolicy):
    """Writes down what happens to it."""

    events: ClassVar[list[str]] = []

    def configure(self, configs):
        self.events.append(f"configure {dict(configs)}")
        if configs.get("fail"):
            raise OSError("hunter2")

    def validate(self, request):
        self.events.append("validate")

    def close(self):
        self.events.append("close")
        raise OSError("hunter2")


class Naming(Recording):
    """Names its parameters."""

    params = ("prefix", "also")


class Keeping(Recording):
    """Has a property of that name for what it was configured with."""

    @property
    def params(self):
        return self.events[0]


class Unmade(AlterConfigPolicy):
    def __init__(self):
        raise OSError("hunter2")

    def validate(self, request): ...


class NoPolicy: ...


@pytest.fixture
def here(monkeypatch):
    """This module under a name that can be imported: it holds the classes that the files name."""
    import sys
    import types

    module = types.ModuleType("policies_of_a_deployment")
    for found in (Recording, Naming, Keeping, Unmade, NoPolicy):
        setattr(module, found.__name__, found)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    Recording.events = []
    return module.__name__


def test_an_allowed_class_is_configured_asked_and_closed_once(opened, here, caplog):
    path = f"{here}.Recording"
    policies = opened(f"policies: [{{name: p, class: {path}, params: {{a: [1]}}}}]", allowed_classes=[path])

    assert asked(policies, {}) == []
    with caplog.at_level(logging.WARNING):
        policies.close()
        policies.close()

    assert Recording.events == ["configure {'a': [1]}", "validate", "close"]
    assert "Policy p could not be closed: OSError" in caplog.text
    assert "hunter2" not in caplog.text


@pytest.mark.parametrize("kind", [tuple, list, set, frozenset, lambda names: dict.fromkeys(names).keys()])
def test_parameters_that_a_class_does_not_name_are_refused_before_it_is_configured(opened, here, monkeypatch, kind):
    monkeypatch.setattr(Naming, "params", kind(Naming.params))
    path = f"{here}.Naming"
    text = f"policies: [{{name: p, class: {path}, params: {{prefx: a, also: b, x: c}}}}]"

    problems = refused(opened, text, allowed_classes=[path])

    assert problems == [
        "policies.yaml:1: policy 'p': params: 'prefx' is unknown, did you mean 'prefix'?",
        "policies.yaml:1: policy 'p': params: 'x' is unknown. Remove it.",
    ]
    assert Recording.events == ["close"]


def test_parameters_that_a_class_names_are_its_own(opened, here):
    path = f"{here}.Naming"

    opened(f"policies: [{{name: p, class: {path}, params: {{prefix: a}}}}]", allowed_classes=[path])

    assert Recording.events == ["configure {'prefix': 'a'}"]


def test_a_class_with_another_attribute_of_that_name_gets_all_parameters(opened, here):
    path = f"{here}.Keeping"

    opened(f"policies: [{{name: p, class: {path}, params: {{prefix: a}}}}]", allowed_classes=[path])

    assert Recording.events == ["configure {'prefix': 'a'}"]


def test_a_class_with_a_mapping_of_that_name_gets_all_parameters(opened, here, monkeypatch):
    monkeypatch.setattr(Naming, "params", {"limit": 10})
    path = f"{here}.Naming"

    opened(f"policies: [{{name: p, class: {path}, params: {{other: a}}}}]", allowed_classes=[path])

    assert Recording.events == ["configure {'other': 'a'}"]


def test_a_class_whose_parameters_are_a_string_is_refused(opened, here, monkeypatch):
    monkeypatch.setattr(Naming, "params", "prefix")
    path = f"{here}.Naming"

    problems = refused(opened, f"policies: [{{name: p, class: {path}, params: {{p: a}}}}]", allowed_classes=[path])

    assert problems == [
        "policies.yaml:1: policy 'p': params: params of its class is a string. Make it a tuple of names: params = "
        "('prefix',)."
    ]


def test_a_class_with_other_things_under_that_name_gets_all_parameters(opened, here, monkeypatch):
    monkeypatch.setattr(Naming, "params", [1])
    path = f"{here}.Naming"

    opened(f"policies: [{{name: p, class: {path}, params: {{other: a}}}}]", allowed_classes=[path])

    assert Recording.events == ["configure {'other': 'a'}"]


def test_a_class_that_is_not_allowed_is_not_imported(opened):
    problems = refused(opened, "policies: [{name: p, class: antigravity.Policy}]")

    import sys

    assert "class 'antigravity.Policy' is not an allowed class" in problems[0]
    assert "antigravity" not in sys.modules


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("Unmade", "cannot be made (OSError in "),
        ("NoPolicy", "does not extend AlterConfigPolicy. Name a class that extends AlterConfigPolicy."),
        ("Missing", "cannot be imported (AttributeError)."),
    ],
)
def test_a_class_that_cannot_be_used_is_refused(opened, here, name, problem):
    path = f"{here}.{name}"

    problems = refused(opened, f"policies: [{{name: p, class: {path}}}]", allowed_classes=[path])

    assert f"class '{path}' {problem}" in problems[0]
    assert "hunter2" not in "".join(problems)


def test_when_one_policy_cannot_be_opened_the_others_are_closed(opened, here):
    path = f"{here}.Recording"
    text = f"policies: [{{name: a, class: {path}}}, {{name: b, class: {path}, params: {{fail: true}}}}]"

    problems = refused(opened, text, allowed_classes=[path])

    place = f"{__file__}:{Recording.configure.__code__.co_firstlineno + 3}"
    assert problems == [f"policies.yaml:1: policy 'b': params: it failed with OSError in {place}. Correct it."]
    assert Recording.events == ["configure {}", "configure {'fail': True}", "close", "close"]


def test_every_ready_class_can_be_made():
    assert [type(PolicyClasses().make(name)).__name__ for name in classes_module.READY] == [
        path.rpartition(".")[2] for path in classes_module.READY.values()
    ]


def test_an_error_of_a_policy_shows_no_value(opened, here):
    path, canary = f"{here}.Recording", "hunter" + "2"

    with pytest.raises(ConfigException) as error:
        opened(f"policies: [{{name: a, class: {path}, params: {{fail: {canary}}}}}]", allowed_classes=[path])

    assert canary not in "".join(traceback.format_exception(error.value))


# --- enforcement ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "enforcement"),
    [("", Enforcement.DENY), ("enforcement: deny,", Enforcement.DENY), ("enforcement: warn,", Enforcement.WARN)],
)
def test_a_policy_denies_unless_it_is_to_warn(opened, written, enforcement):
    (policy,) = opened(f"policies: [{{name: p, {written} class: forbidden_keys, params: {{keys: [k]}}}}]")

    assert policy.enforcement is enforcement


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("warm", "'warm' is not one of deny, warn, did you mean 'warn'?"),
        ("advisory", "'advisory' is not one of deny, warn."),
        ("", "'None' is not one of deny, warn."),
        ("[warn]", "'['warn']' is not one of deny, warn, did you mean 'warn'?"),
        ("true", "'True' is not one of deny, warn."),
    ],
)
def test_any_other_enforcement_is_a_mistake_with_its_line(opened, written, told):
    text = f"policies:\n- name: p\n  class: dynamic_allocation\n  enforcement: {written}\n"

    assert refused(opened, text) == [f"policies.yaml:4: policy 'p': enforcement: {told}"]


@pytest.mark.parametrize(
    "rule",
    ["when: \"after['no'] == 'x'\", expression: 'true'", "expression: \"after['no'] == 'x'\""],
    ids=["when", "expression"],
)
def test_a_policy_that_only_warns_warns_where_it_cannot_be_evaluated(opened, rule):
    policies = opened(f"policies: [{{name: p, enforcement: warn, {rule}}}]")
    found = judged(policies, RequestMetadata(DAG, {}, {}))

    assert (found.denials, len(found.warnings)) == ((), 1)


@pytest.mark.parametrize(
    ("field", "allowed"),
    [
        pytest.param("match: {dags: others}", (), id="another DAG"),
        pytest.param("match: {at: render}", (), id="another moment"),
        pytest.param("when: \"resource.dag_id != 'flights_daily'\"", (), id="excepted"),
        pytest.param("match: {dags: flights_daily}", ("p",), id="this DAG"),
    ],
)
def test_only_a_policy_that_is_asked_has_allowed_a_change(opened, field, allowed):
    policies = opened(f"policies: [{{name: p, {field}, class: dynamic_allocation}}]")

    assert judged(policies, RequestMetadata(DAG, {}, {})).allowed_by == allowed
