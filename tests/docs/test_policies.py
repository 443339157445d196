"""The policies that the documentation shows are policies that can be used."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft7Validator

pytest.importorskip("cel_expr_python")

from airflow_config_providers.core.alter import ConfigResource, ResourceType
from airflow_config_providers.core.policy import Moment, RequestMetadata
from airflow_config_providers.dynamic import policies
from airflow_config_providers.dynamic.policies import PolicySet
from airflow_config_providers.dynamic.policies.cel import CelExpression, _variables
from airflow_config_providers.dynamic.policies.classes import READY, PolicyClasses
from airflow_config_providers.dynamic.policies.policy_file import _FIELDS, policy_schema
from tests.docs.pages import PAGES, ROOT, snippets
from tests.docs.test_snippets import write_files

REFERENCE = (ROOT / "docs" / "reference" / "policies.md").read_text()
POLICIES = [
    pytest.param(snippet, id=str(snippet))
    for page in PAGES
    for snippet in snippets(page)
    if snippet.language == "yaml" and "policies" in (yaml.safe_load(snippet.text) or {})
]


@pytest.mark.parametrize("snippet", POLICIES)
def test_a_file_of_policies_is_one(snippet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real loader takes it: every class has its parameters, every expression compiles."""
    write_files(snippet.page, tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    own = {file.stem for file in tmp_path.glob("*.py")}
    for name in own:
        sys.modules.pop(name, None)
    importlib.invalidate_caches()
    file = tmp_path / "shown.yaml"
    file.write_text(snippet.text)
    entries = yaml.safe_load(snippet.text)["policies"]
    allowed = [entry["class"] for entry in entries if entry.get("class", "").partition(".")[0] in own]

    with PolicySet.open(str(file), PolicyClasses(allowed)) as opened:
        assert [named.name for named in opened] == [entry["name"] for entry in entries]


@pytest.mark.parametrize("snippet", POLICIES)
def test_the_schema_for_editors_accepts_it(snippet) -> None:
    assert list(Draft7Validator(policy_schema()).iter_errors(yaml.safe_load(snippet.text))) == []


def test_there_are_files_of_policies() -> None:
    """Else the test above looks at nothing."""
    assert len(POLICIES) > 10


def cells(title: str) -> list[str]:
    """Return the first cells of the tables of a section that are code."""
    section = re.split(r"^## ", REFERENCE, flags=re.MULTILINE)
    (text,) = [part for part in section if part.startswith(title)]
    return [
        name
        for row in re.findall(r"^\| (`[^|]+) \|", text, flags=re.MULTILINE)
        for name in re.findall("`([^`]+)`", row)
    ]


def test_every_field_of_the_file_is_described() -> None:
    assert sorted(cells("The file")) == sorted(_FIELDS)


def test_every_variable_is_described() -> None:
    request = RequestMetadata(ConfigResource(ResourceType.DEFAULT), {}, {}, at=Moment.ALTER)

    assert [name for name in cells("Expressions") if "(" not in name] == list(_variables(request))


@pytest.mark.parametrize("call", [name for name in cells("Expressions") if "(" in name])
def test_every_function_can_be_called(call: str) -> None:
    """A text that is read from the configuration, and a unit."""
    CelExpression(call.replace("text", "at").replace("unit", "'m'") + " > 0")


def test_every_ready_policy_is_described() -> None:
    described = re.findall(r"^### `(\w+)`$", REFERENCE, flags=re.MULTILINE)

    assert sorted(described) == sorted(READY), "give each a section '### `name`' in docs/reference/policies.md"


@pytest.mark.parametrize("name", READY)
def test_every_ready_policy_is_a_public_name(name: str) -> None:
    kind = READY[name].rpartition(".")[2]

    assert kind in dir(policies), f"add {kind} to dynamic/policies/__init__.py, in both places"


@pytest.mark.parametrize("name", READY)
def test_every_parameter_of_a_ready_policy_is_described(name: str) -> None:
    """What its class asks its parameters for."""
    _, _, text = REFERENCE.partition(f"### `{name}`\n")
    section = re.split(r"^##", text, flags=re.MULTILINE)[0]
    module, _, policy = READY[name].rpartition(".")
    functions = vars(importlib.import_module(module))
    own = inspect.getsource(functions[policy])
    called = [functions[word] for word in re.findall(r"\b(_\w+)\(", own) if inspect.isfunction(functions.get(word))]
    source = own + "".join(map(inspect.getsource, called))
    asked = set(re.findall(r"""params\.\w+\("([\w ]+)\"""", source))

    assert [parameter for parameter in asked if f"`{parameter}`" not in section] == []
