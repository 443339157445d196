"""The pages about Vault hold what they say: definitions are read, references resolved, tables compared."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("hvac")

from airflow_config_providers.core import ConfigTransformer, properties
from airflow_config_providers.providers.vault.parameters import AUTH_TYPES, PARAMS, read_settings
from airflow_config_providers.providers.vault.settings import VaultSettings
from tests.docs.pages import ROOT, snippets
from tests.docs.test_reference import rows
from tests.providers.vault.opened import opened

GUIDE = ROOT / "docs" / "how-to" / "vault-provider.md"
LOGIN = ROOT / "docs" / "how-to" / "vault-login.md"
PREFIX = "config.providers.vault.param."
URL = "https://vault.example.com:8200"

POLICY = re.compile(r'path "([^"]+)" \{\s*capabilities = \[([^\]]*)\]\s*\}')


def entries(text: str) -> dict[str, str]:
    return {entry.key: entry.value for entry in properties.parse(text, name="snippet")}


def definitions(page: Path) -> list[dict[str, str]]:
    """The parameters of each snippet that defines the provider or, on the page of logins, a login."""
    found = []
    for snippet in snippets(page):
        if snippet.language == "properties":
            text = entries(snippet.text)
            params = {key.removeprefix(PREFIX): text[key] for key in text if key.startswith(PREFIX)}
            found.append(params or (text if "auth_type" in text else {}))
    return [params for params in found if params]


def settings_of(params: dict[str, str], connection: object | None = None) -> VaultSettings:
    where = {} if {"conn_id", "url"} & params.keys() else {"url": URL}
    signs_in = {"auth_type", "conn_id"} & params.keys()
    how = {} if signs_in else {"token_path": "/run/vault/token"}
    return read_settings({**where, **how, **params}, connections=lambda _: connection, environ={})


def connection(extra: dict[str, Any], **fields: Any) -> SimpleNamespace:
    usual = {"conn_type": "vault", "host": "vault", "port": 8200, "schema": None, "login": None, "password": None}
    return SimpleNamespace(**{**usual, **fields}, extra=json.dumps(extra))


KUBERNETES = connection({"auth_type": "kubernetes", "kubernetes_role": "spark-jobs", "use_tls": True})


@pytest.mark.parametrize("params", definitions(GUIDE) + definitions(LOGIN), ids=",".join)
def test_a_definition_is_read(params: dict[str, str], tmp_path: Path) -> None:
    there = tmp_path / "ca.pem"
    there.touch()
    if "ca_cert" in params:
        params = {**params, "ca_cert": str(there)}

    settings_of(params, KUBERNETES)


def test_every_way_to_sign_in_is_shown() -> None:
    named = set(re.findall(r"`(\w+)`", LOGIN.read_text()))
    shown = {params["auth_type"] for params in definitions(LOGIN) if "auth_type" in params}

    assert named | shown >= AUTH_TYPES, "show each auth_type in docs/how-to/vault-login.md"
    assert shown <= AUTH_TYPES


@pytest.mark.parametrize("snippet", [s for s in snippets(LOGIN) if s.language == "json"], ids=str)
def test_an_extra_is_read(snippet: Any) -> None:
    read = settings_of({"conn_id": "vault_default"}, connection(json.loads(snippet.text)))

    assert read.login.method == json.loads(snippet.text)["auth_type"]  # type: ignore[attr-defined]


def section(name: str) -> str:
    text = (ROOT / "docs" / "reference" / "providers.md").read_text()
    return text.partition(f"\n## {name}\n")[2].partition("\n## ")[0]


def test_the_reference_names_every_parameter_and_no_other() -> None:
    described = re.findall(r"^\| `([a-z_.]+)` \|", section("vault"), flags=re.MULTILINE)

    assert sorted(described) == list(PARAMS)


def test_defaults_are_those_of_the_code() -> None:
    described, defaults = rows("providers.md"), settings_of({})
    expected = {
        "timeout": f"{defaults.timeout:g}",
        "cache.ttl": f"{defaults.cache_ttl}",
        "give_back_after_kill": f"{defaults.gives_back_after_kill}".lower(),
        "trust_env": f"{defaults.trust_env}".lower(),
        "verify": f"{defaults.verify}".lower(),
    }

    assert {name: described[name][1].strip("`") for name in expected} == expected
    path = settings_of({"auth_type": "kubernetes", "kubernetes_role": "r"}).login.proof.path  # type: ignore[attr-defined]
    assert described["kubernetes_jwt_path"][1] == f"`{path}`"
    for auth_type in AUTH_TYPES:
        assert f"`{auth_type}`" in described["auth_type"][0], "name it in the row of auth_type in providers.md"


def policies(page: Path) -> dict[str, dict[str, list[str]]]:
    """File name -> path -> capabilities."""
    return {
        snippet.title: {
            path: [word.strip(' "') for word in words.split(",")] for path, words in POLICY.findall(snippet.text)
        }
        for snippet in snippets(page)
        if snippet.title.endswith(".hcl")
    }


def references(page: Path) -> dict[str, str]:
    """The references of the page, numbered."""
    found = [value for s in snippets(page) if s.language == "properties" for value in entries(s.text).values()]
    return {str(number): value for number, value in enumerate(found) if value.startswith("${vault:")}


def test_the_policy_of_the_page_is_enough_for_its_references(vault: Any) -> None:
    vault.put("apps/reports/db", {"user": "report", "password": "hunter2"})
    vault.put("apps/reports/api", {"credentials": {"token": "t0ken"}})
    creds = vault.creds().replace("/app", "/reports")
    role = {"db_name": "memory", "creation_statements": "CREATE", "default_ttl": 3600, "max_ttl": 86400}
    vault.admin.write_data(f"{vault.database}/roles/reports", data=role)
    names = {"kv/": f"{vault.kv2}/", "database/creds/reports": creds}

    def here(text: str) -> str:
        for name, real in names.items():
            text = text.replace(name, real)
        return text

    (granted,) = (paths for name, paths in policies(GUIDE).items() if name == "spark-jobs.hcl")
    login = vault.approle({here(path): words for path, words in granted.items()})
    asked = {number: here(reference) for number, reference in references(GUIDE).items()}
    with opened(vault, role=login, mount_point=vault.kv2) as provider:
        result = ConfigTransformer({"vault": provider}).transform(asked)

    assert len(asked) == 7
    assert result.unresolved == {}
    assert {"report", "hunter2", "t0ken"} < set(result.data.values())
    refused = [request.path for request in vault.requests() if request.status == 403]
    assert [path for path in refused if "/data/" not in path] == []  # what is no key-value engine is found out
    assert vault.live_tokens() == frozenset()


def test_the_policy_of_teams_names_one_path_each() -> None:
    (path,) = policies(GUIDE)["teams.hcl"]

    assert path.startswith("kv/data/teams/{{identity.entity.aliases.")


def test_errors_of_the_guide_are_those_of_the_code() -> None:
    """What the table quotes is what the errors say."""
    code = "".join(file.read_text() for file in (ROOT / "airflow_config_providers/providers/vault").rglob("*.py"))
    code += "".join(
        (ROOT / "airflow_config_providers/core" / name).read_text() for name in ("lookup.py", "resolver.py")
    )
    quoted = re.findall(r"`([^`]*)`", "".join(re.findall(r"^\| (`.*?) \|", GUIDE.read_text(), flags=re.MULTILINE)))
    said = [part for text in quoted for part in re.split(r"'[^']*'|\.\.\.|\(|\d+|\)", text)]

    assert len(quoted) >= 10
    assert [part for part in said if re.sub(r"\s+", " ", part).strip() not in re.sub(r'"\s*\n\s*f?"', "", code)] == []
