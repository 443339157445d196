"""Copies of files, written without Spark."""

from __future__ import annotations

import stat
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.spark.audit.leaks.file_listing import FileListing, FoundFile
from airflow_config_providers.spark.audit.leaks.leak_finder import KnownSecret
from airflow_config_providers.spark.audit.leaks.reversed_copies import target_of, write_copies
from airflow_config_providers.spark.audit.leaks.sought import Sought

PASSWORD = ConfigVariable("vault", "apps/db", "password")
VALUE = "c4nary-Pa$$w0rd/of+the=audit"
SOUGHT = Sought([KnownSecret(PASSWORD, VALUE)])


@pytest.fixture
def log(tmp_path: Path) -> FoundFile:
    """Return a log with a value, as it is listed."""
    (tmp_path / "logs" / "dag").mkdir(parents=True)
    (tmp_path / "logs" / "dag" / "a.log").write_text(f"first\nit is {VALUE}\nlast\n")
    [file] = FileListing.of([str(tmp_path / "logs")]).files
    return file


@pytest.mark.parametrize("sought", [SOUGHT, replace(SOUGHT, tokens=True)], ids=["values", "tokens, too"])
@pytest.mark.parametrize("written", [1, 10, len(VALUE) - 1])
def test_a_value_that_was_being_written_when_a_file_was_listed_is_replaced_as_a_whole(
    log: FoundFile, tmp_path: Path, sought: Sought, written: int
) -> None:
    begun = log._replace(size=len("first\nit is ") + written)

    assert write_copies([(begun, tmp_path / "copy")], sought.finder()) == [""]

    assert (tmp_path / "copy").read_text() == f"first\nit is {PASSWORD}"


@pytest.mark.parametrize("size", [len("first\n"), len("first\nit is "), len(f"first\nit is {VALUE}")])
def test_what_was_written_after_a_file_was_listed_is_not_copied(log: FoundFile, tmp_path: Path, size: int) -> None:
    write_copies([(log._replace(size=size), tmp_path / "copy")], SOUGHT.finder())

    expected = Path(log.path).read_text()[:size].replace(VALUE, str(PASSWORD))
    assert (tmp_path / "copy").read_text() == expected


def test_only_this_user_can_read_the_copies(log: FoundFile, tmp_path: Path) -> None:
    target = target_of(str(tmp_path / "new" / "copies"), [str(tmp_path / "logs")])

    write_copies([(log, target(log.path))], SOUGHT.finder())

    made = [tmp_path / "new", *(tmp_path / "new").rglob("*")]
    assert {str(path.relative_to(tmp_path)): stat.S_IMODE(path.stat().st_mode) for path in made} == {
        "new": 0o700,
        "new/copies": 0o700,
        "new/copies/dag": 0o700,
        "new/copies/dag/a.log": 0o600,
    }
