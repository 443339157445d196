"""
The process that imports DAG files, so that one that hangs or ends the process harms nothing else.

It imports Airflow, and makes copies of itself as it is asked to over a socket, which is its standard input. A copy
reads a request on each line from a socket of its own, and answers each on a line, both as JSON.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import socket
import sys
import time
import traceback
from collections.abc import Container, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Final

import psutil

from airflow_config_providers.core.concurrency.per_process import run_in_children
from airflow_config_providers.core.nested import DEEPEST_NESTING, is_mapping, items_of
from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.core.templates import is_known_only_in_run
from airflow_config_providers.job.authored_job import STORED
from airflow_config_providers.job.deployed_task import deployed_job, is_configured
from airflow_config_providers.job.operator_specs import class_of, spec_or_default
from airflow_config_providers.lint.dag_process import LARGEST_MESSAGE
from airflow_config_providers.lint.entry import StoredJob, StoredTexts

_SET_CHILD_SUBREAPER: Final = 36
"""``PR_SET_CHILD_SUBREAPER`` of ``prctl``."""

_OF_POLICIES: Final = ("AirflowClusterPolicyError:", "AirflowClusterPolicyViolation:")
"""How messages of errors of cluster policies begin."""

_SECONDS: Final = 1.0
"""The longest time for ending orphans, such as those of another user, which cannot be killed."""


def stored_parts(dag: Any) -> Iterator[StoredJob | StoredTexts]:
    """Yield the strings of ``dag`` and of each task, and the jobs of configured tasks, as Airflow stores them."""
    from airflow.serialization.serialized_objects import DagSerialization  # noqa: PLC0415 - heavy

    written = DagSerialization.to_dict(dag)
    for task in ({**written["dag"], "tasks": None}, *(task["__var"] for task in written["dag"]["tasks"])):
        task_id = task.get("task_id", "")
        fields = {**task, **(_unstored(dag.get_task(task_id), task) if task_id else {}), STORED: None}
        found = [(key, text) for key, text in _keyed_strings(fields) if is_known_only_in_run(text)]
        yield StoredTexts(dag.dag_id, task_id, tuple(text for _, text in found), tuple(key for key, _ in found))
    for task in filter(is_configured, DagSerialization.from_dict(written).tasks):
        yield replace(_stored(dag.dag_id, task), family=_family(dag.get_task(task.task_id)))


def _family(task: Any) -> str:
    """Return the family of a stock operator, or of a class below one, that is configured; empty for a class of ours."""
    kind = class_of(task)
    modules = (
        one.__module__ for base in kind.__bases__ for one in base.__mro__
    )  # its own name is that of the stock one
    return "" if any(map(_is_ours, modules)) else spec_or_default(kind).family


def _is_ours(module: str) -> bool:
    return module.startswith("airflow_config_providers.")


def _unstored(task: Any, stored: Container[str]) -> dict[str, object]:
    """Return the configuration that Airflow does not store, because it is in no template field."""
    names = () if task.is_mapped else (place.field for place in spec_or_default(type(task)).conf)
    return {name: getattr(task, name, None) for name in names if name not in stored}


def _keyed_strings(value: object, key: str = "", depth: int = DEEPEST_NESTING) -> Iterator[tuple[str, str]]:
    """
    Yield every string, also keys, with the nearest key above it that is none of Airflow's own, like ``__var``.

    Strings that are nested more deeply than ``depth`` are left out.
    """
    if isinstance(value, str):
        yield key, value
    elif depth and is_mapping(value):
        for name, item in value.items():
            yield from _keyed_strings(name, key, depth - 1)
            yield from _keyed_strings(item, key if str(name).startswith("__") else str(name), depth - 1)
    elif depth:
        for item in items_of(value) or ():
            yield from _keyed_strings(item, key, depth - 1)


def _stored(dag_id: str, task: Any) -> StoredJob:
    notes: list[str] = []
    job = deployed_job(task, str(ConfigResource.of_task(dag_id, task.task_id)), notes.append)
    return StoredJob(dag_id, task.task_id, "" if job is None else job.text(), tuple(notes))


def main(ahead: float) -> None:
    """
    Make and end copies until the other end of the socket is closed.

    :param ahead: the longest time in seconds for importing Spark's provider
    """
    with socket.socket(fileno=os.dup(0)) as control:
        _leave_streams()
        gc.disable()  # most that is loaded stays, and to search it again and again takes a third of the time
        _import_what_most_need(ahead)
        gc.freeze()  # so that copies share what is loaded
        gc.enable()
        _keep_orphans()
        own = _children()  # what importing Airflow has started
        control.send(json.dumps("ready").encode())
        copies: set[int] = set()
        while message := _received(control):
            asked, streams = message
            if "end" in asked:
                _end(asked["end"], copies)
                _end_orphans(own | copies)
                control.send(b"null")
            else:
                pid = _copied(control, *streams)
                copies.add(pid)
                control.send(json.dumps(pid).encode())
        for pid in tuple(copies):
            _end(pid, copies)
        _end_orphans(own)
    os.kill(os.getpid(), signal.SIGKILL)


def _import_what_most_need(ahead: float) -> None:
    """Import what reading needs, and what DAG files of Spark jobs import: each copy would do it anew."""
    from airflow_config_providers.lint import task_jobs  # noqa: F401, PLC0415 - slow, and part of getting ready

    _bag()
    with suppress(Exception, SystemExit, _TooLongError), _limited(ahead):  # a DAG file that imports it reports it
        import airflow.providers.apache.spark.operators.spark_submit  # noqa: F401, PLC0415 - slow, too


class _TooLongError(BaseException):
    """What a limit raises. No ``except Exception`` of others catches it."""


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Raise ``_TooLongError`` in the block after ``seconds``, also in a call that waits."""

    def end(*_: object) -> None:
        raise _TooLongError

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _leave_streams() -> None:
    """Let what DAG files and Airflow print or read go nowhere."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    os.close(nothing)


def _received(control: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """Return the next message and the descriptor that came with it, if one did; None at the end."""
    message, descriptors, _, _ = socket.recv_fds(control, LARGEST_MESSAGE, 1)
    for one in descriptors:
        os.set_inheritable(one, False)  # programs that a DAG file starts have no part in it
    return (json.loads(message), list(descriptors)) if message else None


def _copied(control: socket.socket, stream: int) -> int:
    pid = os.fork()
    if pid:
        os.close(stream)
        return pid
    try:
        os.setsid()
        _keep_orphans()  # as long as it runs, other copies have no part in what it has started
        control.close()
        _serve(stream)
    finally:
        os.kill(os.getpid(), signal.SIGKILL)  # without waiting for threads that a DAG file has started
    return 0


def _end(pid: int, copies: set[int]) -> None:
    """Kill a copy and its session. Until it is waited for, no other process has its id."""
    if pid in copies:
        copies.remove(pid)
        os.kill(pid, signal.SIGKILL)  # it is perhaps not in its session yet
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _keep_orphans() -> None:
    """Let this process be the parent of descendants whose own parent ends, until they end. Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _children() -> frozenset[int]:
    return frozenset(filter(_is_child, psutil.pids()))


def _is_child(pid: int) -> bool:
    try:
        return psutil.Process(pid).ppid() == os.getpid()
    except psutil.Error:  # it has ended meanwhile, or is hidden because it is another user's
        return False


def _end_orphans(but: Container[int]) -> None:
    """
    Kill the children of this process, and what they leave behind, such as programs in a session of their own.

    :param but: the ids of the children that go on
    """
    end = time.monotonic() + _SECONDS
    while (found := [pid for pid in _children() if pid not in but]) and time.monotonic() < end:
        for pid in found:
            with suppress(ProcessLookupError, PermissionError, ChildProcessError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.001)


def _serve(descriptor: int) -> None:
    """Answer requests until there are no more. If a DAG file forks, only the process that was asked answers."""
    asked = os.getpid()
    with socket.socket(fileno=descriptor) as stream, stream.makefile(encoding="utf-8") as requests:
        run_in_children(partial(_leave, stream))
        for line in requests:
            found = _read(**json.loads(line))
            if os.getpid() != asked:
                return
            stream.sendall(json.dumps(found).encode() + b"\n")


def _leave(stream: socket.socket) -> None:
    """Close the stream in a process that a DAG file has forked: open there, it would hide the end of its parent."""
    if (descriptor := stream.detach()) >= 0:
        os.close(descriptor)


def _bag() -> Any:
    from airflow.dag_processing.dagbag import DagBag  # noqa: PLC0415 - imports most of Airflow
    from airflow.exceptions import AirflowClusterPolicyError, AirflowClusterPolicyViolation  # noqa: PLC0415 - as above

    class Bag(DagBag):
        """Keeps the tracebacks of cluster policies, of which Airflow keeps the message alone."""

        policy_errors: ClassVar[list[str]] = []

        def bag_dag(self, dag: Any) -> None:
            try:
                super().bag_dag(dag)
            except (AirflowClusterPolicyError, AirflowClusterPolicyViolation):
                self.policy_errors.append(traceback.format_exc())
                raise

    return Bag(os.devnull, collect_dags=False, load_op_links=False)


def _errors(bag: Any) -> list[str]:
    if bag.policy_errors:
        others = (one for one in bag.import_errors.values() if not one.startswith(_OF_POLICIES))
        return [*others, *dict.fromkeys(bag.policy_errors)]
    return list(bag.import_errors.values())


def _read(*, path: str, name: str, roots: list[str], is_stored: bool = False, dags_folder: str = "") -> dict[str, Any]:
    """
    Return the jobs of the DAG file at ``path``, and the tracebacks of what failed.

    :param name: its name in findings
    :param roots: the folders from which DAG files import modules
    :param is_stored: whether to return the jobs as Airflow stores them, and not as ``lint`` checks them
    :param dags_folder: the folder of the DAGs of the deployment, instead of the configured one
    """
    if dags_folder:
        _move_dags(dags_folder)
    sys.path += [root for root in roots if root not in sys.path]
    bag = _bag()
    try:
        bag.process_file(path, only_if_updated=False)
        found = _stored_parts(bag) if is_stored else _checked_parts(bag, name, path)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the file is reported, and the next one is read
        return {"errors": [*_errors(bag), f"{type(error).__module__}.{type(error).__name__}"]}
    return {**found, "errors": _errors(bag)}


def _move_dags(folder: str) -> None:
    from airflow import settings  # noqa: PLC0415 - slow

    os.environ["AIRFLOW__CORE__DAGS_FOLDER"] = settings.DAGS_FOLDER = folder


def _checked_parts(bag: Any, name: str, path: str) -> dict[str, list[dict[str, Any]]]:
    from airflow_config_providers.lint.task_jobs import parts  # noqa: PLC0415 - see main

    jobs, others = parts(bag.dags.values(), name, Path(path).read_bytes())
    return {"jobs": [asdict(job) for job in jobs], "others": [asdict(text) for text in others]}


def _stored_parts(bag: Any) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {"stored": [], "texts": []}
    for one in chain.from_iterable(map(stored_parts, bag.dags.values())):
        found["stored" if isinstance(one, StoredJob) else "texts"].append(asdict(one))
    return found


if __name__ == "__main__":
    main(float(sys.argv[1]))
