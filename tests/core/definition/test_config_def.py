"""A definition parses, validates and documents a configuration."""

from __future__ import annotations

import traceback
from secrets import token_hex
from typing import Any

import pytest

from airflow_config_providers.core.definition.config_def import (
    NO_DEFAULT_VALUE,
    ConfigDef,
    ConfigKey,
    ConfigValue,
    Importance,
)
from airflow_config_providers.core.definition.config_type import ConfigType
from airflow_config_providers.core.definition.validators import LambdaValidator, NonEmptyString, Range
from airflow_config_providers.core.invalid_value import InvalidValueError
from airflow_config_providers.core.sensitive import Password
from airflow_config_providers.exceptions import ConfigException

INT, STRING, LIST, PASSWORD = ConfigType.INT, ConfigType.STRING, ConfigType.LIST, ConfigType.PASSWORD


def _quote(name: str, value: Any) -> None:
    raise ValueError(f"{value} is bad")


def test_values_have_their_types() -> None:
    definition = ConfigDef().define("a", INT).define("b", LIST).define("c", PASSWORD)

    assert {"a": 1, "b": ["x", "y"], "c": Password("s")} == definition.parse({"a": "1", "b": "x,y", "c": "s"})


def test_default_is_taken_where_nothing_is_given() -> None:
    assert ConfigDef().define("a", INT, 5).parse({}) == {"a": 5}


def test_default_is_parsed() -> None:
    assert ConfigDef().define("a", INT, " 5 ").parse({}) == {"a": 5}


def test_default_none_is_a_default() -> None:
    assert ConfigDef().define("a", INT, None).parse({}) == {"a": None}


def test_given_none_beats_the_default() -> None:
    assert ConfigDef().define("a", INT, 5).parse({"a": None}) == {"a": None}


def test_given_none_is_enough_for_a_required_configuration() -> None:
    assert ConfigDef().define("a", INT).parse({"a": None}) == {"a": None}


def test_empty_text_is_a_value() -> None:
    assert ConfigDef().define("a", STRING, "x").parse({"a": ""}) == {"a": ""}


def test_empty_default_is_a_default() -> None:
    assert ConfigDef().define("a", STRING, "").parse({}) == {"a": ""}


def test_unknown_names_are_left_out() -> None:
    assert ConfigDef().define("a", INT).parse({"a": "1", "z": "1"}) == {"a": 1}


def test_list_by_default_is_a_new_one_each_time() -> None:
    definition = ConfigDef().define("a", LIST, "x")
    definition.parse({})["a"].append("y")

    assert definition.parse({}) == {"a": ["x"]}


def test_difference_all_problems_are_reported_at_once_in_order_of_definition() -> None:
    definition = ConfigDef().define("z", ConfigType.SHORT).define("b", STRING).define("a", INT, 1, Range.at_least(1))

    with pytest.raises(ConfigException) as caught:
        definition.parse({"z": "x", "a": "0"})

    assert caught.value.problems == (
        "Invalid value for configuration z: Not a number of type SHORT. Give a whole number from -32768 to 32767",
        'Missing required configuration "b" which has no default value.',
        "Invalid value for configuration a: Value must be at least 1",
    )


def test_validator_sees_none() -> None:
    definition = ConfigDef().define("a", INT, 1, Range.at_least(1))

    with pytest.raises(ConfigException, match="Value must be non-null"):
        definition.parse({"a": None})


def test_undefined_dependents_are_reported_first() -> None:
    definition = ConfigDef().define("a", INT, dependents=["b", "c"])

    with pytest.raises(ConfigException) as caught:
        definition.parse({"a": "x"})

    assert caught.value.problems == (
        "b is a dependent of a, but not defined. Define it, or remove it there.",
        "c is a dependent of a, but not defined. Define it, or remove it there.",
    )


def test_difference_foreign_error_of_a_validator_is_a_problem_without_its_text() -> None:
    secret = token_hex()
    definition = ConfigDef().define("a", STRING, validator=LambdaValidator.with_(_quote, ""))

    with pytest.raises(ConfigException) as caught:
        definition.parse({"a": secret})

    assert caught.value.problems == (
        "Invalid value for configuration a: LambdaValidator.ensure_valid failed with ValueError",
    )
    assert secret not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("error", [ConfigException(), ConfigException("")], ids=["no text", "an empty text"])
def test_refusal_without_a_reason_is_a_refusal(error: ConfigException) -> None:
    def refuse(name: str, value: object) -> None:
        raise error

    definition = ConfigDef().define("a", INT, validator=LambdaValidator.with_(refuse, ""))

    with pytest.raises(ConfigException, match="refused without a reason"):
        definition.parse({"a": "1"})


def test_a_name_is_defined_once() -> None:
    with pytest.raises(ConfigException, match="a is defined twice"):
        ConfigDef().define("a", INT).define("a", STRING)


def test_default_of_another_type_is_refused() -> None:
    with pytest.raises(ConfigException, match="Not a number of type INT"):
        ConfigDef().define("a", INT, "x")


def test_default_that_is_not_valid_is_refused() -> None:
    with pytest.raises(ConfigException, match="must be at least 1"):
        ConfigDef().define("a", INT, 0, Range.at_least(1))


def test_definition_made_from_another_does_not_change_it() -> None:
    first = ConfigDef().define("a", INT)
    second = ConfigDef(first.config_keys.values()).define("b", INT)

    assert (list(first.config_keys), list(second.config_keys)) == (["a"], ["a", "b"])


def test_key_has_what_was_defined() -> None:
    definition = ConfigDef().define(
        "a", INT, 1, Range.at_least(0), Importance.HIGH, "what", group="G", dependents=["b"]
    )

    assert definition.config_keys["a"] == ConfigKey(
        name="a",
        type=INT,
        default=1,
        validator=Range.at_least(0),
        importance=Importance.HIGH,
        doc="what",
        group="G",
        dependents=("b",),
    )


@pytest.mark.parametrize(
    ("default", "expected"),
    [pytest.param(NO_DEFAULT_VALUE, False, id="none-given"), pytest.param(None, True, id="none")],
)
def test_key_knows_whether_it_has_a_default(default: object, expected: bool) -> None:
    assert ConfigKey(name="a", type=INT, default=default).has_default is expected


def test_validate_gives_each_value_and_its_messages() -> None:
    definition = ConfigDef().define("a", INT).define("b", INT, 1, Range.at_least(1)).define("c", INT)

    assert definition.validate({"a": "7", "b": "0"}) == [
        ConfigValue("a", 7),
        ConfigValue("b", None, ("Invalid value for configuration b: Value must be at least 1",)),
        ConfigValue("c", None, ('Missing required configuration "c" which has no default value.',)),
    ]


def test_undefined_dependent_is_an_invisible_value_with_a_message() -> None:
    values = ConfigDef().define("a", INT, 1, dependents=["z"]).validate({})

    problem = "z is a dependent of a, but not defined. Define it, or remove it there."
    assert values == [ConfigValue("a", 1), ConfigValue("z", None, (problem,), False)]


def test_difference_key_with_two_parents_is_checked_once() -> None:
    definition = ConfigDef().define("a", INT, 1, dependents=["c"]).define("b", INT, 1, dependents=["c"])
    definition.define("c", INT)

    assert len(definition.validate({"c": "x"})[2].error_messages) == 1


def test_difference_validator_does_not_run_on_what_did_not_parse() -> None:
    definition = ConfigDef().define("a", INT, validator=Range.at_least(1))

    assert len(definition.validate({"a": "x"})[0].error_messages) == 1


def test_difference_keys_that_depend_on_each_other_are_checked() -> None:
    definition = ConfigDef().define("a", INT, dependents=["b"]).define("b", INT, dependents=["a"])

    assert [len(value.error_messages) for value in definition.validate({"a": "x", "b": "y"})] == [1, 1]


def test_text_form_of_a_result_holds_no_value() -> None:
    secret = token_hex()

    assert secret not in repr(ConfigDef().define("a", STRING).validate({"a": secret}))


def test_misfits_of_one_value() -> None:
    definition = ConfigDef().define("a", INT, 1, Range.at_least(1))

    assert list(definition.misfits("a", "0")) == ["Invalid value for configuration a: Value must be at least 1"]


def test_the_reason_of_a_misfit_does_not_name_the_configuration() -> None:
    definition = ConfigDef().define("a", INT, 1, Range.at_least(1))

    assert [list(definition.misfit_reasons("a", text)) for text in ("0", "1")] == [["Value must be at least 1"], []]


@pytest.mark.parametrize("kind", [ConfigException, InvalidValueError])
def test_the_reason_of_another_check_is_its_whole_message(kind: type[ConfigException]) -> None:
    asked = []

    def refuse(name: str, value: object) -> None:
        asked.append(value)
        raise kind(f"{name} is odd.")

    definition = ConfigDef().define("a", INT, validator=LambdaValidator.with_(refuse, ""))

    assert list(definition.misfit_reasons("a", "1")) == ["a is odd."]
    assert asked == [1]  # a check can take long, so it is made once


def test_fitting_value_has_no_misfits() -> None:
    assert not ConfigDef().define("a", INT).misfits("a", "0")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("password", True, id="password"),
        pytest.param("text", False, id="text"),
        pytest.param("unknown", False, id="unknown"),
    ],
)
def test_passwords_are_sensitive(name: str, expected: bool) -> None:
    definition = ConfigDef().define("password", PASSWORD).define("text", STRING)

    assert definition.is_sensitive(name) is expected


def test_defaults_as_text() -> None:
    definition = (
        ConfigDef()
        .define("required", INT)
        .define("none", INT, None)
        .define("list", LIST, ["a", "b"])
        .define("double", ConfigType.DOUBLE, 1e7)
        .define("password", PASSWORD, token_hex())
    )

    assert definition.default_texts() == {"list": "a,b", "double": "1.0E7", "password": "[hidden]"}


def test_markdown_has_a_table_of_what_is_defined() -> None:
    definition = ConfigDef().define("a", INT, 5, Range.at_least(0), Importance.HIGH, "How many.")

    assert definition.to_markdown() == (
        "| Name | Type | Default | Valid values | Importance | Description |\n"
        "| --- | --- | --- | --- | --- | --- |\n"
        "| `a` | INT | 5 | [0,...] | high | How many. |\n"
    )


@pytest.mark.parametrize(
    ("default", "expected"),
    [
        pytest.param(NO_DEFAULT_VALUE, "required", id="required"),
        pytest.param(None, "none", id="none"),
        pytest.param("", '""', id="empty"),
        pytest.param("x", "x", id="text"),
    ],
)
def test_markdown_tells_the_default(default: object, expected: str) -> None:
    assert f"| `a` | STRING | {expected} |" in ConfigDef().define("a", STRING, default).to_markdown()


def test_markdown_hides_a_default_password() -> None:
    assert "| PASSWORD | [hidden] |" in ConfigDef().define("a", PASSWORD, "s").to_markdown()


def test_markdown_has_a_table_for_each_group() -> None:
    definition = ConfigDef().define("a", INT, group="One").define("b", INT, group="Two")

    headings = [line for line in definition.to_markdown().splitlines() if line.startswith("#")]
    assert headings == ["### One", "### Two"]


def test_markdown_order_is_required_then_importance_then_name() -> None:
    definition = (
        ConfigDef()
        .define("d", INT, 1)
        .define("c", INT, 1, importance=Importance.HIGH)
        .define("b", INT)
        .define("f", INT)
        .define("e", INT, 1)
    )

    rows = definition.to_markdown().splitlines()[2:]
    assert [row.split("`")[1] for row in rows] == ["b", "f", "c", "d", "e"]


def test_markdown_leaves_internal_configurations_out() -> None:
    assert "secret-switch" not in ConfigDef().define("secret-switch", INT, internal=True).to_markdown()


def test_markdown_cells_stay_in_their_row() -> None:
    definition = ConfigDef().define("a", STRING, "x|y", NonEmptyString(), doc="one\ntwo|three")

    assert r"| x\|y | non-empty string | medium | one two\|three |" in definition.to_markdown()


def test_a_key_is_altered_at_kinds_of_resource_that_there_are():
    with pytest.raises(ConfigException, match=r"^k has something other than DEFAULT, DAG, TASK in alterable_at\.$"):
        ConfigDef().define("k", ConfigType.INT, 1, alterable_at=["CLUSTER"])
