"""Values that have no effect."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from airflow_config_providers.lint import rules
from airflow_config_providers.lint.entry import LayerFile, WrittenEntry
from airflow_config_providers.lint.finding import FindingLevel, SourcePlace
from tests.lint.making import codes, in_conf, in_file, job

MEMORY = "spark.executor.memory"


def test_a_key_that_appears_twice_is_found_at_its_last_line():
    file = LayerFile("base.properties", (in_file(MEMORY, "1g", 1), in_file("a", "b", 2), in_file(MEMORY, "2g", 3)))

    (found,) = rules.repeated_findings(file)

    assert (found.rule.code, found.place.line) == ("CP401", 3)
    assert found.message == f"'{MEMORY}' is set in lines 1, 3. Keep one."


def test_a_key_that_every_task_overrides_has_no_effect(tmp_path: Path):
    path = str(tmp_path / "base.properties")
    file = LayerFile(path, (in_file(MEMORY, "1g", 4, path),))

    (found,) = rules.dead_findings([job([in_conf(MEMORY, "2g")], files=(path,))], [file], [])

    assert (found.rule.code, found.rule.severity, found.place) == ("CP402", FindingLevel.NOTE, SourcePlace(path, 4))
    assert "conf of flights.report overrides it" in found.message


def test_a_key_that_one_task_reads_has_an_effect(tmp_path: Path):
    path = str(tmp_path / "base.properties")
    file = LayerFile(path, (in_file(MEMORY, "1g", 4, path),))
    jobs = [job([in_conf(MEMORY, "2g")], files=(path,)), job([], files=(path,))]

    assert list(rules.dead_findings(jobs, [file], [])) == []


def test_a_file_of_the_deployment_is_read_by_every_task(tmp_path: Path):
    path = str(tmp_path / "base.properties")
    file = LayerFile(path, (in_file(MEMORY, "1g", 4, path),))

    assert codes(rules.dead_findings([job([in_conf(MEMORY, "2g")])], [file], [path])) == ["CP402"]


def test_the_later_of_two_files_wins(tmp_path: Path):
    first, second = (str(tmp_path / name) for name in ("a.properties", "b.properties"))
    files = [LayerFile(path, (in_file(MEMORY, "1g", 1, path),)) for path in (first, second)]

    (found,) = rules.dead_findings([job(files=(first, second))], files, [])

    assert found.place.path == first
    assert f"{second}:1 overrides it" in found.message


def test_an_argument_overrides_the_conf_of_its_task():
    argument = WrittenEntry(
        MEMORY, "3g", SourcePlace("dags/flights.py", 9, "flights.report"), "argument executor_memory"
    )

    (found,) = rules.dead_findings([job([in_conf(MEMORY, "2g")], [argument])], [], [])

    assert found.place.line == 7
    assert "argument executor_memory of flights.report overrides it" in found.message


OLDER, CURRENT = "spark.yarn.executor.memoryOverhead", "spark.executor.memoryOverhead"


def test_an_older_name_of_a_key_is_the_same_key(tmp_path: Path):
    path = str(tmp_path / "base.properties")
    file = LayerFile(path, (in_file(CURRENT, "1g", 4, path),))

    (found,) = rules.dead_findings([job([in_conf(OLDER, "2g")], files=(path,))], [file], [])

    assert found.place == SourcePlace(path, 4)
    assert f"'{OLDER}' in conf of flights.report overrides it" in found.message


def test_within_a_layer_the_current_name_wins():
    (found,) = rules.dead_findings([job([in_conf(CURRENT, "1g", 3), in_conf(OLDER, "2g", 4)])], [], [])

    assert found.place.line == 4


def test_a_task_that_is_not_configured_reads_no_files(tmp_path: Path):
    path = str(tmp_path / "base.properties")
    one = replace(job([in_conf(MEMORY, "2g")], files=(path,)), is_configured=False)

    assert list(rules.dead_findings([one], [LayerFile(path, (in_file(MEMORY, "1g", 4, path),))], [])) == []
