"""Each provider answers what Kafka's answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_config_providers.core.provider import ConfigProvider
from airflow_config_providers.core.resolver import ConfigResolver
from airflow_config_providers.exceptions import AccessDeniedError, ConfigException, ConfigProvidersError
from airflow_config_providers.providers.directory import DirectoryConfigProvider
from airflow_config_providers.providers.env import EnvVarConfigProvider
from airflow_config_providers.providers.file import FileConfigProvider

CONTENTS = st.one_of(
    st.lists(st.sampled_from([b"a=b\n", b"c:d\r\n", b"\\u00e9=x\\\n y\n", b"\xef\xbb\xbf", "é=😀\n".encode()])).map(
        b"".join
    ),
    st.binary(max_size=20),
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory laid out as Kubernetes mounts a secret, with other files in it."""
    root = tmp_path_factory.mktemp("tree")
    version = root / "secret" / "..2024_01_01"
    version.mkdir(parents=True)
    (version / "password").write_bytes(b"pass\nword\n")
    (root / "secret" / "..data").symlink_to("..2024_01_01")
    (root / "secret" / "password").symlink_to("..data/password")
    (root / "secret" / "empty").write_bytes(b"")
    (root / "secret" / ".dotted").write_bytes(b"dot")
    (root / "secret" / "broken").symlink_to("nowhere")
    (root / "jobs.properties").write_text("k=v\nk=w\nother = x ")
    (root / "secret2").mkdir()
    (root / "secret2" / "k").write_text("v")
    return root


class Pair:
    """One of our providers and Kafka's, configured alike."""

    def __init__(self, kafka: Any, ours: ConfigProvider, theirs: Any, configs: Mapping[str, str]) -> None:
        self.kafka, self.ours, self.theirs = kafka, ours, theirs
        ours.configure(configs)
        theirs.configure(kafka.map(configs))

    def our(self, *args: Any) -> Any:
        try:
            return dict(self.ours.get(*args).data)
        except ConfigProvidersError as error:
            return type(error)

    def their(self, *args: Any) -> Any:
        data, error = self.kafka.run(lambda: self.theirs.get(*args).data())
        return ConfigProvidersError if error else data


@pytest.fixture
def files(kafka: Any) -> Callable[..., Pair]:
    theirs = kafka.config.provider.FileConfigProvider
    return lambda **configs: Pair(kafka, FileConfigProvider(), theirs(), _dotted(configs))


@pytest.fixture
def directories(kafka: Any) -> Callable[..., Pair]:
    theirs = kafka.config.provider.DirectoryConfigProvider
    return lambda **configs: Pair(kafka, DirectoryConfigProvider(), theirs(), _dotted(configs))


def _dotted(configs: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "."): value for name, value in configs.items()}


@settings(max_examples=400, derandomize=True, deadline=None)
@given(content=CONTENTS)
def test_file_same_content(kafka: Any, tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "generated.properties"
    path.write_bytes(content)
    pair = Pair(kafka, FileConfigProvider(), kafka.config.provider.FileConfigProvider(), {})

    ours, theirs = pair.our(str(path)), pair.their(str(path))
    assert isinstance(ours, type) if isinstance(theirs, type) else ours == theirs


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("{tree}/jobs.properties", id="file"),
        pytest.param("{tree}/secret/../jobs.properties", id="dots"),
        pytest.param("{tree}//./jobs.properties", id="double-slash"),
        pytest.param("{tree}/secret/password", id="link"),
        pytest.param("", id="empty"),
    ],
)
@pytest.mark.parametrize("allowed", [pytest.param("", id="all"), pytest.param("{tree}", id="allowed")])
def test_file_same_answer(files: Callable[..., Pair], tree: Path, path: str, allowed: str) -> None:
    pair = files(allowed_paths=allowed.format(tree=tree))

    assert pair.our(path.format(tree=tree)) == pair.their(path.format(tree=tree))


def test_file_same_keys(files: Callable[..., Pair], tree: Path) -> None:
    args = str(tree / "jobs.properties"), {"k", "missing"}

    assert files().our(*args) == files().their(*args)


@pytest.mark.parametrize(
    "path", [pytest.param("{tree}/none", id="missing"), pytest.param("{tree}/secret", id="directory")]
)
def test_file_same_refusal(files: Callable[..., Pair], tree: Path, path: str) -> None:
    assert issubclass(files().our(path.format(tree=tree)), files().their(path.format(tree=tree)))


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("{tree}/secret", id="directory"),
        pytest.param("{tree}/secret/", id="final-slash"),
        pytest.param("{tree}/secret/..data", id="link"),
        pytest.param("{tree}/secret2/../secret", id="dots"),
        pytest.param("{tree}/none", id="missing"),
        pytest.param("{tree}/jobs.properties", id="file"),
        pytest.param("", id="empty"),
    ],
)
@pytest.mark.parametrize("allowed", [pytest.param("", id="all"), pytest.param("{tree}", id="allowed")])
def test_directory_same_answer(directories: Callable[..., Pair], tree: Path, path: str, allowed: str) -> None:
    pair = directories(allowed_paths=allowed.format(tree=tree))

    assert pair.our(path.format(tree=tree)) == pair.their(path.format(tree=tree))


@pytest.mark.parametrize("key", ["password", ".dotted", "..data", "../jobs.properties", "broken", "none", ""])
def test_directory_same_key(directories: Callable[..., Pair], tree: Path, key: str) -> None:
    args = str(tree / "secret"), {key}

    assert directories().our(*args) == directories().their(*args)


def test_difference_path_that_is_not_allowed_is_an_error(
    files: Callable[..., Pair], directories: Callable[..., Pair], tree: Path
) -> None:
    for pair, path in (files, tree / "jobs.properties"), (directories, tree / "secret2"):
        configured = pair(allowed_paths=f"{tree}/secret")

        assert (configured.our(str(path)), configured.their(str(path))) == (AccessDeniedError, {})


def test_difference_link_out_of_an_allowed_directory_is_refused(files: Callable[..., Pair], tree: Path) -> None:
    link = tree / "secret2" / "link"
    link.symlink_to("../jobs.properties")
    pair = files(allowed_paths=f"{tree}/secret2")

    assert (pair.our(str(link)), pair.their(str(link))) == (AccessDeniedError, {"k": "w", "other": "x "})


def test_difference_allowed_paths_are_trimmed(kafka: Any, tree: Path) -> None:
    configs = {"allowed.paths": f"{tree}/secret, {tree}"}
    ours = FileConfigProvider()
    ours.configure(configs)
    _, refusal = kafka.run(lambda: kafka.config.provider.FileConfigProvider().configure(kafka.map(configs)))

    assert ours.get(str(tree / "jobs.properties")).data == {"k": "w", "other": "x "}
    assert "is not absolute" in refusal


def test_directory_same_for_bytes_that_are_not_utf8(directories: Callable[..., Pair], tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff caf\xc3\xa9 \xe2\x82")
    (tmp_path / "password").write_text("x")
    pair = directories()

    assert pair.our(str(tmp_path), {"password"}) == pair.their(str(tmp_path), {"password"}) == {"password": "x"}
    assert pair.our(str(tmp_path), {"bytes"}) is ConfigException
    assert pair.their(str(tmp_path), {"bytes"}) is ConfigProvidersError


ENVIRON = {"APP_A": "1", "APP_B": "é\n", "app_a": "3", "PATH": "/bin", "A.B": ""}


@pytest.mark.parametrize("pattern", [".*", "APP_.*", "APP_", "(?i)app_a", "APP_[AB]|PATH", "", "A\\.B", "^PATH$"])
def test_env_same_variables(kafka: Any, pattern: str) -> None:
    theirs = kafka.config.provider.EnvVarConfigProvider(kafka.map(ENVIRON))
    pair = Pair(kafka, EnvVarConfigProvider(ENVIRON), theirs, {"allowlist.pattern": pattern})

    assert pair.our("") == pair.their("")


def test_env_same_keys(kafka: Any) -> None:
    theirs = kafka.config.provider.EnvVarConfigProvider(kafka.map(ENVIRON))
    pair = Pair(kafka, EnvVarConfigProvider(ENVIRON), theirs, {})

    assert pair.our("", {"APP_A", "none"}) == pair.their("", {"APP_A", "none"})


def test_env_same_refusal_of_a_path(kafka: Any) -> None:
    theirs = kafka.config.provider.EnvVarConfigProvider(kafka.map(ENVIRON))
    pair = Pair(kafka, EnvVarConfigProvider(ENVIRON), theirs, {})

    assert issubclass(pair.our("path"), pair.their("path"))


def test_difference_env_keeps_credentials_of_the_deployment_back(kafka: Any) -> None:
    environ = {"AIRFLOW__CORE__FERNET_KEY": "f", "APP": "a"}
    theirs = kafka.config.provider.EnvVarConfigProvider(kafka.map(environ))
    pair = Pair(kafka, EnvVarConfigProvider(environ), theirs, {"allowlist.pattern": ".*"})

    assert (pair.our(""), pair.their("")) == ({"APP": "a"}, environ)


def test_difference_env_denies_a_task_what_the_pattern_leaves_out(kafka: Any) -> None:
    theirs = kafka.config.provider.EnvVarConfigProvider(kafka.map(ENVIRON))
    pair = Pair(kafka, EnvVarConfigProvider(ENVIRON), theirs, {"allowlist.pattern": "APP_.*"})
    resolver = ConfigResolver({"env": pair.ours})

    assert pair.our("", {"APP_A", "PATH"}) == pair.their("", {"APP_A", "PATH"}) == {"APP_A": "1"}
    with pytest.raises(AccessDeniedError):
        resolver.resolve([], {"text": "${env:PATH}"})
