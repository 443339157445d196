from __future__ import annotations

from pathlib import Path

import pytest

from airflow_config_providers.core.provider import ConfigData
from airflow_config_providers.exceptions import ConfigException, ProviderDefinitionError, ProviderLookupError
from airflow_config_providers.providers.file import FileConfigProvider


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "jobs.properties"
    file.write_bytes("db.user=airflow\ndb.password=h\\u00fcnter2\nname=é\nempty=\n".encode())
    return file


@pytest.fixture
def provider(tmp_path: Path) -> FileConfigProvider:
    provider = FileConfigProvider()
    provider.configure({"allowed.paths": str(tmp_path)})
    return provider


def test_all_keys_are_given_where_none_are_named(provider: FileConfigProvider, path: Path) -> None:
    expected = {"db.user": "airflow", "db.password": "hünter2", "name": "é", "empty": ""}
    assert provider.get(str(path)) == ConfigData(expected, ttl=None)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        pytest.param({"db.user", "empty"}, {"db.user": "airflow", "empty": ""}, id="some"),
        pytest.param({"db.user", "missing"}, {"db.user": "airflow"}, id="one is missing"),
        pytest.param(["db.user"], {"db.user": "airflow"}, id="list"),
        pytest.param(set(), {}, id="none"),
        pytest.param({"DB.USER", " db.user"}, {}, id="names are exact"),
    ],
)
def test_the_keys_named_are_given(provider: FileConfigProvider, path: Path, keys: set[str], expected: object) -> None:
    assert provider.get(str(path), keys).data == expected


def test_the_last_of_repeated_keys_counts(provider: FileConfigProvider, path: Path) -> None:
    path.write_text("a=1\na=2\n")
    assert provider.get(str(path)).data == {"a": "2"}


def test_line_ends_are_those_of_the_file(provider: FileConfigProvider, path: Path) -> None:
    path.write_bytes(b"a=1\rb=2\r\nc=\xc2\x853")
    assert provider.get(str(path)).data == {"a": "1", "b": "2", "c": "\x853"}


def test_the_file_is_read_each_time(provider: FileConfigProvider, path: Path) -> None:
    provider.get(str(path))
    path.write_text("db.user=changed")
    assert provider.get(str(path)).data == {"db.user": "changed"}


def test_an_empty_path_has_no_keys(provider: FileConfigProvider) -> None:
    assert provider.get("", {"a"}) == ConfigData({})


def test_a_directory_in_place_of_the_file_is_named(provider: FileConfigProvider, tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()

    with pytest.raises(ProviderLookupError, match="is a directory: name a file in it"):
        provider.get(str(tmp_path / "jobs"))


def test_a_missing_file_is_an_error(provider: FileConfigProvider, tmp_path: Path) -> None:
    with pytest.raises(ProviderLookupError, match=rf"no regular file at {tmp_path}/no\.properties"):
        provider.get(f"{tmp_path}/no.properties")


def test_a_malformed_line_is_named(provider: FileConfigProvider, path: Path) -> None:
    path.write_text("a=b\nc=\\uhunter2\n")
    with pytest.raises(ConfigException, match=rf"^{path}:2: "):
        provider.get(str(path))


def test_bytes_that_are_not_utf8_are_an_error_without_the_content(provider: FileConfigProvider, path: Path) -> None:
    path.write_bytes(b"a=hunter2\xff")
    with pytest.raises(ConfigException, match=rf"^{path}: byte 9 is not UTF-8") as caught:
        provider.get(str(path))
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None


def test_nothing_is_read_before_configure(path: Path) -> None:
    with pytest.raises(ProviderDefinitionError, match="not been configured"):
        FileConfigProvider().get(str(path))
