"""The names of new layer files, mappings that become empty, and the summary."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_config_providers.adoption.adopter import Adoption, names_in
from airflow_config_providers.adoption.file_proposal import emptied
from tests.adoption.proposing import proposal_of

UNREADABLE = Path("/", "x" * 300)
"""A folder that no user can read: its name is too long."""


def test_a_folder_that_cannot_be_read_does_not_free_the_names_in_another_one(tmp_path: Path):
    (tmp_path / "shared-1.properties").touch()

    names, _ = names_in(tmp_path, UNREADABLE)

    assert names == {"shared-1.properties"}


def test_a_folder_that_cannot_be_read_is_reported(tmp_path: Path):
    _, unread = names_in(UNREADABLE, tmp_path)

    assert [one.path for one in unread] == [str(UNREADABLE)]


def test_a_folder_that_only_jobs_have_is_not_reported(tmp_path: Path):
    assert names_in(tmp_path / "nowhere") == (frozenset(), [])


COMMON = '\nCOMMON = {"spark.app.x": "1"}\n'
CALL = 'SparkSubmitOperator(task_id="x", conf={**COMMON, "spark.app.own": "2"})\n'


def test_a_mapping_of_which_all_entries_are_removed_is_named_with_its_line():
    found = proposal_of(COMMON + CALL, below={"spark.app.x": "1"})

    assert [(one.line, one.reason) for one in emptied(found)] == [
        (3, "'COMMON' is empty after the patch. Remove it, and where it is used.")
    ]


@pytest.mark.parametrize(
    ("text", "below"),
    [
        pytest.param(COMMON + CALL, {}, id="unchanged"),
        pytest.param(
            COMMON.replace("}", ', "spark.app.y": "1"}') + CALL, {"spark.app.x": "1"}, id="with another entry"
        ),
        pytest.param("\nCOMMON = {}\n" + CALL, {"spark.app.own": "2"}, id="empty before"),
    ],
)
def test_a_mapping_that_the_patch_does_not_empty_is_not_named(text: str, below: dict[str, str]):
    assert list(emptied(proposal_of(text, below=below))) == []


def test_each_reference_of_a_string_is_counted():
    url = "x://{{ conn.db.host }}:{{ conn.db.port }}"
    found = proposal_of(f'SparkSubmitOperator(task_id="x", conf={{"spark.app.url": "{url}"}})\n')

    assert "with 2 references" in Adoption([found], [], [], [], Path.cwd()).summary()
