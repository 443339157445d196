from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_config_providers.core.alter import (
    AlterConfigOp,
    ConfigResource,
    OpType,
    ResourceType,
    absent_elements,
    altered,
    whole,
)
from airflow_config_providers.core.definition.config_def import ConfigDef
from airflow_config_providers.core.definition.config_type import ConfigType
from airflow_config_providers.core.sensitive import HIDDEN
from airflow_config_providers.exceptions import ConfigException

DEFINITION = (
    ConfigDef()
    .define("jars", ConfigType.LIST, "")
    .define("files", ConfigType.LIST, "x,y")
    .define("memory", ConfigType.STRING, "1g")
)

SET, DELETE, APPEND, SUBTRACT = OpType.SET, OpType.DELETE, OpType.APPEND, OpType.SUBTRACT
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="."), min_size=1, max_size=20)


def changed(before: dict[str, str], *operations: AlterConfigOp) -> dict[str, str]:
    return altered(before, operations, DEFINITION).after


# --- resources --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("resource", "dag_id", "task_id", "text"),
    [
        pytest.param(ConfigResource(ResourceType.DEFAULT), "", "", "the deployment default", id="default"),
        pytest.param(ConfigResource(ResourceType.DAG, "a.b"), "a.b", "", "DAG 'a.b'", id="dag with a dot"),
        pytest.param(ConfigResource(ResourceType.TASK, "d.t"), "d", "t", "task 't' of DAG 'd'", id="task"),
        pytest.param(ConfigResource(ResourceType.TASK, "d.g.t"), "d", "g.t", "task 'g.t' of DAG 'd'", id="task group"),
    ],
)
def test_a_resource_knows_its_dag_and_its_task(resource, dag_id, task_id, text):
    assert (resource.dag_id, resource.task_id, str(resource), resource.problem) == (dag_id, task_id, text, None)


@given(st.from_regex(r"[\w.-]{1,30}", fullmatch=True, alphabet=st.characters(max_codepoint=127)), NAMES)
def test_a_task_is_found_again_whatever_dots_its_ids_have(dag_id, task_id):
    resource = ConfigResource.of_task(dag_id, f"{task_id}.inner")

    assert (resource.dag_id, resource.task_id) == (dag_id, f"{task_id}.inner")


def test_no_two_tasks_have_one_resource():
    assert ConfigResource.of_task("a.b", "c") != ConfigResource.of_task("a", "b.c")


@pytest.mark.parametrize(
    "resource",
    [
        pytest.param(ConfigResource(ResourceType.DEFAULT, "x"), id="default with a name"),
        pytest.param(ConfigResource(ResourceType.DAG), id="dag without a name"),
        pytest.param(ConfigResource(ResourceType.TASK), id="task without a name"),
        pytest.param(ConfigResource(ResourceType.TASK, "dag"), id="task without a task"),
        pytest.param(ConfigResource(ResourceType.TASK, ".task"), id="task without a dag"),
    ],
)
def test_an_odd_resource_says_what_is_wrong(resource):
    assert resource.problem is not None


def test_a_number_is_taken_for_what_it_stands_for():
    assert ConfigResource(3, "d.t").task_id == "t"
    assert AlterConfigOp("k", op=1).op is DELETE


@pytest.mark.parametrize("make", [lambda: AlterConfigOp("k", "v", 9), lambda: ConfigResource(0)])
def test_an_unknown_number_is_refused(make):
    with pytest.raises(ConfigException, match=r"^Unknown "):
        make()


def test_the_order_of_resources_is_that_of_precedence():
    assert sorted(
        [ConfigResource(ResourceType.TASK, "d.t"), ConfigResource(ResourceType.DEFAULT)], key=lambda one: one.type
    ) == [ConfigResource(ResourceType.DEFAULT), ConfigResource(ResourceType.TASK, "d.t")]


# --- operations -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "operation", "after"),
    [
        pytest.param({}, AlterConfigOp("memory", "4g"), {"memory": "4g"}, id="set"),
        pytest.param({"memory": "1g"}, AlterConfigOp("memory", ""), {"memory": ""}, id="an empty text is a value"),
        pytest.param({"memory": "1g"}, AlterConfigOp("memory", " 4g "), {"memory": " 4g "}, id="text stays as it is"),
        pytest.param({"memory": "1g"}, AlterConfigOp("memory", None, DELETE), {}, id="delete"),
        pytest.param({"memory": "1g"}, AlterConfigOp("memory", "x", DELETE), {}, id="delete ignores its value"),
        pytest.param({"a": "b"}, AlterConfigOp("memory", None, DELETE), {"a": "b"}, id="delete what is not set"),
        pytest.param({"jars": "a"}, AlterConfigOp("jars", "b", APPEND), {"jars": "a,b"}, id="append"),
        pytest.param(
            {"jars": "a,b"}, AlterConfigOp("jars", "b,c", APPEND), {"jars": "a,b,c"}, id="append what is there"
        ),
        pytest.param({"jars": "a"}, AlterConfigOp("jars", "b,b", APPEND), {"jars": "a,b"}, id="append one thing twice"),
        pytest.param({"jars": "a,,b,"}, AlterConfigOp("jars", "", APPEND), {"jars": "a,b"}, id="empty parts go"),
        pytest.param({"jars": "a, b"}, AlterConfigOp("jars", "b", APPEND), {"jars": "a, b,b"}, id="blanks count"),
        pytest.param({}, AlterConfigOp("files", "z", APPEND), {"files": "x,y,z"}, id="append starts from the default"),
        pytest.param({"files": ""}, AlterConfigOp("files", "z", APPEND), {"files": "z"}, id="but not if it is set"),
        pytest.param({"jars": "a,b,a"}, AlterConfigOp("jars", "a", SUBTRACT), {"jars": "b,a"}, id="subtract the first"),
        pytest.param({"jars": "a,b,a"}, AlterConfigOp("jars", "a,a", SUBTRACT), {"jars": "b"}, id="subtract both"),
        pytest.param({"jars": "a"}, AlterConfigOp("jars", "a", SUBTRACT), {"jars": ""}, id="subtract is no delete"),
        pytest.param(
            {"jars": "a"}, AlterConfigOp("jars", "z", SUBTRACT), {"jars": "a"}, id="subtract what is not there"
        ),
        pytest.param({}, AlterConfigOp("files", "x", SUBTRACT), {"files": "y"}, id="subtract from the default"),
    ],
)
def test_an_operation(before, operation, after):
    assert changed(before, operation) == after


@pytest.mark.parametrize(
    ("before", "operation", "absent"),
    [
        pytest.param({"jars": "a,b"}, AlterConfigOp("jars", "a", SUBTRACT), {}, id="present"),
        pytest.param({"jars": "a"}, AlterConfigOp("jars", "z", SUBTRACT), {"jars": 1}, id="absent"),
        pytest.param({"jars": "a"}, AlterConfigOp("jars", "a,y,z", SUBTRACT), {"jars": 2}, id="some absent"),
        pytest.param({"jars": "a"}, AlterConfigOp("jars", "a,a", SUBTRACT), {"jars": 1}, id="there once"),
        pytest.param({}, AlterConfigOp("files", "x", SUBTRACT), {}, id="in the default"),
        pytest.param({}, AlterConfigOp("jars", "a", SUBTRACT), {"jars": 1}, id="no list"),
        pytest.param({"jars": "a"}, AlterConfigOp("jars", "", SUBTRACT), {}, id="nothing"),
        pytest.param({"jars": "a"}, AlterConfigOp("jars", "a", APPEND), {}, id="append"),
    ],
)
def test_elements_that_cannot_be_subtracted_are_counted(before, operation, absent):
    assert absent_elements(before, [operation], DEFINITION) == absent


def test_a_comma_in_a_reference_does_not_part_a_list():
    before = {"jars": "b:k},${file:/a,b:k}"}

    assert changed(before, AlterConfigOp("jars", "${file:/c,b:k}", APPEND)) == {
        "jars": "b:k},${file:/a,b:k},${file:/c,b:k}"
    }


def test_operations_of_one_request_are_carried_out_together():
    after = changed(
        {"memory": "1g", "jars": "a"},
        AlterConfigOp("memory", None, DELETE),
        AlterConfigOp("jars", "b", APPEND),
        AlterConfigOp("other", "${v:p:k}"),
    )

    assert after == {"jars": "a,b", "other": "${v:p:k}"}


def test_what_was_given_is_not_changed():
    before = {"jars": "a"}

    changed(before, AlterConfigOp("jars", "b", APPEND))

    assert before == {"jars": "a"}


def test_all_that_is_wrong_is_told_at_once_and_no_value():
    operations = [
        AlterConfigOp("memory", "hunter2", APPEND),
        AlterConfigOp("unknown", "hunter2", SUBTRACT),
        AlterConfigOp("jars"),
        AlterConfigOp("jars", None, DELETE),
        AlterConfigOp("files", "hunter2", APPEND),
    ]
    done = altered({"files": HIDDEN}, operations, DEFINITION)

    assert [problem.partition("'")[2].partition("'")[0] for problem in done.problems] == [
        "jars",
        "memory",
        "unknown",
        "jars",
        "files",
    ]
    assert "hunter2" not in f"{done}{done.problems}"


def test_what_is_well_formed_is_carried_out_without_the_rest():
    operations = [AlterConfigOp("memory", "4g"), AlterConfigOp("jars"), AlterConfigOp("files", "z", APPEND)]

    done = altered({"jars": "a"}, operations, DEFINITION)

    assert (done.after, done.asked) == ({"jars": "a", "memory": "4g", "files": "x,y,z"}, {"jars": ""})


@pytest.mark.parametrize(
    ("name", "value", "key"),
    [
        pytest.param("k", 5, "'k'", id="a number"),
        pytest.param("k", 0, "'k'", id="nought"),
        pytest.param("k", ["a"], "'k'", id="a list"),
        pytest.param(5, "v", "5", id="a number as key"),
        pytest.param(None, "v", "None", id="nothing as key"),
    ],
)
def test_an_operation_on_what_is_no_text_names_the_key(name, value, key):
    with pytest.raises(ConfigException, match=f"{key}.*as a string"):
        AlterConfigOp(name, value)


def test_a_whole_with_what_is_no_text_names_all_such_keys_and_keeps_the_rest():
    done = whole({"a": 5, 6: "x", 7: None, "b": None, "c": "kept"})

    assert [key for key in ("'a'", "6", "7", "'b'") if any(key in problem for problem in done.problems)] == [
        "'a'",
        "6",
        "7",
        "'b'",
    ]
    assert done.after == {"c": "kept"}


def test_an_operation_does_not_show_its_value():
    assert "hunter2" not in repr(AlterConfigOp("k", "hunter2"))


class _Counted(str):
    """A text whose parts count how often they are compared."""

    __slots__ = ()
    comparisons = 0
    __hash__ = str.__hash__

    def __getitem__(self, place):
        return _Counted(str.__getitem__(self, place))

    def __eq__(self, other):
        _Counted.comparisons += 1
        return str.__eq__(self, other)


@pytest.mark.parametrize("kind", [APPEND, SUBTRACT])
@pytest.mark.parametrize("given", [range(1000, 2000), range(2000), range(1999, -1, -1)])
def test_a_long_list_costs_no_comparison_of_each_with_each(kind, given):
    before = {"jars": _Counted(",".join(map(str, range(2000))))}
    _Counted.comparisons = 0

    changed(before, AlterConfigOp("jars", _Counted(",".join(map(str, given))), kind))

    assert _Counted.comparisons < 20_000


@pytest.mark.parametrize("kind", [APPEND, SUBTRACT])
def test_more_than_may_be_given_at_once_is_not_carried_out(kind):
    done = altered({"jars": "a"}, [AlterConfigOp("jars", "a," * 6, kind)], DEFINITION, longest=10)

    assert (done.after, done.problems) == ({"jars": "a"}, ("'jars' has 12 characters, and 10 are allowed.",))


LISTS = st.lists(st.sampled_from(["", "a", "b", " a", "x y", "${v:p,q:k}", "${v:k}-c", "k}"]), max_size=6).map(",".join)


@given(LISTS, LISTS)
def test_appending_keeps_what_was_there_and_a_second_time_does_nothing(before, more):
    old = changed({"jars": before}, AlterConfigOp("jars", "", APPEND))["jars"]
    grown = changed({"jars": before}, AlterConfigOp("jars", more, APPEND))

    assert grown["jars"].startswith(old)
    assert changed(grown, AlterConfigOp("jars", more, APPEND)) == grown


@given(st.sets(st.sampled_from(["a", "b", "${v:p,q:k}"])), st.sets(st.sampled_from(["c", "d e", "${v:p,q:l}"])))
def test_subtracting_takes_back_what_was_appended(before, more):
    configs = {"jars": ",".join(before)}

    grown = changed(configs, AlterConfigOp("jars", ",".join(more), APPEND))

    assert changed(grown, AlterConfigOp("jars", ",".join(more), SUBTRACT)) == configs


@given(st.dictionaries(NAMES, st.text(max_size=5), max_size=5), st.dictionaries(NAMES, st.text(max_size=5), max_size=5))
def test_setting_and_deleting_gives_what_the_whole_gives(before, wanted):
    """Whichever way a change is asked for, a policy sees the same."""
    deletions = [AlterConfigOp(name, None, DELETE) for name in before.keys() - wanted.keys()]
    operations = [*deletions, *(AlterConfigOp(name, value) for name, value in wanted.items())]

    assert changed(before, *operations) == whole(wanted).after


def test_a_whole_with_a_key_without_value_says_so():
    done = whole({"a": None, "b": "hunter2", "c": None})

    assert [problem[:3] for problem in done.problems] == ["'a'", "'c'"]
    assert (done.after, done.asked) == ({"b": "hunter2"}, {"a": "", "c": ""})
    assert "hunter2" not in f"{done}{done.problems}"
