"""Parameters that a provider does not know."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from airflow_config_providers.core.registry import ENTRY_POINT_GROUP, ProviderRegistry
from airflow_config_providers.exceptions import ProviderDefinitionError
from airflow_config_providers.providers.vault.provider import VaultConfigProvider

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "providers.md"
CLASSES = {entry.name: entry.load() for entry in entry_points(group=ENTRY_POINT_GROUP)}
REQUIRED = {
    name: {p: example.partition("|")[0] for p, example in c.required_params.items()} for name, c in CLASSES.items()
}


def definitions(name, **params):
    prefix = "config.providers.one.param."
    return {
        "config.providers": "one",
        "config.providers.one.class": name,
        **{prefix + param: value for param, value in {**REQUIRED.get(name, {}), **params}.items()},
    }


@pytest.mark.parametrize("name", CLASSES)
def test_a_parameter_that_would_be_ignored_is_refused(name, tmp_path):
    known = CLASSES[name].params
    param = min(known).removesuffix(".")
    misspelt = param[1] + param[0] + param[2:]
    with pytest.raises(ProviderDefinitionError) as caught:
        ProviderRegistry(deployment=True).open(definitions(name, **{misspelt: "x"}))

    assert f"did you mean '{param}'?" in str(caught.value)


def test_all_that_is_wrong_with_parameters_is_told_at_once():
    given = {"config.providers": "f", "config.providers.f.class": "file"}
    misspelt = {"config.providers.f.param.alowed.paths": "/tmp", "config.providers.f.param.max.byte": "1"}
    with pytest.raises(ProviderDefinitionError) as caught:
        ProviderRegistry(deployment=True).open({**given, **misspelt})

    assert [problem.partition(" ")[0] for problem in caught.value.problems] == [
        "config.providers.f.param.alowed.paths",
        "config.providers.f.param.max.byte",
        "config.providers.f.param.allowed.paths",
    ]


def test_a_parameter_that_no_other_resembles_comes_with_all_that_are_known():
    with pytest.raises(ProviderDefinitionError) as caught:
        ProviderRegistry().open(definitions("env", zzz="x"))

    assert caught.value.problems == (
        "config.providers.one.param.zzz would be ignored: env has no such parameter. Known are: allowlist.pattern.",
    )


def test_a_misspelt_parameter_of_a_class_that_checks_them_itself_is_one_problem():
    with pytest.raises(ProviderDefinitionError) as caught:
        ProviderRegistry().open(definitions("vault", adress="x"))

    assert [problem for problem in caught.value.problems if "adress" in problem] == [
        "config.providers.one.param.adress would be ignored: vault has no such parameter, did you mean 'address'?"
    ]


class TeamVault(VaultConfigProvider):
    def configure(self, configs: Mapping[str, Any]) -> None:
        super().configure({name: value for name, value in configs.items() if name != "team"})


def test_a_class_derived_from_vault_can_take_parameters_of_its_own():
    registry = ProviderRegistry({"team_vault": TeamVault})

    with registry.open(definitions("team_vault", url="http://127.0.0.1:1", token="t", team="a")) as providers:
        assert isinstance(providers["one"], TeamVault)


def test_a_class_derived_from_vault_refuses_what_it_does_not_take():
    with pytest.raises(ProviderDefinitionError, match="'adress' is not a parameter of the Vault provider"):
        ProviderRegistry({"team_vault": TeamVault}).open(definitions("team_vault", adress="x", team="a"))


def test_arguments_of_a_backend_are_its_own():
    pytest.importorskip("airflow")
    given = definitions("secrets_backend", backend="airflow.secrets.local_filesystem.LocalFilesystemBackend")
    with ProviderRegistry(deployment=True).open(
        {**given, "config.providers.one.param.backend_kwargs.any": "x"}
    ) as found:
        assert list(found) == ["one"]


def test_parameters_of_classes_that_name_none_are_left_to_them():
    from airflow_config_providers.testing import InMemoryConfigProvider

    given = {"config.providers": "m", "config.providers.m.class": "memory", "config.providers.m.param.any": "x"}
    with ProviderRegistry({"memory": lambda: InMemoryConfigProvider({})}).open(given) as found:
        assert list(found) == ["m"]


@pytest.mark.parametrize("name", [name for name, kind in CLASSES.items() if kind.params is not None])
def test_each_parameter_is_described(name):
    described = set(re.findall(r"^\| `([a-z_.<>]+)` \|", PAGE.read_text(), flags=re.MULTILINE))

    assert {param for param in CLASSES[name].params if not param.endswith(".")} <= described
