"""A real deployment, its API server, and its command line."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("airflow")

from tests.cli.conftest import Cli, Deployment, Driver, made
from tests.plugins.serving import Server, serving


@pytest.fixture(scope="session")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Deployment:
    return made(tmp_path_factory.getbasetemp())


@pytest.fixture(scope="session")
def running(deployment: Deployment) -> Iterator[Server]:
    with serving(deployment, "server") as server:
        server.forget()  # which gives it the policies that it is to read
        yield server


@pytest.fixture
def server(running: Server) -> Server:
    """The server; nothing is stored before."""
    running.forget()
    return running


@pytest.fixture(scope="session")
def driver(deployment: Deployment) -> Iterator[Driver]:
    driver = Driver(deployment)
    yield driver
    driver.end()


@pytest.fixture
def cli(driver: Driver, server: Server) -> Cli:
    return Cli(driver, server.deployment)
