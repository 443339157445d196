"""Row 71 of the list of attacks: a directory of secrets is switched while it is read, as Kubernetes does it."""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from airflow_config_providers.exceptions import AccessDeniedError, ProviderUnavailableError
from airflow_config_providers.providers.directory import DirectoryConfigProvider
from airflow_config_providers.providers.real_path import Steps, link_target

KEYS = ("user", "password", "url")


class Mount:
    """A secret as Kubernetes mounts and renews it; all keys of a generation have its number."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.number = 0
        path.mkdir()
        self.renew()
        for key in KEYS:
            (path / key).symlink_to(f"..data/{key}")

    def renew(self, *, keep: bool = False) -> None:
        """Write the next generation, switch to it, and remove the one before."""
        self.number += 1
        directory = self.path / f"..gen{self.number}"
        directory.mkdir()
        for key in KEYS:
            (directory / key).write_text(str(self.number))
        (self.path / "..data_tmp").symlink_to(directory.name)
        (self.path / "..data_tmp").replace(self.path / "..data")
        if not keep and self.number > 1:
            shutil.rmtree(self.path / f"..gen{self.number - 1}")


@pytest.fixture
def renewed(tmp_path: Path) -> Mount:
    return Mount(tmp_path / "renewed")


@pytest.fixture
def provider(tmp_path: Path) -> DirectoryConfigProvider:
    provider = DirectoryConfigProvider()
    provider.configure({"allowed.paths": str(tmp_path)})
    return provider


def switching(mount: Path, switch: Callable[[], None], *, at: str, times: int = 1) -> DirectoryConfigProvider:
    """Return a provider after whose each read of the link ``at`` the function ``switch`` is called."""
    left = [times]

    def link(path: Steps) -> str | None:
        target = link_target(path)
        if path[-1:] == (at,) and left[0]:
            left[0] -= 1
            switch()
        return target

    provider = DirectoryConfigProvider(link=link)
    provider.configure({"allowed.paths": str(mount)})
    return provider


@pytest.mark.parametrize("keys", [None, set(KEYS)], ids=["all", "named"])
@pytest.mark.parametrize("at", ["..data", *KEYS])
@pytest.mark.parametrize("keep", [False, True], ids=["removed", "kept"])
def test_attack_71_a_switch_between_two_keys_mixes_no_generations(
    renewed: Mount, keys: set[str] | None, at: str, keep: bool
) -> None:
    found = switching(renewed.path, lambda: renewed.renew(keep=keep), at=at).get(str(renewed.path), keys).data

    assert set(found) == set(KEYS)
    assert set(found.values()) == ({"1"} if keep and at == "..data" and keys else {found["user"]})
    assert found["user"] in {"1", "2"}


def test_attack_71_a_generation_that_is_still_there_is_read_to_its_end(renewed: Mount) -> None:
    provider = switching(renewed.path, lambda: renewed.renew(keep=True), at="..data")

    assert provider.get(str(renewed.path), set(KEYS)).data == dict.fromkeys(KEYS, "1")


def test_attack_71_a_generation_that_was_removed_is_read_anew(renewed: Mount) -> None:
    provider = switching(renewed.path, renewed.renew, at="..data")

    assert provider.get(str(renewed.path), set(KEYS)).data == dict.fromkeys(KEYS, "2")


@pytest.mark.parametrize("keys", [None, set(KEYS)], ids=["all", "named"])
def test_attack_71_what_is_replaced_at_each_attempt_is_unavailable_and_lacks_no_key(
    renewed: Mount, keys: set[str] | None
) -> None:
    provider = switching(renewed.path, renewed.renew, at="..data", times=-1)

    with pytest.raises(ProviderUnavailableError, match="renewed was replaced each time it was read"):
        provider.get(str(renewed.path), keys)


@pytest.mark.parametrize("allowed", ["", "..data"], ids=["the mount is allowed", "the link is allowed"])
def test_attack_71_nor_where_the_path_itself_is_the_link(renewed: Mount, allowed: str) -> None:
    provider = switching(renewed.path / allowed, renewed.renew, at="..data")

    assert provider.get(f"{renewed.path}/..data", set(KEYS)).data == dict.fromkeys(KEYS, "2")


def test_attack_71_a_directory_that_is_replaced_by_another_is_read_anew(tmp_path: Path) -> None:
    """As ``mv`` does it: no link is switched."""
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        for key in KEYS:
            (tmp_path / name / key).write_text(name)

    def replace() -> None:
        shutil.rmtree(tmp_path / "old")
        (tmp_path / "new").rename(tmp_path / "old")

    provider = switching(tmp_path, replace, at="user")

    assert provider.get(f"{tmp_path}/old", set(KEYS)).data == dict.fromkeys(KEYS, "new")


def test_attack_71_a_link_that_is_swapped_for_one_that_leads_out_leads_nowhere(renewed: Mount, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "user").write_text("outside")

    def swap() -> None:
        shutil.rmtree(renewed.path / "..gen1")
        (renewed.path / "..gen1").symlink_to(tmp_path / "outside")

    with pytest.raises(AccessDeniedError):
        switching(renewed.path, swap, at="..gen1").get(str(renewed.path), {"user"})


def test_attack_71_reads_beside_a_thread_that_switches_mix_nothing(
    renewed: Mount, provider: DirectoryConfigProvider
) -> None:
    """Unavailable reads would be tried again; what matters is that none is mixed, and none lacks a key."""
    switches = 400
    thread = threading.Thread(target=lambda: [renewed.renew() for _ in range(switches)])
    found: list[Mapping[str, str]] = []
    thread.start()
    try:
        while thread.is_alive() or len(found) < 100:
            with contextlib.suppress(ProviderUnavailableError):
                found.append(provider.get(str(renewed.path), set(KEYS)).data)
    finally:
        thread.join()
    found.append(provider.get(str(renewed.path), set(KEYS)).data)  # the thread can have ended after the last read above

    assert all(set(data) == set(KEYS) for data in found)
    assert [data for data in found if len(set(data.values())) > 1] == []
    assert found[-1] == dict.fromkeys(KEYS, str(switches + 1))
