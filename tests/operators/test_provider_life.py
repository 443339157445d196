"""How long the providers of a job are open: what they lend must last as long as the job, and no longer."""

from __future__ import annotations

import gc

import pytest

from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator

pytestmark = pytest.mark.usefixtures("spark_submit")


def job(dag, **kwargs):
    return ConfiguredSparkSubmitOperator(task_id="job", application="job.py", dag=dag, **kwargs)


def test_attack_44_what_was_lent_is_taken_back_when_the_job_has_ended(dag, run_task, diary):
    run = run_task(job(dag, conf={"spark.app.password": "${lender:x:password}"}))

    assert run.state == "success"
    assert diary() == ["opened", "lent", "taken back after the job"]


def test_attack_44_what_was_lent_is_taken_back_when_the_job_fails(dag, run_task, diary, monkeypatch):
    monkeypatch.setenv("FAKE_SPARK_EXIT", "1")

    run = run_task(job(dag, conf={"spark.app.password": "${lender:x:password}"}))

    assert run.state == "failed"
    assert diary() == ["opened", "lent", "taken back after the job"]


def test_attack_44_what_was_lent_is_taken_back_when_rendering_fails(dag, run_task, diary):
    run_task(job(dag, conf={"spark.executor.instances": "${lender:x:password}"}))

    assert diary() == ["opened", "lent", "taken back without a job"]


def test_attack_44_what_was_lent_is_taken_back_when_the_job_never_starts(dag, run_task, diary):
    def refuse(context):
        raise RuntimeError("not today")

    run = run_task(job(dag, conf={"spark.app.password": "${lender:x:password}"}, pre_execute=refuse))
    assert run.state == "failed"
    run.task._run.close()
    gc.collect()

    assert diary()[-1] == "taken back without a job"


def test_one_job_opens_its_providers_once_whatever_refers_to_them(dag, run_task, diary, tmp_path):
    (tmp_path / "lent to the job").write_text("spark.app.user=${lender:x:user}\n")
    files = [str(tmp_path / "${lender:names:file}")]

    run_task(job(dag, config_files=files, conf={"spark.app.password": "${lender:x:password}"}))

    assert diary().count("opened") == 1


def test_nothing_is_opened_for_a_job_without_references(dag, run_task, diary):
    run_task(job(dag, conf={"spark.app.name": "plain"}))

    assert diary() == []
