"""A configuration resolves, parses and selects what Kafka's does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_config_providers.core.definition.abstract_config import AbstractConfig
from airflow_config_providers.core.definition.config_def import ConfigDef
from airflow_config_providers.core.definition.config_type import ConfigType
from airflow_config_providers.core.registry import ProviderRegistry
from airflow_config_providers.core.sensitive import Password
from airflow_config_providers.exceptions import ConfigException, ProviderDefinitionError
from airflow_config_providers.providers.file import FileConfigProvider

CLASS = "config.providers.f.class"
PROVIDERS = {"config.providers": "f", CLASS: "file"}
KEYS = {"port": ("INT", 1), "host": ("STRING", "local"), "hosts": ("LIST", "a"), "password": ("PASSWORD", None)}
REFUSED = "refused"

NAMES = st.sampled_from([*KEYS, *(f"p.{name}" for name in KEYS), "p.q.port", "p.q.host", "p.", "p.x", "x"])
TEXTS = st.sampled_from(["7", " x ", "a, b", "${f:FILE:port}", "x${f:FILE:host}", "${f:FILE:no}", "${g:k}", "${f:k}"])
ORIGINALS = st.dictionaries(NAMES, TEXTS, max_size=6)
MAPS: list[tuple[Any, ...]] = [("originals",), ("originals_strings",), ("values",)]
for a_prefix in ("p.", "p", "", "none."):
    MAPS += [("originals_with_prefix", a_prefix), ("originals_with_prefix", a_prefix, False)]
    MAPS += [("values_with_prefix_override", a_prefix), ("values_with_prefix_all_or_nothing", a_prefix)]

cases = settings(max_examples=150, derandomize=True, deadline=None)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("config") / "file.properties"
    path.write_text("port=5432\nhost=db ${f:k}\n")
    return path


@cases
@given(originals=ORIGINALS, is_separate=st.booleans())
def test_same_maps_or_refusal(kafka: Any, file: Path, originals: dict[str, str], is_separate: bool) -> None:
    resolvable = {name: text.replace("FILE", str(file)) for name, text in originals.items()}
    props = (resolvable, PROVIDERS) if is_separate else ({**resolvable, **PROVIDERS}, {})
    ours, theirs = _outcome(_ours, *props), _outcome(_theirs, kafka, *props)

    assert (ours == REFUSED) == (theirs == REFUSED)
    for name, *args in MAPS if ours != REFUSED else ():
        our_map, their_map = _outcome(getattr(ours, name), *args), _outcome(getattr(theirs, _camel(name)), *args)
        assert _comparable(our_map) == _comparable(kafka.python(their_map))


@cases
@given(read=st.lists(NAMES), map_=st.sampled_from([map_ for map_ in MAPS if False not in map_]))
def test_same_unused(kafka: Any, read: list[str], map_: tuple[Any, ...]) -> None:
    originals = dict.fromkeys([*KEYS, "p.port", "p.q.port", "p.x", "x"], "7")
    ours, theirs, (name, *args) = _ours(originals), _theirs(kafka, originals), map_
    our_map, their_map = getattr(ours, name)(*args), getattr(theirs, _camel(name))(*args)
    for key in read:
        our_map.get(key)
        their_map.get(key)

    assert ours.unused() == kafka.python(theirs.unused())


def test_difference_reading_a_kept_prefix_uses_the_key_that_was_read(kafka: Any) -> None:
    originals = {"p.port": "7"}
    ours, theirs = _ours(originals), _theirs(kafka, originals)
    ours.originals_with_prefix("p.", False).get("p.port")
    theirs.originalsWithPrefix("p.", False).get("p.port")

    assert (ours.unused(), kafka.python(theirs.unused())) == (set(), {"p.port"})


def test_same_refusal_of_an_unknown_provider_class(kafka: Any) -> None:
    originals = {**PROVIDERS, CLASS: "no.such.Provider"}

    assert _outcome(_theirs, kafka, originals) == REFUSED
    with pytest.raises(ProviderDefinitionError):
        _ours(originals)


def test_difference_list_of_providers_is_trimmed(kafka: Any, file: Path) -> None:
    originals = {**PROVIDERS, "config.providers": " f ", "host": f"${{f:{file}:port}}"}

    assert _theirs(kafka, originals).values()["host"] == originals["host"]
    assert _ours(originals).get("host") == "5432"


def test_difference_provider_without_class_is_an_error(kafka: Any) -> None:
    originals = {"config.providers": "f", "host": "${f:a:b}"}

    assert _theirs(kafka, originals).values()["host"] == "${f:a:b}"
    with pytest.raises(ProviderDefinitionError):
        _ours(originals)


def test_difference_parameter_outside_param_is_an_error(kafka: Any, file: Path) -> None:
    originals = {**PROVIDERS, "config.providers.f.allowed.paths": "/nowhere", "host": f"${{f:{file}:port}}"}

    assert _theirs(kafka, originals).values()["host"] == "5432"
    with pytest.raises(ProviderDefinitionError):
        _ours(originals)


def test_difference_refusal_does_not_quote_the_resolved_value(kafka: Any, file: Path) -> None:
    originals = {**PROVIDERS, "port": f"${{f:{file}:host}}"}
    _, theirs = kafka.run(lambda: _theirs(kafka, originals))

    with pytest.raises(ConfigException) as caught:
        _ours(originals)
    assert ("db ${f:k}" in theirs, "db ${f:k}" in str(caught.value)) == (True, False)


def _ours(originals: Mapping[str, str], provider_props: Mapping[str, str] | None = None) -> AbstractConfig:
    definition = ConfigDef()
    for name, (type_, default) in KEYS.items():
        definition.define(name, ConfigType(type_), default)
    registry = ProviderRegistry({"file": FileConfigProvider})
    return AbstractConfig(definition, originals, provider_props, do_log=False, registry=registry)


def _theirs(kafka: Any, originals: Mapping[str, str], provider_props: Mapping[str, str] | None = None) -> Any:
    definition = kafka.definition()
    for name, (type_, default) in KEYS.items():
        definition.define(name, kafka.type(type_), default, kafka.definition.Importance.LOW, "")
    maps = (kafka.map(_with_java_class(props)) for props in (originals, provider_props or {}))
    return kafka.config.AbstractConfig(definition, *maps, False)


def _with_java_class(props: Mapping[str, str]) -> dict[str, str]:
    names = {"file": "org.apache.kafka.common.config.provider.FileConfigProvider"}
    return {name: names.get(value, value) for name, value in props.items()}


def _outcome(make: Callable[..., Any], *args: Any) -> Any:
    from py4j.protocol import Py4JJavaError

    try:
        return make(*args)
    except (ConfigException, Py4JJavaError):
        return REFUSED


def _comparable(made: Any) -> Any:
    return {key: _plain(value) for key, value in made.items() if key != CLASS} if isinstance(made, dict) else made


def _plain(value: Any) -> Any:
    return {"password": value.value} if isinstance(value, Password) else value


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.title, rest))
