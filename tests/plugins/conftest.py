"""A real deployment, its API server, and its command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache

import pytest

pytest.importorskip("airflow")

from tests.cli.conftest import Cli, Deployment, Driver, driver_of, made
from tests.cli.recorded import Records, records_in
from tests.plugins.serving import Server, serving


@pytest.fixture(scope="session")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Deployment:
    return made(tmp_path_factory.getbasetemp())


@cache
def server_of(deployment: Deployment, config: pytest.Config) -> Server:
    """Start the server that all tests of a deployment share; it ends with the tests."""
    started = ExitStack()
    config.add_cleanup(started.close)
    server = started.enter_context(serving(deployment, "server"))
    server.forget()  # which gives it the policies that it is to read
    return server


@pytest.fixture(scope="session")
def running(deployment: Deployment, pytestconfig: pytest.Config) -> Server:
    return server_of(deployment, pytestconfig)


@pytest.fixture
def server(running: Server) -> Server:
    """The server; nothing is stored before."""
    running.forget()
    return running


@pytest.fixture(scope="session")
def driver(deployment: Deployment) -> Driver:
    return driver_of(deployment)


@pytest.fixture
def cli(driver: Driver, server: Server) -> Cli:
    return Cli(driver, server.deployment)


@pytest.fixture
def records(server: Server) -> Iterator[Records]:
    with records_in(server.deployment) as found:
        yield found
