"""The process of the real Vault: ready when it says so, and gone with the tests."""

from __future__ import annotations

import subprocess
import sys

import psutil
import pytest

from tests.limits import LONGEST, eventually
from tests.servers.build import SOURCES, built_binary, cached_binary

ROOT = SOURCES.parents[2]
pytestmark = pytest.mark.vault

STARTS_ONE = f"""
import time
from tests.servers.build import built_binary
from tests.servers.vault_process import VaultProcess

process = VaultProcess(built_binary())
print(process.pid, flush=True)
time.sleep({LONGEST})
"""


@pytest.fixture(autouse=True)
def built():
    if cached_binary() is None:
        pytest.skip("the real Vault is elsewhere")


def test_the_binary_is_outside_of_its_sources():
    assert not built_binary().is_relative_to(SOURCES)
    assert cached_binary() == built_binary()


def test_vault_ends_with_the_process_that_started_it():
    with subprocess.Popen([sys.executable, "-c", STARTS_ONE], stdout=subprocess.PIPE, text=True, cwd=ROOT) as parent:
        vault = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
    assert eventually(lambda: not lives(vault))


def lives(process):
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
