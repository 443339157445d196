from __future__ import annotations

from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_config_providers.exceptions import AccessDeniedError, ConfigException, ConfigProvidersError
from airflow_config_providers.providers.vault.path import VaultPath, quoted


@pytest.mark.parametrize(
    ("text", "segments", "version"),
    [
        pytest.param("secret/apps/db", ("secret", "apps", "db"), None, id="names"),
        pytest.param("db", ("db",), None, id="one name"),
        pytest.param("secret/db?version=3", ("secret", "db"), 3, id="version"),
        pytest.param("secret/db?version=0", ("secret", "db"), 0, id="version that means the latest"),
        pytest.param("secret/a b/ü", ("secret", "a b", "ü"), None, id="blank and letter"),
        pytest.param("secret/a#b&c=d;e", ("secret", "a#b&c=d;e"), None, id="marks of URLs"),
        pytest.param("secret/a%20b", ("secret", "a%20b"), None, id="a percent is a percent"),
        pytest.param("secret/sys/auth", ("secret", "sys", "auth"), None, id="names of Vault's own, below a mount"),
        pytest.param("secret/...", ("secret", "..."), None, id="three dots"),
        pytest.param("secret/.env", ("secret", ".env"), None, id="hidden"),
    ],
)
def test_a_path_is_read(text: str, segments: tuple[str, ...], version: int | None) -> None:
    assert VaultPath.parse(text) == VaultPath(segments, version)


@pytest.mark.parametrize("text", ["secret/apps/db", "secret/apps/db?version=3"])
def test_it_shows_itself_as_it_was_written(text: str) -> None:
    assert str(VaultPath.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("", "is empty", id="empty"),
        pytest.param("/secret/db", "empty name", id="slash at the beginning"),
        pytest.param("secret/db/", "empty name", id="slash at the end"),
        pytest.param("secret//db", "empty name", id="two slashes"),
        pytest.param("secret/\ndb", "cannot be printed", id="line feed"),
        pytest.param("secret/db\0", "cannot be printed", id="NUL"),
        pytest.param("secret/\ud800", "cannot be printed", id="surrogate"),
        pytest.param("secret/db?", "has an unknown option", id="question mark alone"),
        pytest.param("secret/db?list=true", "has an unknown option", id="another option"),
        pytest.param("secret/db?version=", "has an unknown option", id="no number"),
        pytest.param("secret/db?version=-1", "has an unknown option", id="negative"),
        pytest.param("secret/db?version=٣", "has an unknown option", id="digit of another script"),
        pytest.param("secret/db?version=3&list=true", "has an unknown option", id="two options"),
        pytest.param("secret/db?version=3?version=4", "has an unknown option", id="twice"),
        pytest.param("secret/db?version=1234567890", "has an unknown option", id="a version that cannot be"),
    ],
)
def test_what_is_no_path_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ConfigException, match=problem) as caught:
        VaultPath.parse(text)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("text", ["sys/mounts", "auth/token/lookup-self", "sys", "auth?version=1"])
def test_where_vault_keeps_itself_is_refused(text: str) -> None:
    with pytest.raises(AccessDeniedError, match="which belongs to Vault itself"):
        VaultPath.parse(text)


@given(st.text(min_size=1, max_size=40) | st.text("./%2eE?=version13a", min_size=1, max_size=30))
def test_a_path_that_is_read_stays_itself_in_a_url(text: str) -> None:
    try:
        path = VaultPath.parse(text)
    except ConfigProvidersError as error:
        refused = str(error)
    else:
        refused = ""
    assert refused.isprintable()
    if refused:
        return
    url = quoted(path.segments)
    assert {"", ".", ".."}.isdisjoint(url.split("/"))
    assert tuple(map(unquote, url.split("/"))) == path.segments
    assert {"?", "#", ";", "\\"}.isdisjoint(url)
