"""What every test may use. Airflow is pointed at a folder of this run before anything imports it."""

from __future__ import annotations

import atexit
import gc
import logging
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Final

import hypothesis
import pytest

from tests import rewriting
from tests.reversal import reversing_nothing
from tests.servers import quick_java
from tests.servers.fixtures import pytest_runtest_setup, real_vault, shared_vault, vault  # noqa: F401 - for every test

# A worker's is inside of that of the process that started it, which removes it also if the worker was killed.
_OUTER = os.environ.get("AIRFLOW_HOME") if "PYTEST_XDIST_WORKER" in os.environ else None
_HOME = tempfile.mkdtemp(prefix="airflow-home-", dir=_OUTER)
atexit.register(shutil.rmtree, _HOME, ignore_errors=True)
os.environ["AIRFLOW_HOME"] = _HOME
os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "False"
os.environ.update(quick_java.ENVIRONMENT)

slow = [hypothesis.HealthCheck.too_slow]  # a machine may be slow, and no test is timed
for name, examples in {"project": 30, "thorough": 60, "again": 10}.items():
    hypothesis.settings.register_profile(name, max_examples=examples, deadline=None, suppress_health_check=slow)
hypothesis.settings.load_profile("project")  # `.ci/run` has `thorough`, and `again` for other versions of what we use

logging.getLogger("py4j.clientserver").setLevel(logging.WARNING)  # it still logs when the streams are closed

_ALL_SLOW: Final = re.compile(r"^pytestmark = .*\bpytest\.mark\.slow\b", re.MULTILINE)
"""What a file says all of whose tests are slow."""

gc.set_threshold(10_000)  # tests make more objects than a program, and most of them stay: few searches find anything


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Search for no garbage meanwhile, and keep all that is loaded then, most there ever is, out of each search."""
    gc.disable()
    try:
        rewriting.rewrite_share(session.config, pytest_ignore_collect)
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the files out that the first mark leaves out as a whole: to import all takes each worker 10 s."""
    first = config.option.markexpr.partition(" and ")[0]
    if first not in ("slow", "vault", "not slow") or collection_path.suffix != ".py":
        return None
    source = collection_path.read_text("utf-8")
    if first == "not slow":
        return True if _ALL_SLOW.search(source) else None
    says_so = first in collection_path.parts or first in source
    return None if says_so or "differential" in collection_path.parts else True


@pytest.hookimpl(optionalhook=True)  # without xdist there are no workers
def pytest_xdist_make_scheduler(config, log):
    if config.getvalue("dist") != "loadfile":
        return None
    from tests.scheduling import FileScheduling

    return FileScheduling(config, log)


@pytest.hookimpl(specname="pytest_runtest_setup", tryfirst=True)  # before any fixture
def pytest_remove_leftovers():
    """Remove what earlier tests have left: that this process is a server of Airflow, and a key of PySpark's session."""
    for name in ("_AIRFLOW_PROCESS_CONTEXT", "SPARK_BUFFER_SIZE"):
        os.environ.pop(name, None)


@pytest.fixture(scope="module")
def errors_of_py4j_itself():
    """
    Make py4j raise its own errors.

    A session of Spark in this process has changed that for all gateways, and asks its own JVM about each error.
    """
    java_gateway = pytest.importorskip("py4j.java_gateway", reason="install pyspark, which brings Py4J")
    from py4j import protocol

    before = java_gateway.get_return_value
    java_gateway.get_return_value = protocol.get_return_value
    yield
    java_gateway.get_return_value = before


@pytest.fixture(scope="module")
def nothing_reversed():
    """Reverse nothing of others; once for the tests of a file, as a search for garbage takes a second after many."""
    gc.collect()  # what is gone already undoes it itself
    with reversing_nothing():
        yield
