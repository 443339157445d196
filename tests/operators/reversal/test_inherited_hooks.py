"""Which of an author's methods Airflow calls as ``execute``, and before and after it: as of a stock operator."""

from __future__ import annotations

import copy
import pickle

import pytest
from airflow.sdk import BaseOperator

from airflow_config_providers.operators.configure import configure_task
from tests.operators.stock import OurOperator, StockOperator

pytestmark = pytest.mark.usefixtures("connections")


class CallingOperator(OurOperator):
    """Notes each call of its methods, the one of its base last."""

    def pre_execute(self, context):
        self.payload.append("class")
        super().pre_execute(context)

    def execute(self, context):
        self.payload.append("class")
        super().execute(context)

    def post_execute(self, context, result=None):
        self.payload.append("class")
        super().post_execute(context, result)


def noting(name, calls):
    def method(self, context, result=None):
        calls.append(name)

    return method


def noting_before(name, calls, moment, own):
    def method(self, context, result=None):
        calls.append(name)
        getattr(super(own[0], self), moment)(context)

    return method


def note(context, result=None):
    context["task"].payload.append("task")


@pytest.fixture(params=["pre_execute", "execute", "post_execute"])
def moment(request):
    return request.param


def job_of(kind, dag, **options):
    return kind(task_id="job", dag=dag, do=lambda *_: "done", **options)


def test_a_class_in_between_calls_its_method_before_that_of_its_base(dag, run_task, moment):
    calls, own = [], []
    audited = type("Audited", (), {moment: noting("audited", calls)})
    strict = type("Strict", (audited,), {moment: noting_before("strict", calls, moment, own)})
    own.append(strict)
    team = type("TeamOperator", (audited, OurOperator), {})
    run_task(job_of(type("JobOperator", (team, strict), {}), dag))

    assert calls == ["strict", "audited"]


def test_a_method_that_was_replaced_in_a_base_is_called(dag, run_task, moment):
    calls = []
    audited = type("Audited", (), {moment: noting("before", calls)})
    kind = type("JobOperator", (audited, OurOperator), {})
    setattr(audited, moment, noting("replaced", calls))
    run_task(job_of(kind, dag))

    assert calls == ["replaced"]


def test_a_function_on_the_task_replaces_the_method_of_the_class(dag, run_task, moment):
    job = job_of(CallingOperator, dag, payload=[])
    setattr(job, moment, note)
    run = run_task(job)

    assert run.task.payload.count("task") == 1
    assert run.task.payload.count("class") == 2  # of the other moments


def test_a_function_on_the_task_can_call_the_method_that_it_replaces(dag, run_task, moment):
    calls, own = [], []
    base = type("BaseOfJob", (OurOperator,), {moment: noting("base", calls)})
    kind = type("JobOperator", (base,), {moment: noting_before("class", calls, moment, own)})
    own.append(kind)
    job = job_of(kind, dag)
    replaced = getattr(job, moment)

    def around(context, result=None):
        calls.append("task")
        replaced(context)

    setattr(job, moment, around)
    run_task(job)

    assert calls == ["task", "class", "base"]


def test_the_method_of_the_class_is_back_when_that_of_the_task_is_deleted(dag, run_task, moment):
    job = job_of(CallingOperator, dag, payload=[])
    setattr(job, moment, note)
    delattr(job, moment)
    run = run_task(job)

    assert run.task.payload == ["class"] * 3


def test_what_was_not_set_on_the_task_cannot_be_deleted(dag, moment):
    with pytest.raises(AttributeError, match=moment):
        delattr(job_of(CallingOperator, dag), moment)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda job: pickle.loads(pickle.dumps(job))])
def test_a_copy_has_the_function_of_the_task(moment, duplicate):
    job = StockOperator(task_id="job", payload=[])
    configure_task(job)
    setattr(job, moment, note)
    copied = duplicate(job)
    getattr(copied, moment)({"task": copied})

    assert copied.payload == ["task"]


@pytest.mark.parametrize("moment", ["pre_execute", "post_execute"])
def test_airflow_sees_that_nobody_has_overridden_a_method(dag, moment):
    kind = type("JobOperator", (OurOperator,), {})

    assert getattr(kind, moment) is getattr(BaseOperator, moment)
    assert getattr(job_of(kind, dag), moment).__func__ is getattr(BaseOperator, moment)


@pytest.mark.parametrize("moment", ["pre_execute", "post_execute"])
def test_airflow_sees_that_a_task_has_its_own_method_again(dag, moment):
    job = job_of(type("JobOperator", (OurOperator,), {}), dag)
    before = getattr(job, moment)
    setattr(job, moment, note)
    setattr(job, moment, before)

    assert getattr(job, moment).__func__ is getattr(BaseOperator, moment)


def test_a_class_made_of_what_another_contains_calls_its_method(dag, run_task, moment):
    calls = []
    kind = type("JobOperator", (OurOperator,), {moment: noting("class", calls)})
    contents = {name: part for name, part in vars(kind).items() if name not in {"__dict__", "__weakref__"}}
    run_task(job_of(type(kind)("RemadeOperator", kind.__bases__, contents), dag))

    assert calls == ["class"]
