"""A deployment, made for the tests of the command line, and its commands."""

from __future__ import annotations

from tests.cli.conftest import cli, deployment, driver

__all__ = ["cli", "deployment", "driver"]
