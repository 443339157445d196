from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from airflow_config_providers.core.on_demand import ProvidersOnDemand
from airflow_config_providers.core.provider import ConfigProvider
from airflow_config_providers.core.registry import ProviderRegistry
from airflow_config_providers.exceptions import ProviderDefinitionError, ProviderLookupError, ProviderUnavailableError
from airflow_config_providers.testing import InMemoryConfigProvider
from tests.limits import LONGEST


class Shop:
    """Opens providers and remembers them; those whose name is ``broken`` have a wrong definition."""

    def __init__(self, on_open: Callable[[], object] = lambda: None) -> None:
        self.opened: list[tuple[str, InMemoryConfigProvider]] = []
        self._on_open = on_open

    def __call__(self, name: str) -> ConfigProvider:
        self._on_open()
        if name.startswith("broken"):
            raise ProviderDefinitionError(f"{name} has no url.")
        provider = InMemoryConfigProvider()
        self.opened.append((name, provider))
        return provider

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.opened]


def test_only_the_providers_that_are_referred_to_are_opened() -> None:
    shop = Shop()
    ProvidersOnDemand(["a", "b", "broken"], shop).open_for(["plain", "x ${b:k} ${spark.y} ${env:HOME}"])

    assert shop.names == ["b"]


def test_a_provider_is_opened_once() -> None:
    shop = Shop()
    providers = ProvidersOnDemand(["a"], shop)
    providers.open_for(["${a:x}"])
    providers.open_for(["${a:y}"])

    assert providers["a"] is providers["a"] is shop.opened[0][1]
    assert shop.names == ["a"]


def test_all_that_is_wrong_with_those_that_are_referred_to_is_told() -> None:
    providers = ProvidersOnDemand(["broken one", "broken two", "broken three"], Shop())
    with pytest.raises(ProviderDefinitionError) as caught:
        providers.open_for(["${broken three:x}${broken one:x}"])

    assert caught.value.problems == ("broken one has no url.", "broken three has no url.")


def test_its_names_are_told_without_opening_any() -> None:
    shop = Shop()
    providers = ProvidersOnDemand(["a", "broken"], shop)

    assert (list(providers), len(providers), "broken" in providers, "c" in providers) == (
        ["a", "broken"],
        2,
        True,
        False,
    )
    assert (providers.get("c"), providers.is_open("a"), shop.names) == (None, False, [])


def test_closing_closes_those_that_are_open_once() -> None:
    shop = Shop()
    with ProvidersOnDemand(["a", "b"], shop) as providers:
        assert providers["a"]
    providers.close()

    assert [(name, provider.closed) for name, provider in shop.opened] == [("a", 1)]


def test_once_closed_it_opens_no_more_and_leaves_nothing_open() -> None:
    shop = Shop()
    providers = ProvidersOnDemand(["a"], shop)
    providers.close()

    with pytest.raises(ProviderLookupError, match="have been closed"):
        providers.open_for(["${a:x}"])
    assert [provider.closed for _, provider in shop.opened] == [1]


def test_of_two_that_threads_open_at_once_one_is_kept_and_the_other_closed() -> None:
    both = threading.Barrier(2, timeout=LONGEST)
    shop = Shop(on_open=both.wait)
    providers = ProvidersOnDemand(["a"], shop)
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(providers.__getitem__, ["a", "a"])

    assert first is second
    assert sorted(provider.closed for _, provider in shop.opened) == [0, 1]


def definitions(**classes: str) -> dict[str, str]:
    listed = {"config.providers": ",".join(classes)}
    return listed | {f"config.providers.{name}.class": value for name, value in classes.items()}


def test_the_registry_tells_what_is_wrong_with_a_definition_to_who_needs_it() -> None:
    props = definitions(good="memory", unknown="vualt", misspelt="memory") | {"config.providers.misspelt.url": "x"}
    providers = ProviderRegistry({"memory": InMemoryConfigProvider}).on_demand(props)
    providers.open_for(["${good:x}"])

    with pytest.raises(ProviderDefinitionError) as caught:
        providers.open_for(["${good:x} ${unknown:x} ${misspelt:x}"])
    assert [problem.partition(" ")[0] for problem in caught.value.problems] == [
        "config.providers.unknown.class:",
        "config.providers.misspelt.url",
    ]


def test_a_name_that_is_listed_twice_is_wrong_for_its_own_references_alone() -> None:
    props = definitions(a="memory", b="memory") | {"config.providers": "a, b, a"}
    providers = ProviderRegistry({"memory": InMemoryConfigProvider}).on_demand(props)
    providers.open_for(["${b:x}"])

    with pytest.raises(ProviderDefinitionError, match="lists a 2 times"):
        providers.open_for(["${a:x}"])


def test_a_list_that_is_no_text_is_wrong_for_all() -> None:
    with pytest.raises(ProviderDefinitionError, match="is not a string"):
        ProviderRegistry({}).on_demand({"config.providers": ["a"]})


def test_what_a_deployment_requires_is_required_of_those_that_are_opened() -> None:
    providers = ProviderRegistry(deployment=True).on_demand(definitions(files="file", env="env"))

    with pytest.raises(ProviderDefinitionError) as caught:
        providers.open_for(["${env:X}"])
    assert [problem.partition(" ")[0] for problem in caught.value.problems] == [
        "config.providers.env.param.allowlist.pattern"
    ]


class ReadsEnvironment(InMemoryConfigProvider):
    """Tells its parameter ``names``."""

    def environment_names(self, configs: Mapping[str, Any]) -> list[str]:
        return str(configs["names"]).split()


def test_the_environment_variables_of_all_are_told_and_none_is_configured() -> None:
    made: list[InMemoryConfigProvider] = []

    def made_of(kind: type[InMemoryConfigProvider]) -> Callable[[], ConfigProvider]:
        return lambda: made.append(kind()) or made[-1]

    props = definitions(one="env", two="env", other="memory") | {
        "config.providers.one.param.names": "A B",
        "config.providers.two.param.names": "C",
    }
    kinds = {"env": made_of(ReadsEnvironment), "memory": made_of(InMemoryConfigProvider)}
    providers = ProviderRegistry(kinds).on_demand(props)

    assert providers.environment_names() == {"A", "B", "C"}
    assert all(provider.configs is None for provider in made)
    assert not any(map(providers.is_open, providers))


def test_a_provider_without_names_of_its_own_is_not_made_to_be_asked() -> None:
    class Unmakeable(InMemoryConfigProvider):
        def __init__(self) -> None:
            threading.Event().wait()  # never ends

    providers = ProviderRegistry({"slow": Unmakeable}).on_demand(definitions(a="slow"))

    assert providers.environment_names() == frozenset()


def test_a_provider_that_is_open_is_asked_and_not_made_again() -> None:
    made: list[ConfigProvider] = []

    class Counted(ReadsEnvironment):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

    props = definitions(a="env") | {"config.providers.a.param.names": "A"}
    providers = ProviderRegistry({"env": Counted}).on_demand(props)
    opened = providers["a"]

    assert providers.environment_names() == {"A"}
    assert made == [opened]


class NeverMade(ReadsEnvironment):
    """Its constructor does not return."""

    def __init__(self) -> None:
        threading.Event().wait()


def test_a_provider_whose_constructor_never_returns_is_an_error_when_the_time_is_up() -> None:
    providers = ProviderRegistry({"slow": NeverMade, "env": ReadsEnvironment}).on_demand(definitions(a="slow", b="env"))

    with pytest.raises(ProviderUnavailableError, match=r"^Provider 'a' did not name .* within 0\.1 seconds") as caught:
        providers.environment_names(timeout=0.1)
    assert "Processes of the job must not inherit them" in str(caught.value)


def test_a_module_whose_import_never_ends_is_an_error_when_the_time_is_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "endless_provider.py").write_text("import threading\nthreading.Event().wait()")
    monkeypatch.syspath_prepend(tmp_path)
    registry = ProviderRegistry(allowed_classes=["endless_provider.P"])

    with pytest.raises(ProviderUnavailableError, match="Provider 'a' did not name"):
        registry.on_demand(definitions(a="endless_provider.P")).environment_names(timeout=0.1)


def test_without_a_thread_for_a_provider_that_could_hang_it_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    providers = ProviderRegistry({"slow": NeverMade}).on_demand(definitions(a="slow"))

    with pytest.raises(ProviderUnavailableError, match="No more threads can be started here"):
        providers.environment_names(timeout=LONGEST)


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param({"class": "env", "param.allowlist.pattern": "("}, id="a pattern that is none"),
        pytest.param({"class": "env"}, id="no pattern, so that it is never opened"),
        pytest.param({"class": "file", "param.allowed.paths": "/nonexistent"}, id="a path that is not there"),
        pytest.param({"class": "vault"}, id="no address"),
        pytest.param({"class": "vualt"}, id="an unknown class"),
        pytest.param({"class": "not.allowed"}, id="a class that is not allowed"),
        pytest.param({}, id="no class"),
    ],
)
def test_a_definition_that_is_wrong_tells_no_environment_variables(broken: dict[str, str], monkeypatch: Any) -> None:
    monkeypatch.setenv("JOB_APP_PASSWORD", "x")
    props = definitions(good="env") | {"config.providers": "broken, good"}
    props |= {"config.providers.good.param.allowlist.pattern": "JOB_APP_.*"}
    props |= {f"config.providers.broken.{key}": value for key, value in broken.items()}

    assert ProviderRegistry(deployment=True).on_demand(props).environment_names() == {"JOB_APP_PASSWORD"}


def test_all_are_opened_where_all_are_asked_for() -> None:
    """As Kafka's AbstractConfig does, whose unknown classes are wrong even if no value needs them."""
    with pytest.raises(ProviderDefinitionError, match="there is no provider 'vualt'"):
        ProviderRegistry({"memory": InMemoryConfigProvider}).open(definitions(good="memory", unknown="vualt"))
