"""Attacks through paths, names and definitions of providers."""

from __future__ import annotations

import os
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_config_providers.core.keys import is_reserved
from airflow_config_providers.core.provider import ConfigProvider
from airflow_config_providers.core.registry import ProviderRegistry
from airflow_config_providers.exceptions import (
    AccessDeniedError,
    ConfigException,
    LimitExceededError,
    ProviderDefinitionError,
    ProviderLookupError,
)
from airflow_config_providers.providers.directory import DirectoryConfigProvider
from airflow_config_providers.providers.env import EnvVarConfigProvider
from airflow_config_providers.providers.file import FileConfigProvider

SECRET = "hunter2-canary"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a directory with ``data``, which is allowed, and with ``data2`` and ``secret``, which are not."""
    for name in ("data", "data2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "jobs.properties").write_text(f"key={name}")
    (tmp_path / "secret").write_text(f"key={SECRET}")
    return tmp_path


@pytest.fixture(params=[FileConfigProvider, DirectoryConfigProvider], ids=["file", "directory"])
def provider(request: pytest.FixtureRequest, root: Path) -> ConfigProvider:
    made: ConfigProvider = request.param()
    made.configure({"allowed.paths": f"{root}/data"})
    return made


@pytest.fixture
def files(root: Path) -> FileConfigProvider:
    made = FileConfigProvider()
    made.configure({"allowed.paths": f"{root}/data"})
    return made


def denial(provider: ConfigProvider, path: object) -> AccessDeniedError:
    with pytest.raises(AccessDeniedError) as caught:
        provider.get(str(path), {"key"})
    assert caught.value.__cause__ is caught.value.__context__ is None
    return caught.value


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("/etc/passwd", id="elsewhere"),
        pytest.param("{root}/secret", id="beside"),
        pytest.param("{root}", id="above"),
        pytest.param("/", id="top"),
        pytest.param("{root}/data/../secret", id="dots"),
        pytest.param("{root}/data/./../data/../secret", id="more dots"),
        pytest.param("{root}/data/x/../../secret", id="dots through what does not exist"),
        pytest.param("{root}/data/../../../../../../../../etc/passwd", id="dots beyond the top"),
        pytest.param("//{root}/data//..//secret", id="doubled slashes"),
        pytest.param("{root}/data2/jobs.properties", id="name that begins alike"),
        pytest.param("{root}/data2", id="directory whose name begins alike"),
        pytest.param("{root}/DATA/jobs.properties", id="other case"),
        pytest.param("{root}%2fdata/jobs.properties", id="encoded slash"),
        pytest.param("data/jobs.properties", id="relative"),
        pytest.param("./{root}/data/jobs.properties", id="relative that looks absolute"),
        pytest.param("~/data", id="home"),
        pytest.param("file://{root}/data/jobs.properties", id="URL"),
        pytest.param("{root}/data\\..\\secret", id="backslashes"),
    ],
)
def test_attack_01_a_path_outside_the_allowed_ones_is_denied(provider: ConfigProvider, root: Path, path: str) -> None:
    denial(provider, path.format(root=root))


@pytest.mark.parametrize("dots", ["%2e%2e", "..%2f", "%252e%252e", "\uff0e\uff0e", "..;", "... "])
def test_attack_01_encoded_dots_are_names_and_lead_nowhere(files: FileConfigProvider, root: Path, dots: str) -> None:
    with pytest.raises(ProviderLookupError, match="no regular file"):
        files.get(f"{root}/data/{dots}/secret", {"key"})


def test_attack_01_a_key_does_not_wander(root: Path) -> None:
    directory = DirectoryConfigProvider()
    directory.configure({"allowed.paths": str(root)})
    assert directory.get(f"{root}/data", {"../secret", f"{root}/secret", "/etc/passwd"}).data == {}


@pytest.mark.parametrize(
    "target", ["{root}/secret", "../secret", "/etc/passwd", "/proc/self/environ", "/proc/self/root/etc"]
)
def test_attack_02_a_link_that_leads_out_is_denied(provider: ConfigProvider, root: Path, target: str) -> None:
    (root / "data" / "link").symlink_to(target.format(root=root))
    denial(provider, root / "data" / "link")


def test_attack_02_a_linked_directory_that_leads_out_is_denied(provider: ConfigProvider, root: Path) -> None:
    (root / "data" / "link").symlink_to(root / "data2")
    denial(provider, root / "data" / "link" / "jobs.properties")


def test_attack_02_a_link_that_stays_inside_is_followed(files: FileConfigProvider, root: Path) -> None:
    (root / "data" / "link").symlink_to("jobs.properties")
    assert files.get(f"{root}/data/link").data == {"key": "data"}


def test_attack_02_a_circle_of_links_is_denied(provider: ConfigProvider, root: Path) -> None:
    (root / "data" / "link").symlink_to("link")
    denial(provider, root / "data" / "link")


@pytest.mark.parametrize("prefix", ["{root}/", "{root}/data/out/"], ids=["by name", "by link"])
def test_attack_03_denied_is_one_error_whether_the_path_exists_or_not(
    provider: ConfigProvider, root: Path, prefix: str
) -> None:
    (root / "data" / "out").symlink_to(root)
    at = prefix.format(root=root)
    existing, missing = denial(provider, f"{at}secret"), denial(provider, f"{at}absent")
    assert str(existing).replace("secret", "absent") == str(missing)


def test_attack_03_a_dangling_link_out_is_denied_as_any_other(provider: ConfigProvider, root: Path) -> None:
    (root / "data" / "a").symlink_to(root / "secret")
    (root / "data" / "b").symlink_to(root / "absent")
    existing, missing = denial(provider, root / "data" / "a"), denial(provider, root / "data" / "b")
    assert str(existing).replace("data/a", "data/b") == str(missing)


def test_attack_03_a_denied_path_is_not_touched(provider: ConfigProvider, root: Path) -> None:
    called = calls_of_the_system(lambda: denial(provider, root / "secret"))
    assert called.isdisjoint({"open", "stat", "lstat", "readlink", "listdir", "scandir", "access"})


def test_attack_03_an_allowed_path_is_touched(files: FileConfigProvider, root: Path) -> None:
    assert {"open", "stat"} <= calls_of_the_system(lambda: files.get(f"{root}/data/jobs.properties"))


def calls_of_the_system(action: Callable[[], object]) -> set[str]:
    """Return the names of the functions of the module ``posix`` that ``action`` calls."""
    called = set()

    def note(_frame: object, event: str, function: object) -> None:
        if event == "c_call" and getattr(function, "__module__", "") == "posix":
            called.add(getattr(function, "__name__", ""))

    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
    return called


def test_attack_04_fifo_is_refused(files: FileConfigProvider, root: Path) -> None:
    os.mkfifo(root / "data" / "fifo")
    with pytest.raises(ProviderLookupError, match="no regular file"):
        files.get(f"{root}/data/fifo")


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/stdin", "/dev/tty", "/dev"])
def test_attack_04_device_and_directory_are_refused_even_where_allowed(path: str) -> None:
    files = FileConfigProvider()
    files.configure({"allowed.paths": "/dev"})
    with pytest.raises(ProviderLookupError):
        files.get(path)


@pytest.mark.parametrize("path", ["/proc/self/environ", "/proc/1/environ", "/proc/self/cwd", "/proc/self/fd/0"])
def test_attack_04_what_proc_shows_is_denied(provider: ConfigProvider, path: str) -> None:
    denial(provider, path)


def test_attack_04_a_file_of_ten_gigabytes_is_refused_unread(files: FileConfigProvider, root: Path) -> None:
    with (root / "data" / "huge").open("wb") as file:
        file.truncate(10 * 1024**3)
    tracemalloc.start()
    with pytest.raises(LimitExceededError, match="larger than 1048576 bytes"):
        files.get(f"{root}/data/huge")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 1024**2


@pytest.mark.parametrize(
    ("character", "shown"),
    [
        pytest.param("\0", "\\x00", id="NUL"),
        pytest.param("\n", "\\n", id="line feed"),
        pytest.param("\r", "\\r", id="carriage return"),
        pytest.param("\x1b[2J", "\\x1b", id="escape sequence"),
        pytest.param("\ud800", "\\ud800", id="surrogate"),
        pytest.param("\u202e", "\\u202e", id="right-to-left override"),
        pytest.param("\u200b", "\\u200b", id="zero width"),
        pytest.param("\u2028", "\\u2028", id="line separator"),
    ],
)
def test_attack_05_unprintable_characters_in_a_path_are_refused_with_their_position(
    provider: ConfigProvider, character: str, shown: str
) -> None:
    with pytest.raises(ConfigException, match=r"at position 3\.") as caught:
        provider.get(f"/a/{character}", {"key"})
    assert str(caught.value).isprintable()
    assert f"has the character {shown} at" in str(caught.value)


def test_attack_05_unprintable_characters_in_a_key_match_nothing(files: FileConfigProvider, root: Path) -> None:
    assert files.get(f"{root}/data/jobs.properties", {"key\0", "key\n", "\ud800"}).data == {}


def test_attack_05_a_letter_of_another_script_is_another_letter(files: FileConfigProvider, root: Path) -> None:
    assert files.get(f"{root}/data/jobs.properties", {"k\u0435y"}).data == {}


@pytest.mark.parametrize("deployment", [True, False], ids=["deployment", "library"])
def test_attack_06_a_class_that_is_not_allowed_is_not_even_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deployment: bool
) -> None:
    (tmp_path / "evil_on_import.py").write_text("class Provider: pass")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ProviderDefinitionError, match="is not an allowed class"):
        ProviderRegistry(deployment=deployment).open(
            {"config.providers": "a", "config.providers.a.class": "evil_on_import.Provider"}
        )
    assert "evil_on_import" not in sys.modules


@pytest.mark.parametrize("path", ["os.system", "subprocess.Popen", "builtins.eval"])
def test_attack_06_a_class_that_is_allowed_by_mistake_is_not_called_unless_it_is_a_provider(path: str) -> None:
    with pytest.raises(ProviderDefinitionError, match="does not extend ConfigProvider"):
        ProviderRegistry(allowed_classes=[path]).open({"config.providers": "a", "config.providers.a.class": path})


@pytest.mark.parametrize(
    "key", ["config.providers", "config.providers.vault.class", "config.providers.file.param.allowed.paths"]
)
def test_attack_07_keys_that_define_a_provider_are_reserved(key: str) -> None:
    assert is_reserved(key)


@pytest.mark.parametrize(
    ("short_name", "param"),
    [("file", "allowed.paths"), ("directory", "allowed.paths"), ("env", "allowlist.pattern")],
)
def test_attack_07_a_limit_without_param_is_an_error_and_not_ignored(short_name: str, param: str) -> None:
    with pytest.raises(ProviderDefinitionError, match=rf"Write config\.providers\.a\.param\.{param} for a parameter"):
        ProviderRegistry().open(
            {
                "config.providers": "a",
                "config.providers.a.class": short_name,
                f"config.providers.a.{param}": "/nowhere",
            }
        )


SENSITIVE = [
    "AIRFLOW__CORE__FERNET_KEY",
    "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN",
    "AIRFLOW__API_AUTH__JWT_SECRET",
    "AIRFLOW_CONN_DB",
    "AIRFLOW_VAR_TOKEN",
    "_AIRFLOW_WWW_USER_PASSWORD",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AZURE_CLIENT_SECRET",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "VAULT_TOKEN",
    "PYSPARK_GATEWAY_SECRET",
    "_SPARK_AUTH_SECRET",
]


@pytest.mark.parametrize("name", SENSITIVE)
@pytest.mark.parametrize("pattern", [None, ".*", "[A-Z_]+", "(?:AIRFLOW|AWS|AZURE|GOOGLE|VAULT|PYSPARK|_).*"])
def test_attack_34_a_pattern_does_not_open_what_the_platform_signs_in_with(name: str, pattern: str | None) -> None:
    environ = EnvVarConfigProvider({name: SECRET, "DB_HOST": "db"})
    environ.configure({} if pattern is None else {"allowlist.pattern": pattern})
    assert name not in environ.get("", {name}).data


def test_attack_34_without_a_pattern_a_deployment_opens_no_environment() -> None:
    with pytest.raises(ProviderDefinitionError, match=r"config\.providers\.e\.param\.allowlist\.pattern is missing"):
        ProviderRegistry(deployment=True).open({"config.providers": "e", "config.providers.e.class": "env"})
