"""The reference pages name all there is."""

from __future__ import annotations

import dataclasses
import inspect
import re
import tomllib
from pathlib import Path

import pytest

from airflow_config_providers import exceptions, providers
from airflow_config_providers.core.policy import RequestMetadata
from airflow_config_providers.core.provider import ConfigData, ConfigProvider
from airflow_config_providers.get_provider_info import get_provider_info
from airflow_config_providers.job.operator_specs import SUPPORTED
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
from airflow_config_providers.providers.env import SENSITIVE_PREFIXES
from airflow_config_providers.secrets.config_providers import ConfigProvidersBackend

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
ERRORS = [
    name
    for name, kind in inspect.getmembers(exceptions, inspect.isclass)
    if issubclass(kind, exceptions.ConfigProvidersError)
]
PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PROVIDERS = PROJECT["entry-points"]["airflow_config_providers.providers"]
OPTIONS = get_provider_info()["config"]["config_providers"]["options"]
PARAMETERS = [
    name
    for name, parameter in inspect.signature(ConfiguredSparkSubmitOperator.__init__).parameters.items()
    if parameter.kind is inspect.Parameter.KEYWORD_ONLY
]


def rows(page: str) -> dict[str, list[str]]:
    """Return the rows of the tables of ``page``: the first cell, without its quotes, and the others."""
    lines = re.findall(r"^\| `([^`]+)` \|(.*)\|$", (REFERENCE / page).read_text(), flags=re.MULTILINE)
    return {first: [cell.strip() for cell in rest.split("|")] for first, rest in lines}


def described_names(page: str, introduction: str) -> set[str]:
    """Return the names with which the codes in the first cells of the table after ``introduction`` begin."""
    table = (REFERENCE / page).read_text().partition(f"{introduction}\n\n")[2].partition("\n\n")[0]
    cells = re.findall(r"^\| (`[^|]+) \|", table, flags=re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`(\w+)", cell)}


@pytest.mark.parametrize(
    ("kind", "page", "introduction"),
    [
        (ConfigProvider, "providers.md", "Only `get` must be written:"),
        (ConfigData, "providers.md", "`get` returns a `ConfigData`:"),
        (RequestMetadata, "policies.md", "whose `validate` gets a `RequestMetadata`:"),
    ],
)
def test_what_an_author_of_a_class_needs_has_a_row(kind: type, page: str, introduction: str) -> None:
    """An author finds each method, and each field with its unit, without the pages that are built from docstrings."""
    methods = {name for name, _ in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}
    fields = {field.name for field in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else set()

    assert (methods | fields) - described_names(page, introduction) == set()


def test_errors_have_a_section_each() -> None:
    """Who meets an error finds what it means and what to do."""
    sections = re.findall(r"^## (\w+)$", (REFERENCE / "errors.md").read_text(), flags=re.MULTILINE)

    assert sorted(sections) == ERRORS, (
        "give each class of exceptions.py a section '## Name' in docs/reference/errors.md"
    )


@pytest.mark.parametrize("name", OPTIONS)
def test_setting_is_described_with_its_default(name: str) -> None:
    """What Airflow shows as the default is what the page says."""
    described = rows("settings.md")

    assert name in described, f"add a row for {name} to docs/reference/settings.md"
    assert described[name][0].strip("`") == (OPTIONS[name]["default"] or "")


def test_no_setting_is_described_that_does_not_exist() -> None:
    """A reader who sets an option of the page sets something."""
    assert rows("settings.md").keys() - OPTIONS.keys() == set()


def test_parameters_of_the_secrets_backend_are_described() -> None:
    """The page lists what ``backend_kwargs`` can contain."""
    parameters = inspect.signature(ConfigProvidersBackend).parameters.values()

    assert rows("secrets-backend.md").keys() >= {one.name for one in parameters if one.kind is not one.VAR_KEYWORD}


def test_parameters_of_the_operator_are_described() -> None:
    """The page lists exactly what the operator adds to the stock one."""
    described = (REFERENCE / "operator.md").read_text()

    assert [name for name in PARAMETERS if f"| `{name}` |" not in described] == []


@pytest.mark.parametrize("name", PROVIDERS)
def test_ready_provider_is_described(name: str) -> None:
    """The page has a section for each short name that ``config.providers.*.class`` can have."""
    sections = re.findall(r"^## (\w+)$", (REFERENCE / "providers.md").read_text(), flags=re.MULTILINE)

    assert name in sections, f"add a section '## {name}' to docs/reference/providers.md"


@pytest.mark.parametrize("name", PROVIDERS)
def test_ready_provider_is_a_public_name(name: str) -> None:
    """Its class can be imported from ``airflow_config_providers.providers``, like all others."""
    kind = PROVIDERS[name].partition(":")[2]

    assert kind in dir(providers), f"add {kind} to providers/__init__.py, in both places"


@pytest.mark.parametrize("path", SUPPORTED)
def test_stock_operator_is_described(path: str) -> None:
    """Who decides about ``apply_to`` finds its family, and where its values go."""
    name, family = path.rpartition(".")[2], SUPPORTED[path].family
    families = (REFERENCE.parent / "how-to" / "without-editing-dags.md").read_text()

    assert re.search(rf"^\| .*`{name}`", (REFERENCE / "operators.md").read_text(), re.MULTILINE), (
        "add it to operators.md"
    )
    assert re.search(rf"^\| `{family}` \| .*`{name}`", families, re.MULTILINE), "add it to without-editing-dags.md"


@pytest.mark.slow
def test_the_request_that_forgets_a_job_is_one_of_airflow_s() -> None:
    """Who has a change apply to a durable task finds the path of the page in Airflow."""
    module = "airflow.api_fastapi.core_api.routes.public.task_state_store"
    routes = pytest.importorskip(module, reason="the task's state came with Airflow 3.3").task_state_store_router.routes
    deleting = {f"/api/v2{route.path.replace(':path', '')}" for route in routes if "DELETE" in route.methods}

    described = re.findall(r"`DELETE (/api/\S+)`", (REFERENCE / "operator.md").read_text())

    assert described
    assert set(described) <= deleting


def test_the_security_review_names_each_library_that_is_installed():
    needed = {re.split("[<>=]", line)[0] for line in PROJECT["dependencies"]}
    (row,) = re.findall(
        r"\| What does it install\? \|.*", (REFERENCE.parent / "explanation/security-review.md").read_text()
    )

    assert {name for name in needed if not name.startswith("apache-airflow")} == set(re.findall("`([^`]+)`", row))


def test_the_page_of_providers_names_each_prefix_of_credentials() -> None:
    text = " ".join((REFERENCE / "providers.md").read_text().split())
    sentence = text[: text.index("is never matched by a wildcard")].rpartition("A name that begins with")[2]

    assert re.findall(r"`(\w+)`", sentence) == list(SENSITIVE_PREFIXES)
