"""All mistakes of a file of policies are told at once."""

from __future__ import annotations

import pytest

from airflow_config_providers.dynamic.policies import PolicySet
from airflow_config_providers.exceptions import ConfigException

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
