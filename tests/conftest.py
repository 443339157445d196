"""What every test may use. Airflow is pointed at a folder of this run before anything imports it."""

from __future__ import annotations

import atexit
import gc
import logging
import os
import shutil
import tempfile

import hypothesis
import pytest

from tests.servers import quick_java
from tests.servers.fixtures import pytest_runtest_setup, real_vault, vault  # noqa: F401 - for every test

_HOME = tempfile.mkdtemp(prefix="airflow-home-")
atexit.register(shutil.rmtree, _HOME, ignore_errors=True)
os.environ["AIRFLOW_HOME"] = _HOME
os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "False"
os.environ.update(quick_java.ENVIRONMENT)

slow = [hypothesis.HealthCheck.too_slow]  # a machine may be slow, and no test is timed
hypothesis.settings.register_profile("project", deadline=None, suppress_health_check=slow)
hypothesis.settings.load_profile("project")

logging.getLogger("py4j.clientserver").setLevel(logging.WARNING)  # it still logs when the streams are closed


def pytest_collection_finish():
    """Keep all that is loaded now, which is most there ever is, out of each search for garbage."""
    gc.freeze()


@pytest.fixture(autouse=True)
def of_no_server():
    """Parts of Airflow say in the environment that their process is a server, and leave that to later tests."""
    os.environ.pop("_AIRFLOW_PROCESS_CONTEXT", None)
