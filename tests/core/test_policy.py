from __future__ import annotations

import traceback

import pytest

from airflow_config_providers.core.alter import ConfigResource, ResourceType
from airflow_config_providers.core.policy import (
    AlterConfigPolicy,
    Moment,
    NamedPolicy,
    PolicyViolation,
    RequestMetadata,
    validate_all,
)
from airflow_config_providers.exceptions import ConfigException
from tests.raised import raised_at

DAG = ConfigResource(ResourceType.DAG, "flights")
REQUEST = RequestMetadata(DAG, {"a": "1"}, {"a": "2"})


class Answering(AlterConfigPolicy):
    """Raises what it was given."""

    def __init__(self, error=None):
        self.error = error
        self.asked = 0

    def validate(self, request):
        self.asked += 1
        if self.error:
            raise self.error


def named(*errors):
    return [NamedPolicy(f"p{number}", Answering(error)) for number, error in enumerate(errors, start=1)]


def test_a_change_that_nobody_denies_passes():
    policies = named(None, None)

    validate_all(policies, REQUEST)

    assert [one.policy.asked for one in policies] == [1, 1]


def test_every_policy_that_denies_is_named_with_every_reason():
    with pytest.raises(PolicyViolation) as error:
        validate_all(named(PolicyViolation("one.", "two."), None, PolicyViolation("three.")), REQUEST)

    assert error.value.problems == (
        "Policy 'p1' denies the change of DAG 'flights': one.",
        "Policy 'p1' denies the change of DAG 'flights': two.",
        "Policy 'p3' denies the change of DAG 'flights': three.",
    )


@pytest.mark.parametrize(
    "failure",
    [KeyError("hunter2"), ConfigException("hunter2"), RecursionError(), NotImplementedError(), SystemExit("hunter2")],
    ids=repr,
)
def test_a_policy_that_fails_denies_and_its_words_are_not_told(failure):
    with pytest.raises(PolicyViolation, match=type(failure).__name__) as error:
        validate_all(named(failure), REQUEST)

    assert "hunter2" not in "".join(traceback.format_exception(error.value))
    assert error.value.__context__ is None


def test_a_policy_that_fails_says_in_which_line():
    failure = KeyError("hunter2")
    with pytest.raises(PolicyViolation) as caught:
        validate_all(named(failure), REQUEST)

    assert f" failed with KeyError in {raised_at(failure)}, so " in str(caught.value)


def test_a_violation_without_a_reason_denies():
    with pytest.raises(PolicyViolation, match=r"'p1' denies .* does not say why"):
        validate_all(named(PolicyViolation()), REQUEST)


def test_without_policies_everything_passes():
    validate_all([], REQUEST)


def test_absent_means_deleted_or_never_set():
    request = RequestMetadata(DAG, {"a": "1", "b": None}, {"a": None, "c": "3"})

    assert dict(request.configs_before) == {"a": "1"}
    assert dict(request.configs_after) == {"c": "3"}
    assert request.changed == ["a", "c"]


def test_a_secret_that_changes_is_a_change_though_it_is_not_shown():
    request = RequestMetadata(DAG, {"k": "[hidden]"}, {"k": "[hidden]"}, hidden_changes=frozenset({"k"}))

    assert request.changed == ["k"]


def test_a_policy_cannot_change_what_the_next_one_sees():
    with pytest.raises(TypeError):
        REQUEST.configs_after["a"] = "3"


def test_a_request_does_not_show_its_values():
    assert "hunter2" not in repr(RequestMetadata(DAG, {"k": "hunter2"}, {"k": "hunter2"}))


def test_at_render_it_is_the_configuration_that_is_denied():
    class Denies(AlterConfigPolicy):
        def validate(self, request):
            raise PolicyViolation("no.")

    with pytest.raises(PolicyViolation, match="'p' denies the configuration of DAG 'flights': no"):
        validate_all([NamedPolicy("p", Denies())], RequestMetadata(DAG, {}, {}, at=Moment.RENDER))
