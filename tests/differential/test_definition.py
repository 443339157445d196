"""A definition parses a configuration to what Kafka parses it to, and finds fault where Kafka does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_config_providers.core.definition.config_def import NO_DEFAULT_VALUE, ConfigDef
from airflow_config_providers.core.definition.config_type import ConfigType
from airflow_config_providers.core.definition.validators import Range
from airflow_config_providers.core.sensitive import Password
from airflow_config_providers.exceptions import ConfigException

VALUES: Mapping[ConfigType, Sequence[str]] = {
    ConfigType.BOOLEAN: ["true", "no", ""],
    ConfigType.STRING: ["", " x ", "y"],
    ConfigType.INT: ["0", " 7", "x", "-1"],
    ConfigType.DOUBLE: ["1d", "x", "-.5"],
    ConfigType.LIST: ["", "a, b", ","],
    ConfigType.PASSWORD: ["", " s "],
}
DEFAULTS: Mapping[ConfigType, Any] = {
    ConfigType.BOOLEAN: True,
    ConfigType.STRING: " x",
    ConfigType.INT: "7",
    ConfigType.DOUBLE: 0.5,
    ConfigType.LIST: "a,b",
    ConfigType.PASSWORD: "p",
}

Props = dict[str, str | None]


@dataclass(frozen=True)
class Key:
    name: str
    type: ConfigType
    default: Any
    is_positive: bool
    dependents: list[str]


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[Key], Props]:
    """
    Return a definition and a configuration.

    Dependents are defined later, for Kafka does not look at keys that depend on each other.
    """
    names = draw(st.lists(st.sampled_from("abcd"), unique=True, min_size=1))
    keys = [draw(_keys(name, names[place + 1 :])) for place, name in enumerate(names)]
    given_names = draw(st.sets(st.sampled_from(names)))
    props: Props = {
        key.name: draw(st.sampled_from([None, *VALUES[key.type]])) for key in keys if key.name in given_names
    }
    return keys, {**props, "unknown": "x"}


@st.composite
def _keys(draw: st.DrawFn, name: str, later: Sequence[str]) -> Key:
    type_ = draw(st.sampled_from(list(VALUES)))
    default = draw(st.sampled_from([NO_DEFAULT_VALUE, None, DEFAULTS[type_]]))
    is_positive = type_ in {ConfigType.INT, ConfigType.DOUBLE} and default is not None and draw(st.booleans())
    dependents = draw(st.sets(st.sampled_from(later))) if later else set()
    is_undefined = draw(st.integers(0, 15)) == 0
    return Key(name, type_, default, is_positive, sorted(dependents | {"z"} if is_undefined else dependents))


@settings(max_examples=250, derandomize=True, deadline=None)
@given(case=cases())
def test_same_values_or_the_same_first_problem(kafka: Any, case: tuple[list[Key], Props]) -> None:
    keys, props = case
    theirs, error = kafka.run(lambda: _theirs(kafka, keys).parse(kafka.map(props)))

    values, problems = _parsed(_ours(keys), props)
    assert values == theirs
    assert problems[:1] == ([] if error is None else [_without_value(error)])


@settings(max_examples=150, derandomize=True, deadline=None)
@given(case=cases())
def test_same_keys_have_problems(kafka: Any, case: tuple[list[Key], Props]) -> None:
    keys, props = case
    theirs = {value.name(): value for value in _theirs(kafka, keys).validateAll(kafka.map(props)).values()}
    ours = {value.name: value for value in _ours(keys).validate(props)}

    assert ours.keys() == theirs.keys()
    assert {name: bool(value.error_messages) for name, value in ours.items()} == {
        name: bool(value.errorMessages()) for name, value in theirs.items()
    }
    assert {name: value.visible for name, value in ours.items()} == {
        name: value.visible() for name, value in theirs.items()
    }


def _ours(keys: Sequence[Key]) -> ConfigDef:
    definition = ConfigDef()
    for key in keys:
        validator = Range.at_least(0) if key.is_positive else None
        definition.define(key.name, key.type, key.default, validator, dependents=key.dependents)
    return definition


def _theirs(kafka: Any, keys: Sequence[Key]) -> Any:
    definition = kafka.definition()
    for key in keys:
        definition.define(
            key.name,
            kafka.type(key.type.value),
            kafka.definition.NO_DEFAULT_VALUE if key.default is NO_DEFAULT_VALUE else key.default,
            kafka.definition.Range.atLeast(0) if key.is_positive else None,
            kafka.definition.Importance.LOW,
            "",
            None,
            -1,
            kafka.definition.Width.NONE,
            key.name,
            key.dependents,
        )
    return definition


def _parsed(definition: ConfigDef, props: Props) -> tuple[dict[str, Any] | None, list[str]]:
    try:
        values = definition.parse(props)
    except ConfigException as error:
        return None, [_gist(problem) for problem in error.problems]
    return {name: {"password": v.value} if isinstance(v, Password) else v for name, v in values.items()}, []


def _gist(problem: str) -> str:
    return "undefined dependents" if "is a dependent of" in problem else problem.partition(". Give")[0]


def _without_value(error: str) -> str:
    """Return Kafka's message in the form of ours, without the class of the error and the value."""
    message = error.removeprefix("org.apache.kafka.common.config.ConfigException: ")
    if "dependents" in message:
        return "undefined dependents"
    value, found, rest = message.partition(" for configuration ")
    return f"Invalid value{found}{rest}" if found and value.startswith("Invalid value ") else message
