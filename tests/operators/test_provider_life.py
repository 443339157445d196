"""How long the providers of a job are open: what they lend must last as long as the job, and no longer."""

from __future__ import annotations

import gc
import json
import os
import threading

import pytest

from airflow_config_providers.exceptions import ProviderDefinitionError, UnresolvedReferenceError
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
from tests.limits import LONGEST, eventually

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
    run.task._try_state.run.close()
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


@pytest.fixture
def define(diary, monkeypatch):
    """Define additional providers in the deployment, in the order of names."""

    def define(name, settings):
        connection = json.loads(os.environ["AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT"])
        connection["extra"]["config.providers"] = ", ".join(sorted(["lender", name]))
        connection["extra"] |= {f"config.providers.{name}.{key}": value for key, value in settings.items()}
        monkeypatch.setenv("AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT", json.dumps(connection))

    return define


@pytest.fixture
def beside_a_broken_one(define):
    """The deployment defines another provider, wrongly: it lacks Vault's address."""
    define("broken", {"class": "vault"})


@pytest.mark.usefixtures("beside_a_broken_one")
def test_a_definition_that_is_wrong_is_in_nobodys_way_who_does_not_refer_to_it(dag, run_task, diary):
    run = run_task(job(dag, conf={"spark.app.password": "${lender:x:password}"}))

    assert run.state == "success"
    assert diary() == ["opened", "lent", "taken back after the job"]


BROKEN = [
    pytest.param({"class": "vault"}, id="vault without an address"),
    pytest.param({"class": "file", "param.allowed.paths": "/nonexistent"}, id="a path that is not there"),
    pytest.param({"class": "vualt"}, id="an unknown class"),
    pytest.param({"class": "env", "param.allowlist.pattern": "("}, id="a pattern that is none"),
]


@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("name", ["a_broken_one", "z_broken_one"])
def test_whatever_is_wrong_with_a_provider_fails_no_job_that_does_not_refer_to_it(
    dag, run_task, diary, define, broken, name
):
    define(name, broken)
    run = run_task(job(dag, conf={"spark.app.password": "${lender:x:password}"}))

    assert run.state == "success", run.error
    assert diary() == ["opened", "lent", "taken back after the job"]


def test_a_job_configures_none_of_the_providers_that_it_does_not_refer_to(dag, run_task, diary, define, tmp_path):
    other = {"class": "tests.operators.lending.LendingConfigProvider", "param.diary": str(tmp_path / "other")}
    define("other", other)
    run = run_task(job(dag, conf={"spark.app.password": "${lender:x:password}"}))

    assert run.state == "success", run.error
    assert diary() == ["opened", "lent", "taken back after the job"]
    assert not (tmp_path / "other").exists()


@pytest.mark.usefixtures("beside_a_broken_one")
def test_a_definition_that_is_wrong_fails_the_render_of_who_refers_to_it(dag, run_task, diary):
    conf = {"spark.app.password": "${lender:x:password}", "spark.app.other": "${broken:a:b}"}
    run = run_task(job(dag, conf=conf))

    assert isinstance(run.error, ProviderDefinitionError)
    assert run.error.problems[0].startswith("Provider broken: The address is missing")
    assert "lent" not in diary()


@pytest.mark.usefixtures("beside_a_broken_one")
def test_an_unknown_provider_is_told_the_names_of_all_that_are_defined(dag, run_task):
    run = run_task(job(dag, conf={"spark.app.password": "${lendr:x:password}"}))

    assert isinstance(run.error, UnresolvedReferenceError)
    assert "did you mean 'lender'? Known providers: broken, lender." in str(run.error)


class GoneOnceLent(dict):
    """The texts of a store that is away as soon as something was lent."""

    def __init__(self, diary):
        super().__init__()
        self._diary = diary

    def get(self, key, default=None):
        return OSError("away") if "lent" in self._diary() else super().get(key, default)


def test_a_store_that_is_away_after_something_was_lent_is_not_needed_to_begin_the_job(dag, run_task, diary, store):
    store.texts = GoneOnceLent(diary)
    run = run_task(job(dag, conf={"spark.app.password": "${lender:x:password}"}, streaming=True))

    assert run.state == "success"
    assert diary() == ["opened", "lent", "taken back after the job"]


def test_what_was_lent_to_a_job_is_taken_back_when_the_job_is_replaced(
    dag, run_task, diary, define, spark_submit, tmp_path, monkeypatch
):
    """The next run has its own before the job of the last one is stopped."""
    (tmp_path / "password").write_text("first")
    define("dir", {"class": "directory", "param.allowed.paths": str(tmp_path)})
    monkeypatch.setenv("FAKE_SPARK_RUNS_UNTIL", str(tmp_path / "end"))
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RELOAD_SETTLING", "0")
    events = []

    def rotate():
        assert eventually(lambda: len(spark_submit()) == 1)
        (tmp_path / "password").write_text("second")
        assert eventually(lambda: len(spark_submit()) == 2)
        events.extend(diary())
        (tmp_path / "end").touch()

    steps = threading.Thread(target=rotate)
    steps.start()
    conf = {"spark.app.password": f"${{dir:{tmp_path}:password}}", "spark.app.user": "${lender:x:user}"}
    run = run_task(job(dag, conf=conf, streaming=True))
    steps.join(LONGEST)

    assert run.state == "success"
    assert events == ["opened", "lent", "opened", "lent", "taken back after the job"]
    assert diary() == [*events, "taken back after the job"]
