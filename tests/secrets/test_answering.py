"""A fork waits while something is imported, and is not in anyone's way afterwards."""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager

import pytest

from airflow_config_providers.core import ProviderRegistry
from airflow_config_providers.exceptions import ProviderDefinitionError
from airflow_config_providers.secrets.answering import importing
from tests.limits import LONGEST


def exit_code(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_fork_waits_until_an_import_has_ended():
    entered, ended = threading.Event(), threading.Event()

    def import_slowly():
        with importing():
            entered.set()
            time.sleep(0.3)
            ended.set()

    thread = threading.Thread(target=import_slowly)
    thread.start()
    assert entered.wait(LONGEST)
    child = os.fork()
    if not child:
        with importing():
            os._exit(0 if ended.is_set() else 1)
    thread.join()

    assert exit_code(child) == 0


def test_who_imports_may_fork():
    with importing():
        child = os.fork()
        if not child:
            with importing():
                os._exit(0)

    assert exit_code(child) == 0


def test_an_import_may_need_another():
    with importing(), importing():
        pass


@pytest.mark.parametrize("name", ["directory", "nowhere.Provider"])
def test_classes_of_providers_are_imported_in_what_the_registry_is_given(name):
    entered = []

    @contextmanager
    def noted():
        entered.append(name)
        yield

    registry = ProviderRegistry(allowed_classes=["nowhere.Provider"], importing=noted)
    try:
        registry.open({"config.providers": "p", "config.providers.p.class": name}).close()
    except ProviderDefinitionError:
        assert name == "nowhere.Provider"
    assert entered == [name]
