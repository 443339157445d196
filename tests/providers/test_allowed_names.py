from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_config_providers.exceptions import AccessDeniedError, ProviderDefinitionError
from airflow_config_providers.providers.allowed_names import AllowedNames


def is_allowed(pattern: str | None, name: str, *, has_teams: bool = False, is_sensitive: bool = False) -> bool:
    allowed = AllowedNames.of({} if pattern is None else {"allowlist.pattern": pattern}, has_teams=has_teams)
    try:
        allowed.require("variable", name, is_sensitive=is_sensitive)
    except AccessDeniedError:
        return False
    return True


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        pytest.param(None, "anything", True, id="without a pattern"),
        pytest.param("spark_.*", "spark_db", True, id="prefix"),
        pytest.param("spark_.*", "my_spark_db", False, id="the whole name must match"),
        pytest.param("spark_.*", "SPARK_DB", False, id="case counts"),
        pytest.param("a|b", "b", True, id="alternatives"),
        pytest.param("a|b", "ab", False, id="neither"),
        pytest.param("", "a", False, id="an empty pattern allows nothing"),
        pytest.param(".*", "apps/db", True, id="a slash"),
    ],
)
def test_the_pattern_decides(pattern: str | None, name: str, expected: bool) -> None:
    assert is_allowed(pattern, name) is expected


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../x", "a/../b", "a/..", "./a", "a?b", "a#b", "a%2e", "a\\b", "a\nb", "a\x00b", "\ud800"],
    ids=ascii,
)
def test_a_name_that_could_be_taken_for_another_is_refused(name: str) -> None:
    assert not is_allowed("(?s).*", name)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [("fernet_key", True), ("a|fernet_key|b", True), (".*", False), ("fernet_.*", False), ("(fernet_key)", False)],
)
def test_a_sensitive_name_must_be_written_out(pattern: str, expected: bool) -> None:
    assert is_allowed(pattern, "fernet_key", is_sensitive=True) is expected


@pytest.mark.parametrize("name", ["_b___key", "b--key", "b/key"])
def test_a_name_that_may_be_of_another_team_must_be_written_out(name: str) -> None:
    assert not is_allowed(".*", name, has_teams=True)
    assert is_allowed(f".*|{name}", name, has_teams=True)
    assert is_allowed(".*", name)


def test_a_name_that_is_of_no_team_is_allowed_by_the_pattern_where_there_are_teams() -> None:
    assert is_allowed("app_.*", "app_key", has_teams=True)


def test_a_pattern_that_is_none_is_refused() -> None:
    problem = r"allowlist\.pattern is not a regular expression .* at position 3"
    with pytest.raises(ProviderDefinitionError, match=problem):
        AllowedNames.of({"allowlist.pattern": "db_("})


def test_the_error_says_what_and_the_way_out() -> None:
    with pytest.raises(AccessDeniedError) as caught:
        AllowedNames.of({"allowlist.pattern": "a"}).require("connection", "b")
    assert str(caught.value) == (
        "The connection 'b' is not allowed by allowlist.pattern of the provider. Correct the reference, or ask "
        "the deployment owner to allow it."
    )


NAMES = st.text() | st.lists(st.sampled_from(["a", ".", "..", "/", "--", "___", *"?#%\\\n*"])).map("".join)


@given(NAMES, st.booleans(), st.booleans())
def test_each_name_is_allowed_or_denied_as_its_parts_say(name: str, has_teams: bool, is_sensitive: bool) -> None:
    is_misleading = not name or bool({".", ".."} & set(name.split("/"))) or bool(set("?#%\\") & set(name))
    is_special = is_sensitive or (has_teams and any(separator in name for separator in ("___", "--", "/")))
    expected = name.isprintable() and not is_misleading and (not is_special or name == ".*")

    assert is_allowed(".*", name, has_teams=has_teams, is_sensitive=is_sensitive) is expected
