"""An ``execute`` that is inherited, replaced, or set on a task: what it leaves behind are references."""

from __future__ import annotations

import copy
import pickle
from abc import abstractmethod
from functools import wraps

import pytest
from airflow.sdk.exceptions import TaskDeferred

from airflow_config_providers.operators.configure import configure_task, configured
from airflow_config_providers.operators.configured import ConfiguredOperator
from tests.canary import CANARY
from tests.operators.reversal.test_before_execute import CarryingTrigger
from tests.operators.stock import OurOperator, StockOperator

pytestmark = pytest.mark.usefixtures("connections")


class Keeping(OurOperator):
    """Keeps a value that its job has had, where nothing reverses it."""

    kept: list[str]

    def execute(self, context):
        super().execute(context)
        return f"told {self.kept[-1]}"


def keeping(kept):
    def do(operator, context):
        kept.append(operator.payload)

    return do


def failing(kept):
    def execute(self, context):
        super(OurOperator, self).execute(context)
        raise ValueError(f"{kept[-1]} is refused")

    return execute


def job_of(kind, dag, password, do):
    return kind(task_id="job", dag=dag, payload=password, do=do)


def test_each_class_of_a_chain_is_called_once_and_the_values_are_forgotten_once(dag, run_task, password):
    calls = []

    class First(OurOperator):
        def execute(self, context):
            calls.append(("first", self.payload))
            return super().execute(context)

    class Second:
        def execute(self, context):
            calls.append(("second", self.payload))
            return super().execute(context)

    class Third(Second, First):
        def execute(self, context):
            result = super().execute(context)
            calls.append(("third", self.payload))
            return result

    run = run_task(job_of(Third, dag, password, lambda self, _: calls.append(("job", self.payload)) or self.payload))

    assert calls == [("second", password), ("first", password), ("job", CANARY), ("third", password)]
    assert [sent.value for sent in run.supervisor.sent("SetXCom")] == [password]


def test_an_error_of_a_second_base_shows_the_reference(dag, run_task, password):
    kept = []
    audited = type("Audited", (), {"execute": lambda self, context: None})
    strict = type("Strict", (audited,), {"execute": failing(kept)})
    team = type("TeamOperator", (audited, OurOperator), {})
    run = run_task(job_of(type("JobOperator", (team, strict), {}), dag, password, keeping(kept)))

    assert str(run.error) == f"{password} is refused"


@pytest.mark.parametrize("is_configured", [True, False])
def test_an_error_of_an_execute_that_has_replaced_that_of_a_base_shows_the_reference(
    dag, run_task, password, is_configured
):
    kept = []
    bases = (OurOperator,) if is_configured else ()
    base = type("Base", bases, {"execute": lambda self, context: None})
    kind = type("JobOperator", (base,) if is_configured else (base, OurOperator), {})
    base.execute = failing(kept)
    run = run_task(job_of(kind, dag, password, keeping(kept)))

    assert str(run.error) == f"{password} is refused"


def test_so_does_that_of_one_that_was_set_on_the_class_later(dag, run_task, password):
    kept = []
    kind = type("LateOperator", (OurOperator,), {})
    kind.execute = failing(kept)
    run = run_task(job_of(kind, dag, password, keeping(kept)))

    assert str(run.error) == f"{password} is refused"


def test_so_does_that_of_one_that_looks_like_the_one_of_its_base(dag, run_task, password):
    kept = []

    class Wrapping(Keeping):
        @wraps(Keeping.execute)
        def execute(self, context):
            super().execute(context)
            raise ValueError(f"{kept[-1]} is refused")

    Wrapping.kept = kept
    run = run_task(job_of(Wrapping, dag, password, keeping(kept)))

    assert str(run.error) == f"{password} is refused"


@pytest.mark.parametrize("is_early", [True, False], ids=["before it is configured", "after it is configured"])
def test_so_does_that_of_a_function_that_was_set_on_the_task(dag, run_task, password, is_early):
    kept = []
    job = job_of(StockOperator if is_early else OurOperator, dag, password, keeping(kept))

    def execute(context):
        type(context["task"]).execute(context["task"], context)
        raise ValueError(f"{kept[-1]} is refused")

    job.execute = execute
    configure_task(job)
    run = run_task(job)

    assert str(run.error) == f"{password} is refused"


def test_so_does_that_of_a_task_that_was_not_rendered(dag, password):
    kept = []

    def execute(self, context):
        super(kind, self).execute(context)
        raise RuntimeError(f"{kept[0]} is refused")

    kind = type("DirectOperator", (OurOperator,), {"execute": execute})
    job = kind(task_id="job", dag=dag, payload=password, do=lambda self, _: kept.append(self.payload))

    with pytest.raises(RuntimeError) as caught:
        job.execute({})

    assert (kept, str(caught.value)) == ([CANARY], f"{password} is refused")


def test_a_function_that_was_set_on_the_task_can_call_that_of_its_class(dag, run_task, password):
    job = job_of(Keeping, dag, password, keeping(kept := []))
    Keeping.kept = kept
    job.execute = lambda context: type(context["task"]).execute(context["task"], context)
    run = run_task(job)

    assert [sent.value for sent in run.supervisor.sent("SetXCom")] == [f"told {password}"]


def test_a_task_that_goes_on_in_a_method_of_a_second_base_has_values_there(dag, run_task, password):
    seen = []

    class Audited:
        def execute(self, context):
            raise NotImplementedError

    class Strict(Audited):
        def execute(self, context):
            raise TaskDeferred(trigger=CarryingTrigger(), method_name="execute_complete")

        def execute_complete(self, context, event=None):
            seen.append(self.payload)

    kind = type("JobOperator", (type("Team", (Audited, OurOperator), {}), Strict), {})
    job = job_of(kind, dag, password, None)
    deferred = run_task(job, finalize=False)
    run_task(job, resumed_with=(deferred.message.next_method, {}))

    assert seen == [CANARY]


def test_a_mapped_task_executes_that_of_a_second_base(dag, run_task, password):
    seen = []

    class Strict:
        def execute(self, context):
            seen.append(self.payload)
            return super().execute(context)

    kind = type("JobOperator", (Strict, OurOperator), {})
    with dag:
        mapped = kind.partial(task_id="job", do=lambda self, _: seen.append(self.payload)).expand(
            payload=["a", password]
        )
    run_task(mapped, map_index=1)

    assert seen == [password, CANARY]


def test_an_abstract_method_stays_abstract():
    class Abstract(OurOperator):
        @abstractmethod
        def execute(self, context): ...

    with pytest.raises(TypeError, match="abstract"):
        Abstract(task_id="job")


def test_a_class_without_one_of_its_own_has_that_of_its_base():
    assert type("JobOperator", (OurOperator,), {}).execute is ConfiguredOperator.execute


class Referring(StockOperator):
    """Has its own method as an attribute."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.main = self.execute

    def execute(self, context):
        return super().execute(context)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda job: pickle.loads(pickle.dumps(job))])
def test_a_copy_has_its_own_method_as_an_attribute(duplicate):
    copied = duplicate(configured(Referring)(task_id="job"))

    assert copied.main.__self__ is copied


def test_what_is_set_on_a_task_in_place_of_execute_has_its_attributes(dag, password):
    job = OurOperator(task_id="job", dag=dag, payload=password)
    job.execute = execute = lambda context: None
    execute.times = 3

    assert (job.execute.times, repr(job.execute)) == (3, repr(execute))
