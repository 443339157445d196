"""What an author's code adds to the context of a task: unchanged for what follows, references for everyone else."""

from __future__ import annotations

import copy
import functools
from collections import OrderedDict
from dataclasses import dataclass

import pytest
from airflow.sdk import task
from airflow.sdk.exceptions import AirflowSkipException, TaskDeferred
from airflow.triggers.testing import SuccessTrigger

from airflow_config_providers.airflow_compat import AirflowTaskTerminated
from airflow_config_providers.core.nested import DEEPEST_NESTING
from airflow_config_providers.core.reversal.reverse import UNCHECKED, ReverseTransformer
from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.operators.configure import configure_task
from airflow_config_providers.operators.reversal import task_output
from airflow_config_providers.operators.reversal.task_output import AddedContext
from tests.calls import events_of
from tests.canary import CANARY
from tests.operators.stock import OurOperator

pytestmark = pytest.mark.usefixtures("connections")


@dataclass
class Client:
    """Shows its token, and can do more than its string."""

    token: str

    def close(self):
        return "closed"


def open_client(context, result=None):
    context["client"] = Client(CANARY)


def keep_token(_, context):
    context["token"] = CANARY


@pytest.fixture
def seen():
    """What code has found in the context."""
    return []


@pytest.fixture
def close(seen):
    """A function that uses the client."""
    return lambda context, result=None: seen.append(context["client"].close())


@pytest.fixture
def look(seen):
    """A callback."""
    return lambda context: seen.append(context.get("client", context.get("token")))


def shown_client(reference):
    return f"Client(token='{reference}')"


def job_of(dag, password, *, kind=OurOperator, do=lambda *_: "done", **hooks):
    return kind(task_id="job", dag=dag, payload=password, do=do, **hooks)


def closing(close, base=OurOperator):
    return type("ClosingOperator", (base,), {"post_execute": lambda self, context, result=None: close(context)})


def test_the_function_after_execute_gets_the_object_that_the_one_before_has_added(dag, run_task, password, close, seen):
    run = run_task(job_of(dag, password, pre_execute=open_client, post_execute=close))

    assert (run.state, seen) == ("success", ["closed"])


def test_so_does_a_method_of_the_class(dag, run_task, password, close, seen):
    run = run_task(job_of(dag, password, kind=closing(close), pre_execute=open_client))

    assert (run.state, seen) == ("success", ["closed"])


def test_so_does_the_method_that_comes_after_the_function(dag, run_task, password, close, seen):
    run = run_task(job_of(dag, password, kind=closing(close), pre_execute=open_client, post_execute=close))

    assert (run.state, seen) == ("success", ["closed", "closed"])


def test_so_does_the_rest_of_a_method_that_calls_the_one_of_its_base(dag, run_task, password, close, seen):
    def post_execute(self, context, result=None):
        super(kind, self).post_execute(context)
        close(context)

    kind = type("LaterOperator", (closing(close),), {"post_execute": post_execute})
    run = run_task(job_of(dag, password, kind=kind, pre_execute=open_client))

    assert (run.state, seen) == ("success", ["closed", "closed"])


def test_so_does_a_method_that_execute_has_set_on_the_class(dag, run_task, password, close, seen):
    kind = type("LateOperator", (OurOperator,), {})

    def do(*_):
        kind.post_execute = lambda self, context, result=None: close(context)

    run = run_task(job_of(dag, password, kind=kind, do=do, pre_execute=open_client))

    assert (run.state, seen) == ("success", ["closed"])


def test_so_does_the_rest_of_an_execute_that_calls_the_one_of_its_base(dag, run_task, password, close, seen):
    def execute(self, context):
        super(kind, self).execute(context)
        close(context)

    kind = type("LaterOperator", (OurOperator,), {"execute": execute})
    run = run_task(job_of(dag, password, kind=kind, pre_execute=open_client))

    assert (run.state, seen) == ("success", ["closed"])


def test_so_does_the_function_of_a_mapped_task(dag, run_task, password, close, seen):
    with dag:
        mapped = task(lambda x: x, task_id="job", pre_execute=open_client, post_execute=close).expand(x=["a", password])
    configure_task(mapped.operator)
    run = run_task(mapped.operator, map_index=1)

    assert (run.state, seen) == ("success", ["closed"])


def test_so_does_the_function_of_a_task_that_goes_on_after_a_deferral(dag, run_task, password, close, seen):
    job = job_of(dag, password, pre_execute=open_client, post_execute=close)
    run = run_task(job, resumed_with=("go_on", {"event": None}))

    assert (run.state, seen) == ("success", ["closed"])


def test_so_does_the_function_of_a_task_that_goes_on_after_an_error_of_a_callback(dag, run_task, password, close, seen):
    def fail(context):
        raise RuntimeError

    run = run_task(job_of(dag, password, pre_execute=open_client, on_execute_callback=fail, post_execute=close))

    assert (run.state, seen) == ("success", ["closed"])


@pytest.mark.parametrize("hooks", [{}, {"post_execute": lambda context, result: None}], ids=["none", "post_execute"])
def test_a_callback_gets_references(dag, run_task, password, look, seen, hooks):
    run_task(job_of(dag, password, pre_execute=open_client, on_success_callback=look, **hooks))

    assert seen == [shown_client(password)]


def test_a_callback_gets_references_after_a_method_of_the_class(dag, run_task, password, close, look, seen):
    run_task(job_of(dag, password, kind=closing(close), pre_execute=open_client, on_success_callback=look))

    assert seen == ["closed", shown_client(password)]


@pytest.mark.parametrize(
    ("error", "callback"), [(RuntimeError, "on_failure_callback"), (AirflowSkipException, "on_skipped_callback")]
)
@pytest.mark.parametrize("moment", ["do", "post_execute"])
def test_a_callback_gets_references_if_a_function_ends_the_task_before_others(
    dag, run_task, password, close, look, seen, error, callback, moment
):
    def end(*_):
        raise error

    hooks = {moment: end, callback: look}
    run_task(job_of(dag, password, kind=closing(close), pre_execute=open_client, **hooks))

    assert seen == [shown_client(password)]


def test_a_deferral_leaves_references_in_the_context(dag, run_task, password, close):
    def defer(*_):
        raise TaskDeferred(trigger=SuccessTrigger(), method_name="go_on")

    run = run_task(job_of(dag, password, do=defer, pre_execute=open_client, post_execute=close), finalize=False)

    assert run.task._try_state.added_context.context["client"] == shown_client(password)


def test_a_task_inside_another_one_leaves_references_although_it_has_a_function_that_comes_after(
    dag, run_task, password, look, seen
):
    inner = OurOperator(task_id="inner", dag=dag, payload=password, do=keep_token, post_execute=lambda *_: None)

    def run_inner(_, context):
        inner.render_template_fields(context)
        inner.execute(context)

    run_task(OurOperator(task_id="job", dag=dag, do=run_inner, on_success_callback=look))

    assert seen == [password]


def test_an_execute_that_a_callback_calls_once_more_leaves_references(dag, run_task, password, look, seen):
    def again(context):
        context["task"].execute(context)

    hooks = {"post_execute": lambda context, result: None, "on_success_callback": [again, look]}
    run_task(job_of(dag, password, do=keep_token, **hooks))

    assert seen == [password]


def test_a_pre_execute_that_a_callback_calls_once_more_leaves_references(dag, run_task, password, look, seen):
    def again(context):
        context["task"].pre_execute(context)

    kind = type("KeepingOperator", (OurOperator,), {"pre_execute": keep_token})
    run_task(job_of(dag, password, kind=kind, on_success_callback=[again, look]))

    assert seen == [password]


def test_the_context_of_a_task_with_functions_around_execute_is_searched_once(dag, run_task, password, monkeypatch):
    searched = []
    monkeypatch.setattr(task_output, "reverse_lineage", searched.append)
    methods = {name: lambda self, context, result=None: None for name in ("pre_execute", "post_execute")}
    kind = type("HookedOperator", (OurOperator,), {**methods, "execute": lambda self, context: self.do(self, context)})
    run_task(job_of(dag, password, kind=kind, pre_execute=open_client, post_execute=lambda context, result: None))

    assert len(searched) == 1


def conf_of(context):
    return context["dag_run"].conf


def params_of(context):
    return context["params"]


@pytest.fixture(params=[conf_of, params_of])
def mapping_of(request):
    """A function that finds a mapping in a context."""
    return request.param


CONF = {"day": "monday", "nested": {"days": ["monday"]}}


def write(mapping):
    mapping["token"] = CANARY
    mapping["nested"]["days"].append(f"of {CANARY}")
    mapping[f"key of {CANARY}"] = 1


@pytest.mark.parametrize("moment", ["pre_execute", "do", "post_execute"])
def test_a_callback_gets_references_for_what_is_written_into_a_mapping(
    dag, run_task, password, seen, mapping_of, moment
):
    def put(*found):
        write(mapping_of(found[-1] if moment == "do" else found[0]))

    hooks = {moment: put, "on_success_callback": lambda context: seen.append(dict(mapping_of(context)))}
    run_task(job_of(dag, password, params=CONF, **hooks), conf=copy.deepcopy(CONF))

    nested = {"days": ["monday", f"of {password}"]}
    assert seen == [{"day": "monday", "token": password, "nested": nested, f"key of {password}": 1}]


@pytest.mark.parametrize("kind", [dict, OrderedDict])
def test_a_callback_gets_references_for_a_conf_of_the_run_that_code_has_set(dag, run_task, password, seen, kind):
    def put(_, context):
        context["dag_run"].conf = kind(token=CANARY)

    run_task(job_of(dag, password, do=put, on_success_callback=lambda context: seen.append(conf_of(context))))

    assert seen == [{"token": password}]


def test_what_a_mapping_had_before_stays_although_it_is_like_a_value(dag, run_task, password, seen, mapping_of):
    conf = {"before": [f"of {CANARY}"], "name": CANARY}

    def look(context):
        seen.append(dict(mapping_of(context)))

    run_task(job_of(dag, password, params=conf, do=keep_token, on_success_callback=look), conf=copy.deepcopy(conf))

    assert seen == [conf]


def test_the_function_after_execute_gets_what_was_written_into_a_mapping(dag, run_task, password, seen, mapping_of):
    hooks = {
        "pre_execute": lambda context: mapping_of(context).update(client=Client(CANARY)),
        "post_execute": lambda context, result: seen.append(mapping_of(context)["client"].close()),
    }
    run_task(job_of(dag, password, **hooks))

    assert seen == ["closed"]


def test_a_mapping_that_contains_itself_does_not_fail_the_task(dag, run_task, password, seen, mapping_of):
    def put(_, context):
        mapping = mapping_of(context)
        mapping.update(own=mapping, token=CANARY)

    def look(context):
        seen.append(mapping_of(context)["token"])

    run = run_task(job_of(dag, password, do=put, on_success_callback=look))

    assert (run.state, seen) == ("success", [password])


@pytest.mark.parametrize(
    ("write", "shown"),
    [
        pytest.param(lambda held: held.append(CANARY), ["${v:a}", "${v:a}"], id="added"),
        pytest.param(lambda held: held.__setitem__(1, f"{CANARY}."), ["${v:a}."], id="replaced"),
        pytest.param(lambda held: None, [CANARY], id="as before"),
    ],
)
def test_what_is_no_json_shows_references_only_after_it_has_changed(write, shown):
    held = {"params": {"many": [Client("none"), CANARY]}}
    reverser = ReverseTransformer({}, {ConfigVariable("v", "", "a"): CANARY})

    with AddedContext(held).around(lambda: reverser, is_followed=lambda: False):
        write(held["params"]["many"])

    assert held["params"]["many"][1:] == shown


@pytest.mark.parametrize("method", ["items", "__setitem__", "__delitem__"])
def test_a_foreign_dictionary_that_refuses_a_call_shows_references_and_does_not_fail_the_task(
    dag, run_task, password, seen, method
):
    def refuse(*_):
        raise TypeError

    conf = type("Conf", (dict,), {method: refuse})(days=["monday"])

    def begin(context):
        context["dag_run"].conf = conf

    def put(*_):
        conf["days"].append(CANARY)
        dict.update(conf, {CANARY: 1})

    run = run_task(job_of(dag, password, pre_execute=begin, do=put))

    assert run.state == "success"
    assert dict.copy(conf) == {"days": ["monday", password], password: 1}


def calls_for(days):
    """Return how many functions of Python are called to notice what is written into a mapping of so many entries."""
    mapping = {"days": [{"day": day} for day in range(days)]}
    reverser = ReverseTransformer({}, {ConfigVariable("v", "p", "k"): CANARY})

    def run() -> None:
        with AddedContext({"params": mapping}).around(lambda: reverser, is_followed=lambda: False):
            pass

    return events_of(run).count("call")


def test_what_a_run_was_given_takes_no_calls_for_each_entry():
    assert calls_for(1000) == calls_for(10)


def too_deep(text):
    return functools.reduce(lambda inner, _: [inner], range(DEEPEST_NESTING + 1), text)


def test_what_a_mapping_had_before_stays_although_it_is_nested_too_deep(dag, run_task, password, seen, mapping_of):
    conf = {"deep": too_deep(CANARY)}

    def look(context):
        seen.append(dict(mapping_of(context)))

    run_task(job_of(dag, password, params=conf, do=keep_token, on_success_callback=look), conf=copy.deepcopy(conf))

    assert seen == [conf]


def test_a_callback_gets_nothing_of_what_is_nested_too_deep_and_has_changed(dag, run_task, password, seen, mapping_of):
    conf = {"deep": too_deep("monday")}

    def put(_, context):
        mapping_of(context)["deep"] = too_deep(CANARY)

    def look(context):
        seen.append(mapping_of(context)["deep"])

    run_task(job_of(dag, password, params=conf, do=put, on_success_callback=look), conf=copy.deepcopy(conf))

    assert seen == [UNCHECKED]


def test_a_callback_gets_the_reference_in_a_key_of_the_context(dag, run_task, password, seen):
    def put(_, context):
        context[f"key of {CANARY}"] = None

    run_task(job_of(dag, password, do=put, on_success_callback=seen.extend))

    assert f"key of {password}" in seen
    assert f"key of {CANARY}" not in seen


def test_what_the_context_would_ask_airflow_for_is_not_asked_for(dag, run_task, password):
    run = run_task(job_of(dag, password, do=keep_token))

    assert run.supervisor.sent("GetPrevSuccessfulDagRun") == []


@pytest.mark.parametrize("error", [AirflowTaskTerminated, SystemExit])
def test_a_callback_gets_references_if_one_before_execute_ends_the_task(dag, run_task, password, look, seen, error):
    def end(context):
        raise error

    run_task(job_of(dag, password, pre_execute=open_client, on_execute_callback=end, on_failure_callback=look))

    assert seen == [shown_client(password)]
