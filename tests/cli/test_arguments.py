"""What people write behind ``--add-config`` and its like."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest

from airflow_config_providers.cli import arguments
from airflow_config_providers.cli.failing import WrongArgumentsError
from airflow_config_providers.core.alter import AlterConfigOp, ConfigResource, OpType, ResourceType

PAIRS = [
    pytest.param("a=b", {"a": "b"}, id="one"),
    pytest.param("a=b,c=d", {"a": "b", "c": "d"}, id="two"),
    pytest.param(" a = b , c=d", {"a": " b ", "c": "d"}, id="blanks belong to values"),
    pytest.param("a=", {"a": ""}, id="empty"),
    pytest.param("a=,b=c", {"a": "", "b": "c"}, id="empty, and another"),
    pytest.param("a=[b,c]", {"a": "b,c"}, id="brackets"),
    pytest.param("a=[b,c],d=e", {"a": "b,c", "d": "e"}, id="brackets, and another"),
    pytest.param("a=[]", {"a": ""}, id="empty brackets"),
    pytest.param("a=b=c", {"a": "b=c"}, id="an equals sign in a value"),
    pytest.param("a=-Dx=y -Dz=w", {"a": "-Dx=y -Dz=w"}, id="java options"),
    pytest.param("a=b,c", {"a": "b,c"}, id="a single pair may have a comma"),
    pytest.param("a=${v:p,q:k},b=c", {"a": "${v:p,q:k}", "b": "c"}, id="a comma in a reference"),
    pytest.param("a=[${v:p:k},x]", {"a": "${v:p:k},x"}, id="a reference in brackets"),
    pytest.param("a=b,", {"a": "b"}, id="a comma at the end"),
    pytest.param("a=x[1]", {"a": "x[1]"}, id="brackets within a value"),
]


@pytest.mark.parametrize(("text", "expected"), PAIRS)
def test_pairs(text: str, expected: dict[str, str]):
    assert dict(arguments.pairs(text)) == expected


@pytest.mark.parametrize("text", ["", "a", "=b", "a=b,c,d=e", " =b"])
def test_what_is_no_pair_is_refused(text: str):
    with pytest.raises(WrongArgumentsError, match="is not KEY=VALUE"):
        arguments.pairs(text)


@pytest.mark.parametrize("text", ["", "=b", " =b"])
def test_the_message_on_a_missing_key_says_what_is_missing(text: str):
    with pytest.raises(WrongArgumentsError, match="the key is missing"):
        arguments.pairs(text)


def test_a_message_holds_no_value():
    with pytest.raises(WrongArgumentsError) as refused:
        arguments.pairs("spark.app.password=hunter2,x,b=c")

    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("value", ["hunter2=", "hunter2=="])
@pytest.mark.parametrize("between", [" ", ": ", "\n", " -> "])
@pytest.mark.parametrize("option", ["add_config", "append", "subtract"])
def test_a_message_on_an_equals_sign_at_the_end_of_a_value_holds_no_value(option: str, between: str, value: str):
    with pytest.raises(WrongArgumentsError) as refused:
        arguments.operations(args(**{option: [f"spark.app.password{between}{value}"]}))

    assert "'spark.app.password...' is not KEY=VALUE" in str(refused.value)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("between", [" ", ": ", ":", ",", "\n", ";", "|"])
@pytest.mark.parametrize("option", ["add_config", "append", "subtract"])
def test_a_message_on_a_missing_equals_sign_holds_no_value(option: str, between: str):
    with pytest.raises(WrongArgumentsError) as refused:
        arguments.operations(args(**{option: [f"spark.app.password{between}hunter2"]}))

    assert "'spark.app.password...' is not KEY=VALUE" in str(refused.value)
    assert "hunter2" not in str(refused.value)


def args(**given: object) -> SimpleNamespace:
    names = ("default", "dag", "task", "add_config", "add_config_file", "delete_config", "append", "subtract")
    return SimpleNamespace(**{**dict.fromkeys(names), **given})


RESOURCES = [
    pytest.param({"default": True}, ConfigResource(ResourceType.DEFAULT), id="deployment"),
    pytest.param({"dag": "a.b"}, ConfigResource(ResourceType.DAG, "a.b"), id="DAG"),
    pytest.param({"dag": "a.b", "task": "g.t"}, ConfigResource.of_task("a.b", "g.t"), id="task"),
]


@pytest.mark.parametrize(("given", "expected"), RESOURCES)
def test_resources(given: dict[str, object], expected: ConfigResource):
    assert arguments.resource(args(**given)) == expected


@pytest.mark.parametrize("given", [{}, {"task": "t"}, {"default": True, "dag": "d"}, {"default": True, "task": "t"}])
def test_what_names_no_resource_is_refused(given: dict[str, object]):
    with pytest.raises(WrongArgumentsError, match="Name one resource"):
        arguments.resource(args(**given))


def test_a_closed_standard_input_is_called_closed():
    script = "from airflow_config_providers.cli.arguments import text_of; text_of('-')"

    done = subprocess.run(
        ["/bin/sh", "-c", '"$0" -c "$1" <&-', sys.executable, script], capture_output=True, text=True, check=False
    )

    assert "ConfigException: Standard input, which '-' reads, is closed. Write < FILE" in done.stderr


def test_changes_in_a_yaml_file_are_read_as_yaml(tmp_path):
    (tmp_path / "changes.yaml").write_text("spark:\n  a: 1\n  b.c: true\n")

    found = arguments.operations(args(add_config_file=str(tmp_path / "changes.yaml")))

    assert [(one.name, one.value) for one in found] == [("spark.a", "1"), ("spark.b.c", "true")]


def test_operations_of_every_kind(tmp_path):
    file = tmp_path / "changes.properties"
    file.write_text("f = 1\n")

    found = arguments.operations(
        args(
            add_config=["a=1,b=2", "c=[3,4]"],
            add_config_file=str(file),
            delete_config=["d,e", "g"],
            append=["h=5,6"],
            subtract=["i=7"],
        )
    )

    assert found == [
        AlterConfigOp("a", "1"),
        AlterConfigOp("b", "2"),
        AlterConfigOp("c", "3,4"),
        AlterConfigOp("f", "1"),
        AlterConfigOp("d", None, OpType.DELETE),
        AlterConfigOp("e", None, OpType.DELETE),
        AlterConfigOp("g", None, OpType.DELETE),
        AlterConfigOp("h", "5,6", OpType.APPEND),
        AlterConfigOp("i", "7", OpType.SUBTRACT),
    ]


def test_a_comma_after_a_reference_that_is_not_closed_is_refused():
    with pytest.raises(WrongArgumentsError, match="brackets"):
        arguments.pairs("spark.x=${a:b,spark.y=1")


def test_a_value_in_which_a_reference_is_not_closed_can_be_alone():
    assert arguments.pairs("spark.x=${a:b") == [("spark.x", "${a:b")]


@pytest.mark.parametrize("piece", ["${a:b}", "$", "${", "$}", "{"])
def test_many_references_are_read_in_an_instant(piece: str):
    """Each one took twice as long as the one before."""
    value = piece * 10_000 + "]"

    assert arguments.pairs(f"spark.x={value}") == [("spark.x", value)]
