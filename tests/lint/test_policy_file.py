"""Files of policies."""

from __future__ import annotations

from pathlib import Path

from airflow_config_providers.lint import other_files


def test_each_problem_of_the_policies_has_its_line(tmp_path: Path):
    path = tmp_path / "policies.yaml"
    path.write_text("policies:\n- name: a\n  class: forbidden_keys\n  clas: x\n- name: b\n  class: nope\n")

    found = list(other_files.check_policy_file(str(path)))

    assert {one.rule.code for one in found} == {"CP004"}
    assert {(one.place.path, one.place.line) for one in found} >= {(str(path), 2)}
    assert "did you mean 'class'" in found[0].message


def test_policies_that_load_are_no_finding(tmp_path: Path):
    path = tmp_path / "policies.yaml"
    path.write_text("policies:\n- name: a\n  class: forbidden_keys\n  params:\n    keys: spark.jars\n")

    assert list(other_files.check_policy_file(str(path))) == []


def test_a_file_that_does_not_exist_is_a_finding(tmp_path: Path):
    (found,) = other_files.check_policy_file(str(tmp_path / "nope.yaml"))

    assert "cannot be read" in found.message
