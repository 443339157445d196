"""Mistakes in files of policies: all are reported at once, and the schema refuses those that reading would refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator

from airflow_config_providers.core.policy import Enforcement, Moment
from airflow_config_providers.core.resource import ResourceType
from airflow_config_providers.dynamic.policies import PolicySet
from airflow_config_providers.dynamic.policies.classes import READY
from airflow_config_providers.dynamic.policies.policy_file import _FIELDS, policy_schema
from airflow_config_providers.exceptions import ConfigException

A = "- name: a\n  class: forbidden_keys\n  params: {keys: spark.jars}\n"

GOOD = {
    "a class": A,
    "one that denies": f"{A}  enforcement: deny\n",
    "one that only warns": f"{A}  enforcement: warn\n",
    "all matches": f"{A}  match: {{resources: [dag, task], dags: [a, 'b*'], tasks: '*', at: render}}\n",
    "none": "[]",
    "all parameters of references": "- name: a\n  class: allowed_references\n  params:\n    allow:\n"
    "    - {providers: vault, paths: [a/*], keys: x, dags: [b]}\n    - {providers: [env]}\n",
    "one rule of references": "- name: a\n  class: allowed_references\n  params: {allow: {providers: vault}}\n",
    "bounds": "- name: a\n  class: bounds\n  params:\n    spark.executor.memory: {max: 4g, min: 1, references: true}\n"
    "    spark.app.size: {max: 8, unit: m}\n",
    "cel": "- name: a\n  class: cel\n  params: {expression: 'true', message: x}\n",
    "code loading keys": "- name: a\n  class: code_loading_keys\n  params: {also: x, except: [y]}\n",
    "no parameters": "- name: a\n  class: dynamic_allocation\n",
    "if then": "- name: a\n  class: if_then\n  params: {if: {a: 'true'}, then: [{b: 1}, {c: null}]}\n",
    "immutable keys": "- name: a\n  class: immutable_keys\n  params: {keys: [a], except: b, deletable: true}\n",
    "references only": "- name: a\n  class: references_only\n  params: {keys: [a*], except: []}\n",
    "required keys": "- name: a\n  class: required_keys\n  params: {keys: spark.app.owner}\n",
}

BAD = {
    "no name": "- class: forbidden_keys\n  params: {keys: x}",
    "an unknown field": f"{A}  clas: x\n",
    "neither expression nor class": "- name: a",
    "both": f"{A}  expression: 'true'\n",
    "a message without an expression": f"{A}  message: x\n",
    "params without a class": "- name: a\n  expression: 'true'\n  params: {a: 1}",
    "a class that does not exist": "- name: a\n  class: forbidden_key",
    "a resource that does not exist": f"{A}  match: {{resources: tasks}}\n",
    "a moment that does not exist": f"{A}  match: {{at: [alter, run]}}\n",
    "an unknown field of match": f"{A}  match: {{dag: x}}\n",
    "an enforcement that does not exist": f"{A}  enforcement: advisory\n",
    "an enforcement that is empty": f"{A}  enforcement:\n",
    "a match that is a list": f"{A}  match: [dag]\n",
    "params that are a list": "- name: a\n  class: forbidden_keys\n  params: [keys]",
    "no params where some are required": "- name: a\n  class: forbidden_keys",
    "a parameter that does not exist": "- name: a\n  class: immutable_keys\n  params: {keys: x, deleteable: true}",
    "a parameter that is missing": "- name: a\n  class: required_keys\n  params: {}",
    "a parameter of another type": "- name: a\n  class: immutable_keys\n  params: {keys: x, deletable: 'yes'}",
    "an empty list": "- name: a\n  class: required_keys\n  params: {keys: []}",
    "no bounds": "- name: a\n  class: bounds",
    "bounds without a limit": "- name: a\n  class: bounds\n  params: {spark.a: {unit: m}}",
    "an unknown field of a rule": "- name: a\n  class: allowed_references\n  params: {allow: {provider: vault}}",
    "two conditions": "- name: a\n  class: if_then\n  params: {if: [{a: 1}, {b: 1}], then: {c: 1}}",
    "parameters where there are none": "- name: a\n  class: dynamic_allocation\n  params: {a: 1}",
}


@pytest.fixture(scope="module")
def validator() -> Draft7Validator:
    schema = policy_schema()
    Draft7Validator.check_schema(schema)
    return Draft7Validator(schema)


def file_of(text: str) -> str:
    return f"policies:\n{text}" if text != "[]" else "policies: []"


@pytest.mark.parametrize("text", GOOD.values(), ids=GOOD.keys())
def test_policies_that_load_are_accepted(validator: Draft7Validator, tmp_path: Path, text: str) -> None:
    path = tmp_path / "policies.yaml"
    path.write_text(file_of(text))

    PolicySet.open(str(path)).close()
    assert [error.message for error in validator.iter_errors(yaml.safe_load(file_of(text)))] == []


@pytest.mark.parametrize("text", BAD.values(), ids=BAD.keys())
def test_a_mistake_is_refused_by_the_schema_and_by_the_package(
    validator: Draft7Validator, tmp_path: Path, text: str
) -> None:
    path = tmp_path / "policies.yaml"
    path.write_text(file_of(text))

    assert not validator.is_valid(yaml.safe_load(file_of(text)))
    with pytest.raises(ConfigException):
        PolicySet.open(str(path))


@pytest.mark.parametrize("document", [{}, {"policies": {}}, {"policies": [], "x": 1}, []], ids=str)
def test_a_file_of_another_form_is_refused(validator: Draft7Validator, document: Any) -> None:
    assert not validator.is_valid(document)


def test_every_field_and_every_ready_class_is_offered() -> None:
    policy = policy_schema()["properties"]["policies"]["items"]["properties"]

    assert sorted(policy) == sorted(_FIELDS)
    assert set(READY) <= set(policy["class"]["anyOf"][0]["enum"])


def test_the_words_of_a_policy_are_those_that_the_package_knows() -> None:
    policy = policy_schema()["properties"]["policies"]["items"]["properties"]
    match = policy["match"]["properties"]

    assert policy["enforcement"]["enum"] == [one.value for one in Enforcement]
    assert match["resources"]["anyOf"][0]["enum"] == [kind.name.lower() for kind in ResourceType]
    assert match["at"]["anyOf"][0]["enum"] == [moment.value for moment in Moment]


def test_the_parameters_of_every_ready_class_are_known() -> None:
    policy = policy_schema()["properties"]["policies"]["items"]

    known = {one["if"]["properties"]["class"]["const"] for one in policy["allOf"]}
    assert known == set(READY), "describe the parameters in dynamic/policies/policy_schema.yaml"


WRONG = """\
policies:
- name: a
  mach: {at: [render]}
  class: forbiden_keys
- name: b
  match: {at: [rendr]}
  class: bounds
  class: bounds
  params: {spark.executor.memory: {maxx: 16g}}
- name: c
  when: 'not valid ('
  match: 3
  class: required_keys
  params: {keys: []}
- name: c
  expression: 'true'
  params: {keys: []}
- expression: '1'
"""

MISTAKES = [
    "policies.yaml:8: 'class' appears twice",
    "'mach' is an unknown field, did you mean 'match'?",
    "class 'forbiden_keys' is unknown, did you mean 'forbidden_keys'?",
    "'rendr' is not one of",
    "'maxx' is unknown, did you mean 'max'?",
    "policy 'c': when: ",
    "policy 'c': match is not a mapping",
    "'keys'",
    "the policy in line 10 has the same name",
    "params require a class",
    "the policy has no name",
    "it returns int",
]


@pytest.fixture
def told(tmp_path):
    (tmp_path / "policies.yaml").write_text(WRONG)
    with pytest.raises(ConfigException) as caught:
        PolicySet.open(str(tmp_path / "policies.yaml"))
    return caught.value.problems


@pytest.mark.parametrize("mistake", MISTAKES)
def test_every_mistake_is_told(told, mistake):
    assert [problem for problem in told if mistake in problem]


def test_no_mistake_is_told_twice(told):
    assert len(told) == len(set(told))
