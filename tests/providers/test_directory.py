from __future__ import annotations

import os
from pathlib import Path

import pytest

from airflow_config_providers.core.provider import ConfigData
from airflow_config_providers.exceptions import (
    AccessDeniedError,
    ConfigException,
    LimitExceededError,
    ProviderDefinitionError,
)
from airflow_config_providers.providers.directory import DirectoryConfigProvider


@pytest.fixture
def mount(tmp_path: Path) -> Path:
    directory = tmp_path / "db"
    directory.mkdir()
    (directory / "user").write_text("airflow")
    (directory / "password").write_text("hunter2\n")
    (directory / ".hidden").write_text("dot")
    (directory / "below").mkdir()
    (directory / "below" / "deep").write_text("deep")
    return directory


@pytest.fixture
def provider(tmp_path: Path) -> DirectoryConfigProvider:
    provider = DirectoryConfigProvider()
    provider.configure({"allowed.paths": str(tmp_path)})
    return provider


def test_each_regular_file_is_a_key_and_its_whole_content_the_value(
    provider: DirectoryConfigProvider, mount: Path
) -> None:
    expected = {"user": "airflow", "password": "hunter2\n", ".hidden": "dot"}
    assert provider.get(str(mount)) == ConfigData(expected, ttl=None)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        pytest.param({"user"}, {"user": "airflow"}, id="one"),
        pytest.param({"user", "missing"}, {"user": "airflow"}, id="one is missing"),
        pytest.param(set(), {}, id="none"),
        pytest.param({"below"}, {}, id="a directory is no key"),
        pytest.param({"below/deep", "../db/user", "./user", "", ".", ".."}, {}, id="a key does not wander"),
    ],
)
def test_the_keys_named_are_given(
    provider: DirectoryConfigProvider, mount: Path, keys: set[str], expected: object
) -> None:
    assert provider.get(str(mount), keys).data == expected


def test_only_the_files_asked_for_are_read(provider: DirectoryConfigProvider, mount: Path) -> None:
    (mount / "large").write_bytes(b"x" * (1024 * 1024 + 1))
    assert provider.get(str(mount), {"user"}).data == {"user": "airflow"}


def test_a_file_that_is_too_large_is_an_error(provider: DirectoryConfigProvider, mount: Path) -> None:
    (mount / "large").write_bytes(b"x" * (1024 * 1024 + 1))
    with pytest.raises(LimitExceededError, match="db/large is larger"):
        provider.get(str(mount))


def test_a_file_that_is_not_utf8_is_refused_when_it_is_asked_for(
    provider: DirectoryConfigProvider, mount: Path
) -> None:
    (mount / "user").write_bytes(b"a\xffb")
    with pytest.raises(ConfigException, match="db/user: byte 1 is not UTF-8"):
        provider.get(str(mount), {"user"})


def test_a_file_that_is_not_utf8_does_not_hide_the_others(provider: DirectoryConfigProvider, mount: Path) -> None:
    (mount / "keystore.jks").write_bytes(b"\xfe\xed")
    assert provider.get(str(mount), {"user"}).data == {"user": "airflow"}


def test_what_is_no_regular_file_is_left_out(provider: DirectoryConfigProvider, mount: Path) -> None:
    os.mkfifo(mount / "fifo")
    (mount / "dangling").symlink_to("nowhere")
    assert "fifo" not in provider.get(str(mount)).data


def test_a_name_that_no_reference_can_say_is_left_out(provider: DirectoryConfigProvider, mount: Path) -> None:
    (mount / "a\nb").write_text("x")
    assert set(provider.get(str(mount)).data) == {"user", "password", ".hidden"}


@pytest.mark.parametrize(
    ("below", "way_out"),
    [
        pytest.param("no", "Create it or correct the path.", id="nothing"),
        pytest.param("user", "It is a file, and its name is the key: take it out of the path.", id="a file"),
    ],
)
def test_no_directory_gives_no_keys_and_a_warning_that_the_answer_repeats(
    provider: DirectoryConfigProvider, mount: Path, caplog: pytest.LogCaptureFixture, below: str, way_out: str
) -> None:
    found = provider.get(f"{mount}/{below}", {"a"})

    assert (found, caplog.messages) == (ConfigData({}), [found.absence])
    assert found.absence == f"There is no directory at {mount}/{below}. {way_out}"


def test_a_directory_without_the_key_is_not_absent(provider: DirectoryConfigProvider, mount: Path) -> None:
    assert provider.get(str(mount), {"no"}).absence == ""


def test_a_link_that_leads_to_nothing_is_told(
    provider: DirectoryConfigProvider, mount: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (mount / "token").symlink_to("..data/gone")
    told = f"{mount}/token is a link that leads to nothing. Mount the secret again, or correct the link."

    assert provider.get(str(mount), {"token"}).absence == told
    assert caplog.messages == [told]


def test_a_directory_in_place_of_the_key_is_told(
    provider: DirectoryConfigProvider, mount: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (mount / "token").mkdir()
    (mount / "a" / "b").mkdir(parents=True)
    told = f"{mount}/token is a directory, and not a file. Mount the file itself."

    assert provider.get(str(mount), {"token"}).absence == told
    assert provider.get(str(mount), {"token", "no", ".", "..", "a/b", ""}).absence == ""
    assert provider.get(str(mount), {"token", "user"}).absence == ""
    assert caplog.messages == [told] * 3


def test_an_empty_path_has_no_keys(provider: DirectoryConfigProvider) -> None:
    assert provider.get("", {"a"}) == ConfigData({})


def test_nothing_is_read_before_configure(mount: Path) -> None:
    with pytest.raises(ProviderDefinitionError, match="not been configured"):
        DirectoryConfigProvider().get(str(mount))


@pytest.fixture
def kubernetes(tmp_path: Path) -> Path:
    """Lay out a secret as Kubernetes mounts it: visible names are links into a directory that is swapped as a whole."""
    mount = tmp_path / "secret"
    mount.mkdir()
    write_version(mount, version="..2024_01", password="first")
    (mount / "password").symlink_to("..data/password")
    return mount


def write_version(mount: Path, *, version: str, password: str) -> None:
    (mount / version).mkdir()
    (mount / version / "password").write_text(password)
    (mount / "..data_tmp").symlink_to(version)
    (mount / "..data_tmp").replace(mount / "..data")


def test_a_kubernetes_secret_is_read(provider: DirectoryConfigProvider, kubernetes: Path) -> None:
    assert provider.get(str(kubernetes)).data == {"password": "first"}


def test_a_rotated_kubernetes_secret_is_read_anew(provider: DirectoryConfigProvider, kubernetes: Path) -> None:
    provider.get(str(kubernetes))
    write_version(kubernetes, version="..2024_02", password="second")
    assert provider.get(str(kubernetes)).data == {"password": "second"}


@pytest.mark.parametrize("keys", [None, {"link"}])
def test_attack_04_a_file_that_leads_into_proc_is_denied(mount: Path, keys: set[str] | None) -> None:
    (mount / "link").symlink_to("/proc/self/environ")
    provider = DirectoryConfigProvider()
    provider.configure({"allowed.paths": "/"})

    with pytest.raises(AccessDeniedError, match="db/link is in /proc"):
        provider.get(str(mount), keys)


@pytest.mark.parametrize("keys", [None, {"link"}])
def test_a_file_that_leads_out_of_the_allowed_path_is_denied(
    provider: DirectoryConfigProvider, mount: Path, keys: set[str] | None
) -> None:
    (mount / "link").symlink_to("/etc/passwd")
    with pytest.raises(AccessDeniedError, match="db/link is not inside an allowed path"):
        provider.get(str(mount), keys)


def test_a_key_that_is_gone_is_left_out_where_nothing_is_switched(
    provider: DirectoryConfigProvider, kubernetes: Path
) -> None:
    (kubernetes / "stale").symlink_to("..data/stale")

    assert set(provider.get(str(kubernetes), {"password", "stale", "no"}).data) == {"password"}
    assert set(provider.get(str(kubernetes)).data) == {"password"}
