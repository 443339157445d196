"""A plugin that writes down all that a listener, a callback and a hook of the author's can reach of a task."""

import sys
import traceback
import types
from pathlib import Path

from airflow.listeners import hookimpl
from airflow.plugins_manager import AirflowPlugin

OUTPUT = Path(__file__).parents[1] / "recorded"
DEEPEST = 8
MOST = 5_000
FOLLOWED = ("airflow_config_providers", "airflow.providers", "weakref")
"""Objects of these are looked into; what else there is, such as the whole DAG, is shown as it shows itself."""
UNINTERESTING = (types.ModuleType, type, types.FunctionType, types.MethodType, types.BuiltinFunctionType)


def reachable(thing, *, with_slots=False):
    """
    Return the text of everything that ``thing`` references, breadth first.

    Ordinary code follows the dictionaries of objects. Following slots, too, is like reading memory.
    """
    seen, todo = set(), [("task", thing, 0)]
    while todo and len(seen) < MOST:
        path, node, depth = todo.pop(0)
        if id(node) in seen or isinstance(node, UNINTERESTING):
            continue
        seen.add(id(node))
        yield f"{path} = {safe_repr(node)}"
        if depth < DEEPEST:
            todo += [(f"{path}{name}", part, depth + 1) for name, part in parts(node, with_slots)]


def safe_repr(node):
    try:
        return f"{node!r} {node!s}"
    except Exception as error:  # noqa: BLE001 - whatever a foreign object raises
        return f"<no text: {type(error).__name__}>"


def parts(node, with_slots):
    if isinstance(node, dict):
        return [(f"[{key!r}]", value) for key, value in list(node.items())]
    if isinstance(node, (list, tuple, set, frozenset)):
        return [(f"[{i}]", value) for i, value in enumerate(node)]
    if not type(node).__module__.startswith(FOLLOWED):
        return []
    names = {*getattr(node, "__dict__", ())}
    for kind in type(node).__mro__ if with_slots else ():
        slots = kind.__dict__.get("__slots__", ())
        names |= {slots} if isinstance(slots, str) else {*slots}
    return [(f".{name}", value) for name in names if (value := getattr(node, name, None)) is not None]


def view(task, **how):
    return "\n".join([*reachable({"task": task, **vars(task)}, **how), *reachable(getattr(task, "_hook", None), **how)])


def record(kind, task_instance, error=""):
    task = task_instance.task
    OUTPUT.mkdir(exist_ok=True)
    name = f"{task.task_id}-{task_instance.run_id.replace('/', '_')}.txt"
    (OUTPUT / f"{kind}-{name}").write_text(f"{view(task)}\n{error}", errors="surrogatepass")
    (OUTPUT / f"memory-{kind}-{name}").write_text(view(task, with_slots=True), errors="surrogatepass")


def text_of(error):
    if not isinstance(error, BaseException):
        return repr(error)
    return "".join([*traceback.format_exception(error), *reachable(error)])


@hookimpl
def on_task_instance_running(previous_state, task_instance):
    record("listener-running", task_instance)


@hookimpl
def on_task_instance_success(previous_state, task_instance):
    record("listener-success", task_instance)


@hookimpl
def on_task_instance_failed(previous_state, task_instance, error):
    record("listener-failed", task_instance, text_of(error))


def callback(context):
    """Be an ``on_failure_callback``."""
    record("callback", context["ti"], text_of(context.get("exception")))


def push(context, result):
    """Be a ``post_execute`` that puts into XCom what it can reach."""
    context["ti"].xcom_push("reachable", view(context["ti"].task))


class Recorder(AirflowPlugin):
    """Registers the listener."""

    name = "recorder"
    listeners = (sys.modules[__name__],)
