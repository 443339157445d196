from __future__ import annotations

import traceback

import pytest

from airflow_config_providers.core.alter import ConfigResource, ResourceType
from airflow_config_providers.core.policy import (
    AlterConfigPolicy,
    Enforcement,
    Moment,
    NamedPolicy,
    PolicyViolation,
    RequestMetadata,
    judged,
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


def warning(error=None):
    return NamedPolicy("p1", Answering(error), Enforcement.WARN)


def test_a_policy_that_only_warns_stops_nothing():
    validate_all([warning(PolicyViolation("one."))], REQUEST)


def test_a_warning_says_what_would_be_denied_and_that_the_policy_only_warns():
    found = judged([warning(PolicyViolation("one.", "two."))], REQUEST)

    assert [one.text for one in found.warnings] == [
        "Policy 'p1' only warns, and would deny the change of DAG 'flights': one.",
        "Policy 'p1' only warns, and would deny the change of DAG 'flights': two.",
    ]


def test_denials_and_warnings_are_told_apart():
    found = judged([*named(PolicyViolation("one.")), warning(PolicyViolation("two."))], REQUEST)

    assert ([one.reason for one in found.denials], [one.reason for one in found.warnings]) == (["one."], ["two."])


@pytest.mark.parametrize("cannot_say", [False, True])
def test_a_policy_that_was_not_asked_has_not_allowed_the_change(cannot_say):
    class OfOthers(AlterConfigPolicy):
        def validate(self, request):
            pass

        def is_asked(self, request):
            if cannot_say:
                raise PolicyViolation("no.")
            return False

    assert judged([NamedPolicy("of others", OfOthers()), *named(None)], REQUEST).allowed_by == ("p1",)


def test_a_policy_that_warned_has_not_allowed_the_change():
    denying, allowing = named(PolicyViolation("one."), None)

    assert judged([denying, warning(PolicyViolation("two.")), allowing], REQUEST).allowed_by == ("p2",)


@pytest.mark.parametrize("failure", [KeyError("hunter2"), SystemExit("hunter2")], ids=repr)
def test_a_policy_that_only_warns_and_fails_warns_of_that_without_its_words(failure):
    (found,) = judged([warning(failure)], REQUEST).warnings

    assert found.text == (
        f"Policy 'p1' only warns, and failed with {type(failure).__name__} in {raised_at(failure)}, so it would deny "
        "the change of DAG 'flights'. Correct it."
    )


def test_an_enforcement_that_is_no_member_is_refused():
    with pytest.raises(ConfigException, match="Policy 'p': enforcement is no member of Enforcement"):
        NamedPolicy("p", Answering(None), "warn")


@pytest.mark.parametrize("enforcement", Enforcement)
def test_a_policy_whose_subject_fails_has_failed(enforcement):
    class Odd(Answering):
        @property
        def subject(self):
            raise KeyError("hunter2")

    request = RequestMetadata(DAG, {}, {"a": "1"}, at=Moment.RENDER, origins={"a": "conf"})
    found = judged([NamedPolicy("p", Odd(PolicyViolation("no.")), enforcement)], request)

    (one,) = (*found.denials, *found.warnings)
    assert one.reason.startswith("failed with KeyError in ")


def test_a_warning_about_a_run_says_where_the_key_is_set():
    request = RequestMetadata(DAG, {}, {"a": "1"}, at=Moment.RENDER, origins={"a": "DAG_CONFIG, conf"})
    (found,) = judged([warning(PolicyViolation("'a' is odd."))], request).warnings

    assert found.text == (
        "Policy 'p1' only warns, and would deny the configuration of DAG 'flights': 'a' is odd. 'a' is set in "
        "DAG_CONFIG, conf."
    )
