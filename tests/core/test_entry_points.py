from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

import pytest

from airflow_config_providers.core.entry_points import registered

GROUP = "airflow_config_providers.providers"


@pytest.fixture(autouse=True)
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Search in the folders ``first`` and ``second``, in that order, before what is installed."""
    for name in ("second", "first"):
        (tmp_path / name).mkdir()
        monkeypatch.syspath_prepend(tmp_path / name)


def install(site: Path, distribution: str, *entries: str, version: str = "1.0") -> None:
    info = site / f"{distribution.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
    if entries:
        (info / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *entries]))


def names() -> list[str]:
    """Return the names that are registered by others, once it is sure that Python finds the same entry points."""
    found = registered(GROUP)
    assert sorted(found) == sorted(entry_points(group=GROUP))
    return sorted(entry.name for entry in found if entry.dist is None or entry.dist.name.lower().startswith("acme"))


def test_each_distribution_that_has_the_group_is_found(tmp_path: Path) -> None:
    install(tmp_path / "first", "acme-config", "a = acme:A", "b = acme:B", "[console_scripts]", "acme = acme:main")
    install(tmp_path / "second", "acme-more", "c = acme:C")
    install(tmp_path / "second", "acme-tools", "[console_scripts]", f"{GROUP} = acme:main")
    assert names() == ["a", "b", "c"]


def test_a_name_of_two_distributions_is_found_twice(tmp_path: Path) -> None:
    install(tmp_path / "first", "acme-config", "a = acme:A")
    install(tmp_path / "second", "acme-more", "a = acme:A")
    assert names() == ["a", "a"]


@pytest.mark.parametrize(
    ("newer", "expected"), [(["a = acme:New"], ["a"]), (["[console_scripts]"], []), ([], [])], ids=repr
)
@pytest.mark.parametrize("spelling", ["acme-config", "Acme_Config"])
def test_a_distribution_hides_a_later_one_of_the_same_name(
    tmp_path: Path, newer: list[str], expected: list[str], spelling: str
) -> None:
    install(tmp_path / "first", spelling, *newer, version="2.0")
    install(tmp_path / "second", "acme-config", "a = acme:Old", "b = acme:B")
    assert names() == expected


def test_a_change_of_the_path_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert names() == []
    install(tmp_path, "acme-config", "a = acme:A")
    monkeypatch.syspath_prepend(tmp_path)
    assert names() == ["a"]


def test_what_an_interrupted_installation_left_is_passed_over(tmp_path: Path) -> None:
    install(tmp_path / "first", "acme-config", "a = acme:A")
    (left,) = (tmp_path / "first").iterdir()
    (left / "METADATA").unlink()
    install(tmp_path / "second", "acme-more", "b = acme:B")

    assert [entry.name for entry in registered(GROUP) if entry.value.startswith("acme")] == ["b"]
