"""What an author's functions raise and report right before and after ``execute``."""

from __future__ import annotations

import traceback
from functools import partial

import pytest
from airflow.sdk import Asset, AssetAlias, Metadata
from structlog.contextvars import bind_contextvars, clear_contextvars, get_contextvars

from airflow_config_providers.operators.configure import configure_task
from tests.canary import CANARY
from tests.operators.stock import OurOperator, StockOperator

pytestmark = pytest.mark.usefixtures("connections")


class Keeping:
    """What a task has handed to a function outside of it."""

    token = ""


def fail(kept):
    token = f"{kept.token} or another"
    raise RuntimeError(f"{token} is refused")


def keeping(kept):
    def execute(operator, context):
        kept.token = CANARY
        return "done"

    return execute


def failing_method(name, kind, kept):
    methods = {
        "method": lambda self, context, result=None: fail(kept),
        "class method": classmethod(lambda cls, context, result=None: fail(kept)),
        "static method": staticmethod(lambda context, result=None: fail(kept)),
        "object": partial(lambda context, result=None: fail(kept)),
    }
    return type("FailingOperator", (OurOperator,), {name: methods[kind]})


def failing_generator(kept):
    def function(context, result=None):
        yield Metadata(Asset("table"), {})
        fail(kept)

    return function


def shown(error):
    frames = traceback.TracebackException.from_exception(error, capture_locals=True)
    return "".join(frames.format()) + repr(error)


@pytest.fixture(params=["pre_execute", "post_execute"])
def moment(request):
    return request.param


@pytest.fixture
def kept(moment):
    found = Keeping()
    found.token = CANARY if moment == "pre_execute" else ""
    return found


@pytest.mark.parametrize(
    "function", [lambda kept: lambda *_: fail(kept), failing_generator], ids=["function", "generator"]
)
def test_an_error_of_an_authors_function_shows_the_reference(dag, run_task, password, moment, kept, function):
    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=keeping(kept), **{moment: function(kept)}))

    assert run.state == "failed"
    assert str(run.error) == f"{password} or another is refused"
    assert CANARY not in shown(run.error)


@pytest.mark.parametrize("kind", ["method", "class method", "static method", "object"])
def test_so_does_an_error_of_a_class(dag, run_task, password, moment, kept, kind):
    job = failing_method(moment, kind, kept)(task_id="job", dag=dag, payload=password, do=keeping(kept))
    run = run_task(job)

    assert str(run.error) == f"{password} or another is refused"
    assert CANARY not in shown(run.error)


def test_so_does_an_error_of_a_function_that_was_set_on_the_task(dag, run_task, password, moment, kept):
    job = OurOperator(task_id="job", dag=dag, payload=password, do=keeping(kept))
    setattr(job, moment, lambda context, result=None: fail(kept))
    run = run_task(job)

    assert str(run.error) == f"{password} or another is refused"
    assert CANARY not in shown(run.error)


def test_so_does_an_error_of_a_function_that_was_set_before_the_task_was_configured(
    dag, run_task, password, moment, kept
):
    job = StockOperator(task_id="job", dag=dag, payload=password, do=keeping(kept))
    setattr(job, moment, lambda context, result=None: fail(kept))
    configure_task(job)
    run = run_task(job)

    assert str(run.error) == f"{password} or another is refused"
    assert CANARY not in shown(run.error)


def test_so_does_an_error_of_a_method_that_was_set_on_the_class_later(dag, run_task, password, moment, kept):
    kind = type("LateOperator", (OurOperator,), {})
    setattr(kind, moment, lambda self, context, result=None: fail(kept))
    run = run_task(kind(task_id="job", dag=dag, payload=password, do=keeping(kept)))

    assert str(run.error) == f"{password} or another is refused"
    assert CANARY not in shown(run.error)


def setting(name, kept):
    def set_method(*found):
        setattr(type(found[-1]["task"]), name, lambda self, context, result=None: fail(kept))

    return set_method


@pytest.fixture
def kept_before():
    found = Keeping()
    found.token = CANARY
    return found


@pytest.mark.parametrize("setter", ["pre_execute", "on_execute_callback", "do"])
def test_so_does_an_error_of_a_method_that_code_sets_on_the_class_while_the_task_runs(
    dag, run_task, password, kept_before, setter
):
    kind = type("LateOperator", (OurOperator,), {})
    options = {"do": lambda *_: None, setter: setting("post_execute", kept_before)}
    run = run_task(kind(task_id="job", dag=dag, payload=password, **options))

    assert str(run.error) == f"{password} or another is refused"
    assert CANARY not in shown(run.error)


def test_so_does_an_error_of_a_method_that_an_execute_of_its_own_sets(dag, run_task, password, kept_before):
    set_method = setting("post_execute", kept_before)
    kind = type("LateOperator", (OurOperator,), {"execute": lambda self, context: set_method(context)})
    run = run_task(kind(task_id="job", dag=dag, payload=password))

    assert str(run.error) == f"{password} or another is refused"


def test_so_does_an_error_of_a_method_that_is_set_after_a_deferral(dag, run_task, password, kept_before):
    kind = type("LateOperator", (OurOperator,), {})
    job = kind(task_id="job", dag=dag, payload=password, do=setting("post_execute", kept_before))
    run = run_task(job, resumed_with=("go_on", {"event": None}))

    assert str(run.error) == f"{password} or another is refused"


def test_so_does_an_error_of_a_pre_execute_that_the_function_before_it_sets(dag, run_task, password, kept_before):
    kind = type("LateOperator", (OurOperator,), {})
    run = run_task(kind(task_id="job", dag=dag, payload=password, pre_execute=setting("pre_execute", kept_before)))

    assert str(run.error) == f"{password} or another is refused"


def test_what_an_authors_function_binds_to_later_lines_of_the_log_shows_the_reference(
    dag, run_task, password, moment, kept
):
    def bind(*_):
        bind_contextvars(token=kept.token)

    try:
        run_task(OurOperator(task_id="job", dag=dag, payload=password, do=keeping(kept), **{moment: bind}))
        assert get_contextvars()["token"] == password
    finally:
        clear_contextvars()


def test_a_class_can_name_the_arguments_for_that_of_its_base(dag, run_task, password, moment, kept):
    def call_base(self, context, result=None):
        getattr(super(kind, self), moment)(context=context)

    kind = type("CallingOperator", (failing_method(moment, "method", kept),), {moment: call_base})
    run = run_task(kind(task_id="job", dag=dag, payload=password, do=keeping(kept)))

    assert str(run.error) == f"{password} or another is refused"


def set_event(context, token):
    context["outlet_events"][Asset("table")].extra = {"token": token}


def add_event(context, token):
    context["outlet_events"][AssetAlias("tables")].add(Asset("table"), extra={"token": token})


@pytest.mark.parametrize("report", [set_event, add_event])
def test_an_event_that_an_authors_function_records_shows_the_reference(dag, run_task, password, moment, kept, report):
    def record(context, result=None):
        report(context, kept.token)

    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=keeping(kept), **{moment: record}))

    assert [event["extra"] for event in run.supervisor.sent("SucceedTask")[0].outlet_events] == [{"token": password}]


def test_an_event_that_an_authors_generator_yields_shows_the_reference(dag, run_task, password, moment, kept):
    def record(context, result=None):
        yield Metadata(Asset("table"), {"token": kept.token})

    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=keeping(kept), **{moment: record}))

    assert [event["extra"] for event in run.supervisor.sent("SucceedTask")[0].outlet_events] == [{"token": password}]


def test_a_class_can_name_the_arguments_for_a_generator_of_its_base(dag, run_task, password, moment, kept):
    def record(self, context, result=None):
        yield Metadata(Asset("table"), {"token": kept.token})

    def call_base(self, context, result=None):
        yield from getattr(super(kind, self), moment)(context=context)

    kind = type("CallingOperator", (type("BaseOfJob", (OurOperator,), {moment: record}),), {moment: call_base})
    run = run_task(kind(task_id="job", dag=dag, payload=password, do=keeping(kept)))

    assert [event["extra"] for event in run.supervisor.sent("SucceedTask")[0].outlet_events] == [{"token": password}]


@pytest.mark.parametrize("name", ["_pre_execute_hook", "_post_execute_hook"])
def test_an_authors_function_can_be_deleted_from_the_task(dag, run_task, password, name):
    def called(*_):
        fail(Keeping())

    job = OurOperator(task_id="job", dag=dag, payload=password, do=lambda *_: None)
    setattr(job, name, called)
    delattr(job, name)

    assert getattr(job, name) is None
    assert run_task(job).state == "success"


def test_one_that_is_not_set_cannot_be_deleted(dag, password):
    job = OurOperator(task_id="job", dag=dag, payload=password)
    del job._post_execute_hook

    with pytest.raises(AttributeError):
        del job._post_execute_hook
