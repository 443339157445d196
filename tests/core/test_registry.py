from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from airflow_config_providers.core import ConfigDef, ConfigType, Range
from airflow_config_providers.core.keys import is_reserved
from airflow_config_providers.core.polled_provider import PolledConfigProvider
from airflow_config_providers.core.provider import ConfigData, ConfigProvider
from airflow_config_providers.core.provider_definition import read_definitions
from airflow_config_providers.core.registry import ConfiguredProviders, ProviderRegistry
from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.exceptions import (
    ConfigException,
    ProviderDefinitionError,
    ProviderLookupError,
    ProviderUnavailableError,
)
from airflow_config_providers.providers.file import FileConfigProvider
from airflow_config_providers.testing import InMemoryConfigProvider
from tests.raised import raised_at

ABSTRACT = "airflow_config_providers.core.provider.ConfigProvider"
DOTTED = "airflow_config_providers.testing.InMemoryConfigProvider"


class Told(InMemoryConfigProvider):
    required_params: ClassVar[Mapping[str, str]] = {"allowed.paths": "/etc/airflow/spark"}


class Forgetful(PolledConfigProvider):
    """Forgets in its ``configure`` that there is another one."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        self.given = dict(configs)

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        return ConfigData({})


@pytest.mark.parametrize(("given", "expected"), [({"poll.interval": "5000"}, 5000), ({}, 60_000)])
def test_the_poll_interval_is_taken_even_if_a_class_does_not_call_the_configure_that_takes_it(
    given: dict[str, str], expected: int
) -> None:
    params = {f"config.providers.one.param.{name}": value for name, value in given.items()}
    definitions = {"config.providers": "one", "config.providers.one.class": "forgetful", **params}

    with ProviderRegistry(classes={"forgetful": Forgetful}).open(definitions) as providers:
        provider = providers["one"]
        assert isinstance(provider, Forgetful)
        assert (provider.poll_interval, provider.given) == (expected, given)


class Failing(InMemoryConfigProvider):
    """Fails with ``error`` when it is configured, and when it is closed."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.failure = error

    def configure(self, configs: Mapping[str, Any]) -> None:
        raise self.failure

    def close(self) -> None:
        super().close()
        raise self.failure


def props(**classes: str) -> dict[str, str]:
    """Define providers by name and class."""
    return {"config.providers": ",".join(classes)} | {
        f"config.providers.{name}.class": value for name, value in classes.items()
    }


def problems(registry: ProviderRegistry, definitions: Mapping[str, Any]) -> tuple[str, ...]:
    with pytest.raises(ProviderDefinitionError) as caught:
        registry.open(definitions)
    assert caught.value.__cause__ is caught.value.__context__ is None
    return caught.value.problems


def giving(**providers: ConfigProvider) -> dict[str, Callable[[], ConfigProvider]]:
    return {name: lambda provider=provider: provider for name, provider in providers.items()}


def test_providers_are_made_and_configured_in_the_order_listed() -> None:
    registry = ProviderRegistry({"memory": InMemoryConfigProvider})
    providers = registry.open(props(b="memory", a="memory") | {"config.providers.b.param.x.y": " 1 "})
    assert {name: provider.configs for name, provider in providers.items()} == {"b": {"x.y": " 1 "}, "a": {}}
    assert list(providers) == ["b", "a"]


def test_no_providers_are_no_error() -> None:
    assert dict(ProviderRegistry({}).open({"spark.app.name": "report"})) == {}


def test_installed_providers_have_short_names(tmp_path: Path) -> None:
    providers = ProviderRegistry().open(props(f="file", d="directory", e="env"))
    names = {name: type(provider).__name__ for name, provider in providers.items()}
    assert names == {"f": "FileConfigProvider", "d": "DirectoryConfigProvider", "e": "EnvVarConfigProvider"}


def test_a_dotted_path_that_is_allowed_is_imported() -> None:
    providers = ProviderRegistry({}, allowed_classes=[DOTTED]).open(props(a=f" {DOTTED} "))
    assert type(providers["a"]) is InMemoryConfigProvider


@pytest.mark.parametrize(
    ("definitions", "expected"),
    [
        pytest.param(
            {"config.providers": "a"},
            "config.providers.a.class is missing. Add it with one of: file, vault.",
            id="no class",
        ),
        pytest.param(
            props(a="vualt"),
            "config.providers.a.class: there is no provider 'vualt', did you mean 'vault'? Known are: file, vault.",
            id="unknown short name",
        ),
        pytest.param(
            props(a="x\x1b[2J"),
            "config.providers.a.class: there is no provider 'x\\x1b[2J'. Known are: file, vault.",
            id="control characters",
        ),
        pytest.param(
            props(a="os.system"),
            "config.providers.a.class: os.system is not an allowed class. Add it to allowed_classes, or use a short "
            "name: file, vault.",
            id="class that is not allowed",
        ),
        pytest.param(
            props(a=f"{DOTTED}.x"),
            f"config.providers.a.class: {DOTTED}.x is not an allowed class. Add it to allowed_classes, or use a short "
            "name: file, vault.",
            id="allowed names are exact",
        ),
        pytest.param(
            props(a="no.such.Class"),
            "config.providers.a.class: no.such.Class cannot be imported (ModuleNotFoundError).",
            id="no such module",
        ),
        pytest.param(
            props(a="collections.NoSuch"),
            "config.providers.a.class: collections.NoSuch cannot be imported (AttributeError).",
            id="no such class",
        ),
        pytest.param(
            props(a="collections.OrderedDict"),
            "config.providers.a.class: collections.OrderedDict does not extend ConfigProvider. Name a class that "
            "extends ConfigProvider.",
            id="no provider",
        ),
        pytest.param(
            props(a="os.getcwd"),
            "config.providers.a.class: os.getcwd does not extend ConfigProvider. Name a class that extends "
            "ConfigProvider.",
            id="no class",
        ),
        pytest.param(
            props(a=ABSTRACT),
            f"config.providers.a.class: {ABSTRACT} cannot be made (TypeError).",
            id="abstract class",
        ),
    ],
)
def test_a_class_that_cannot_be_used_is_told(definitions: Mapping[str, str], expected: str) -> None:
    allowed = [
        DOTTED,
        "no.such.Class",
        "collections.NoSuch",
        "collections.OrderedDict",
        "os.getcwd",
        ABSTRACT,
    ]
    registry = ProviderRegistry(
        {"file": InMemoryConfigProvider, "vault": InMemoryConfigProvider}, allowed_classes=allowed
    )
    assert problems(registry, definitions) == (expected,)


def test_a_deployment_is_told_the_option_that_allows_a_class() -> None:
    found = problems(ProviderRegistry({}, deployment=True), props(a=DOTTED))
    assert "Add it to option allowed_provider_classes of [config_providers]" in found[0]


def test_all_problems_are_told_together() -> None:
    definitions = props(a="no", b="no.such", c="told") | {"config.providers": "a,b,c,d,a", "config.providers.a.x": "1"}
    assert len(problems(ProviderRegistry({"told": Told}, deployment=True), definitions)) == 6


@pytest.mark.parametrize("params", [{}, {"config.providers.a.param.allowed.paths": "  "}])
def test_a_deployment_must_say_what_a_provider_may_read(params: dict[str, str]) -> None:
    registry = ProviderRegistry({"told": Told}, deployment=True)
    [problem] = problems(registry, props(a="told") | params)
    assert problem == (
        "config.providers.a.param.allowed.paths is missing: it says what the provider may read. "
        "Add it, as in config.providers.a.param.allowed.paths=/etc/airflow/spark"
    )


def test_a_provider_that_was_not_told_is_closed() -> None:
    provider = Told()
    problems(ProviderRegistry(giving(told=provider), deployment=True), props(a="told"))
    assert provider.closed == 1


def test_a_deployment_that_says_it_has_its_provider() -> None:
    definitions = props(a="told") | {"config.providers.a.param.allowed.paths": "/etc"}
    assert "a" in ProviderRegistry({"told": Told}, deployment=True).open(definitions)


def test_a_library_need_not_say_it() -> None:
    assert "a" in ProviderRegistry({"told": Told}).open(props(a="told"))


@pytest.mark.parametrize(
    ("short_name", "missing"),
    [("file", "allowed.paths"), ("directory", "allowed.paths"), ("env", "allowlist.pattern")],
)
def test_each_provider_of_the_package_must_be_told_in_a_deployment(short_name: str, missing: str) -> None:
    found = problems(ProviderRegistry(deployment=True), props(a=short_name))
    assert found[0].startswith(f"config.providers.a.param.{missing} is missing")


def test_what_was_opened_is_closed_once_when_a_later_one_fails() -> None:
    good, bad = InMemoryConfigProvider(), Failing(ProviderDefinitionError("conn_id is missing"))
    problems(ProviderRegistry(giving(good=good, bad=bad)), props(a="good", b="bad", c="good"))
    assert (good.closed, bad.closed) == (2, 1)  # good was made for two names


def test_what_was_made_is_closed_when_a_later_class_is_unknown() -> None:
    made = InMemoryConfigProvider()
    problems(ProviderRegistry(giving(made=made)), props(a="made", b="unknown"))
    assert (made.configs, made.closed) == (None, 1)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ProviderUnavailableError("the server is down")])
def test_what_was_opened_is_closed_when_the_error_goes_through(error: BaseException) -> None:
    good = InMemoryConfigProvider()
    with pytest.raises(type(error)):
        ProviderRegistry(giving(good=good) | {"bad": lambda: Failing(error)}).open(props(a="good", b="bad"))
    assert good.closed == 1


def test_what_is_missing_and_what_is_wrong_are_told_at_once() -> None:
    definition = {**props(d="directory"), "config.providers.d.param.max.bytes": "many"}

    missing, wrong = problems(ProviderRegistry(deployment=True), definition)

    assert "allowed.paths is missing" in missing
    assert "max.bytes" in wrong


def test_those_that_can_be_opened_are_opened_beside_the_problems_of_the_others(tmp_path: Path) -> None:
    definition = {**props(d="directory", x="nosuch"), "config.providers.d.param.allowed.paths": str(tmp_path)}

    providers, problems = ProviderRegistry(deployment=True).open_each(definition)

    with providers:
        assert list(providers) == ["d"]
    assert ["config.providers.x.class" in problem for problem in problems] == [True]


def test_an_interrupt_closes_those_that_were_opened_before() -> None:
    before = InMemoryConfigProvider()
    registry = ProviderRegistry(giving(good=before, bad=Failing(KeyboardInterrupt())))

    with pytest.raises(KeyboardInterrupt):
        registry.open_each(props(a="good", b="bad"))
    assert before.closed == 1


def test_wrong_parameters_are_told_for_every_provider() -> None:
    bad = {
        "one": lambda: Failing(ProviderDefinitionError("x.", "y.")),
        "two": lambda: Failing(ProviderDefinitionError("z.")),
        "three": lambda: Failing(ConfigException("of a ConfigDef.")),
    }
    assert problems(ProviderRegistry(bad), props(a="one", b="two", c="three")) == (
        "Provider a: x.",
        "Provider a: y.",
        "Provider b: z.",
        "Provider c: of a ConfigDef.",
    )


def test_the_error_of_a_configdef_names_the_provider() -> None:
    registry = ProviderRegistry({"odd": lambda: Failing(ConfigException("cache.ms is no number."))})
    assert problems(registry, props(a="odd")) == ("Provider a: cache.ms is no number.",)


def test_each_problem_that_a_configdef_finds_says_where_to_correct_it() -> None:
    class Defined(InMemoryConfigProvider):
        def configure(self, configs: Mapping[str, Any]) -> None:
            options = ConfigDef().define("file", ConfigType.STRING)
            options.define("ttl.ms", ConfigType.LONG, 60_000, Range.at_least(1_000)).parse(configs)

    given = props(a="odd") | {"config.providers.a.param.ttl.ms": "1"}
    assert problems(ProviderRegistry({"odd": Defined}), given) == tuple(
        f"Provider a: {problem}. Correct it in the definition."
        for problem in (
            'Missing required configuration "file" which has no default value',
            "Invalid value for configuration ttl.ms: Value must be at least 1000",
        )
    )


def test_a_problem_that_is_no_sentence_is_shown_as_the_provider_has_raised_it() -> None:
    registry = ProviderRegistry({"odd": lambda: Failing(ProviderDefinitionError("a.b is odd"))})
    assert problems(registry, props(a="odd")) == ("Provider a: a.b is odd",)


def test_a_provider_that_cannot_be_configured_and_does_not_say_why_is_not_opened() -> None:
    registry = ProviderRegistry({"mute": lambda: Failing(ProviderDefinitionError())})
    assert problems(registry, props(a="mute")) == ("Provider a: it does not say why.",)


def test_of_an_error_that_is_not_ours_only_the_type_and_the_place_are_told() -> None:
    error = ValueError("token hunter2 refused")
    registry = ProviderRegistry({"bad": lambda: Failing(error)})
    assert problems(registry, props(a="bad")) == (
        f"Provider a: it cannot be configured (ValueError in {raised_at(error)}).",
    )


def test_a_provider_without_a_required_parameter_fails_only_because_of_that() -> None:
    class Demanding(InMemoryConfigProvider):
        required_params: ClassVar[Mapping[str, str]] = {"file": "/etc/acme.json"}

        def configure(self, configs: Mapping[str, Any]) -> None:
            self.file = configs["file"]

    registry = ProviderRegistry({"acme": Demanding}, deployment=True)
    assert problems(registry, props(a="acme")) == (
        "config.providers.a.param.file is missing: it says what the provider may read. Add it, as in "
        "config.providers.a.param.file=/etc/acme.json",
    )


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        pytest.param("collections:NoSuch", "cannot be imported (AttributeError).", id="import"),
        pytest.param("collections:OrderedDict", "does not extend ConfigProvider. Name a class that ", id="class"),
    ],
)
def test_what_an_installed_short_name_means_is_told_if_it_cannot_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, problem: str
) -> None:
    install(tmp_path, distribution="acme-config", entry=f"acme = {target}")
    monkeypatch.syspath_prepend(tmp_path)

    (found,) = problems(ProviderRegistry(), props(a="acme"))

    assert found.startswith(f"config.providers.a.class: acme, which is {target} of acme-config, {problem}")


def test_of_an_error_that_is_ours_what_caused_it_is_cut_off() -> None:
    error = ProviderUnavailableError("the server is down")
    error.__cause__ = ValueError("token hunter2 refused")
    error.__context__ = ValueError("token hunter2 refused")
    with pytest.raises(ProviderUnavailableError) as caught:
        ProviderRegistry({"bad": lambda: Failing(error)}).open(props(a="bad"))
    assert caught.value.__cause__ is caught.value.__context__ is None


def test_a_constructor_that_fails_is_told_by_type_and_place() -> None:
    error = OSError("hunter2")

    def make() -> ConfigProvider:
        raise error

    assert problems(ProviderRegistry({"bad": make}), props(a="bad")) == (
        f"config.providers.a.class: bad cannot be made (OSError in {raised_at(error)}).",
    )


def test_leaving_the_context_closes_every_provider() -> None:
    provider = InMemoryConfigProvider()
    with ConfiguredProviders({"a": provider, "b": provider}):
        assert provider.closed == 0
    assert provider.closed == 2


def test_closing_twice_closes_once() -> None:
    provider = InMemoryConfigProvider()
    providers = ConfiguredProviders({"a": provider})
    providers.close()
    providers.close()
    assert provider.closed == 1


def test_one_that_fails_to_close_keeps_no_other_open(caplog: pytest.LogCaptureFixture) -> None:
    other = InMemoryConfigProvider()
    with caplog.at_level(logging.WARNING):
        ConfiguredProviders({"bad": Failing(ValueError("hunter2")), "other": other}).close()
    assert other.closed == 1
    assert caplog.messages == ["Provider bad could not be closed: ValueError"]


def test_an_error_in_the_context_is_not_swallowed() -> None:
    with pytest.raises(ProviderLookupError), ConfiguredProviders({}):
        raise ProviderLookupError("no answer")


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("config.providers", True),
        ("config.providers.file.class", True),
        ("config.providers.", True),
        ("config.providersx", False),
        ("spark.config.providers", False),
        ("config", False),
    ],
)
def test_keys_that_define_providers_are_reserved(key: str, expected: bool) -> None:
    assert is_reserved(key) is expected


def install(site: Path, *, distribution: str, entry: str) -> None:
    info = site / f"{distribution.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[airflow_config_providers.providers]\n{entry}\n")


def test_an_installed_distribution_adds_a_short_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, distribution="acme-config", entry=f"acme = {DOTTED.replace('.In', ':In')}")
    monkeypatch.syspath_prepend(tmp_path)
    assert type(ProviderRegistry().open(props(a="acme"))["a"]) is InMemoryConfigProvider


def test_a_short_name_of_two_distributions_is_an_error_that_names_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, distribution="acme-config", entry=f"file = {DOTTED.replace('.In', ':In')}")
    monkeypatch.syspath_prepend(tmp_path)
    [problem] = problems(ProviderRegistry(), props(a="file"))
    assert problem == (
        "config.providers.a.class: file is registered by acme-config and airflow-config-providers. "
        "Uninstall all but one."
    )


def test_the_file_provider_is_opened_end_to_end(tmp_path: Path) -> None:
    (tmp_path / "jobs.properties").write_text("db.password=hunter2")
    definitions = props(files="file") | {"config.providers.files.param.allowed.paths": str(tmp_path)}
    with ProviderRegistry(deployment=True).open(definitions) as providers:
        assert isinstance(providers["files"], FileConfigProvider)
        assert providers["files"].get(f"{tmp_path}/jobs.properties").data == {"db.password": "hunter2"}


def test_importing_the_registry_imports_neither_airflow_nor_metadata() -> None:
    slow = {"airflow", "importlib.metadata", "javaproperties"}
    code = f"import sys, airflow_config_providers.core.registry; print({slow} & {{*sys.modules}})"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "set()\n"


def ending(method: str) -> type[InMemoryConfigProvider]:
    """Return a provider whose ``method`` ends the process."""

    def end(*_: object) -> None:
        sys.exit(3)

    return type("Ending", (InMemoryConfigProvider,), {method: end})


@pytest.mark.parametrize("method", ["__init__", "configure"])
def test_a_provider_that_ends_the_process_while_it_is_opened_is_an_error_of_its_definition(method: str) -> None:
    with pytest.raises(ProviderDefinitionError, match="SystemExit"):
        ProviderRegistry({"bad": ending(method)}).open(props(a="bad"))


def test_a_module_that_ends_the_process_while_it_is_imported_is_an_error_of_its_definition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ending_provider.py").write_text("raise SystemExit(3)")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ProviderDefinitionError, match=r"cannot be imported \(SystemExit in "):
        ProviderRegistry(allowed_classes=["ending_provider.P"]).open(props(a="ending_provider.P"))


def test_a_provider_that_ends_the_process_refuses_nothing_and_tells_nothing_beforehand() -> None:
    asked = ConfigVariable("a", "path", "key")
    definitions = props(a="bad")
    (definition,), _ = read_definitions(definitions)

    assert ProviderRegistry({"bad": ending("require_allowed")}).refusals(definitions, [asked]) == {}
    assert ProviderRegistry({"bad": ending("form_problem")}).form_problem(definition, asked) == ""
    telling = ProviderRegistry({"bad": ending("environment_names")}).on_demand(definitions)
    assert telling.environment_names() == frozenset()


def test_names_of_variables_that_a_provider_gave_before_an_error_count() -> None:
    class Failing(InMemoryConfigProvider):
        def environment_names(self, params: Mapping[str, Any]) -> Iterator[str]:
            yield "SECRET_A"
            raise OSError

    assert ProviderRegistry({"bad": Failing}).on_demand(props(a="bad")).environment_names() == {"SECRET_A"}
