"""Files that name references."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("airflow")

from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.deployment.known_secrets import references_in_file, resolved_secrets

PASSWORD = ConfigVariable("vault", "apps/db", "password")


@pytest.mark.parametrize("place", range(1024 * 1024 - len(str(PASSWORD)), 1024 * 1024 + 1, 5))
def test_no_reference_in_a_very_long_line_is_missed(tmp_path: Path, place: int) -> None:
    (tmp_path / "one-line.json").write_text(f"{'x' * place}{PASSWORD}{'x' * 100}\n")

    assert references_in_file(str(tmp_path / "one-line.json")) == [PASSWORD]


def test_a_failure_names_the_references_that_it_affects(tmp_path: Path) -> None:
    asked = [ConfigVariable("dir", "/etc", "hosts"), ConfigVariable("dir", "/etc", "passwd")]
    definitions = {
        "config.providers": "dir",
        "config.providers.dir.class": "directory",
        "config.providers.dir.param.allowed.paths": str(tmp_path),
    }
    (problem,) = resolved_secrets(asked, definitions).problems

    assert problem.startswith("${dir:/etc:hosts}, ${dir:/etc:passwd}: /etc is not inside an allowed path")


def test_an_excepted_reference_without_a_value_is_no_problem(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("c4nary")
    asked = [ConfigVariable("dir", str(tmp_path), "password"), ConfigVariable("dir", "/etc", "passwd")]
    definitions = {
        "config.providers": "dir",
        "config.providers.dir.class": "directory",
        "config.providers.dir.param.allowed.paths": str(tmp_path),
    }
    known = resolved_secrets(asked, definitions, excepted=["*:passwd}"])

    assert [one.value for one in known.secrets] == ["c4nary"]
    assert (known.problems, known.excepted, known.no_secrets) == ([], ["${dir:/etc:passwd}"], [])
