"""A deployment whose connections and variables stand in files, with a provider that the test writes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest
import yaml

from airflow_config_providers.core import lookup
from airflow_config_providers.secrets.config_providers import ConfigProvidersBackend
from airflow_config_providers.secrets.process_state import state
from tests.secrets.books import BOOKS, Book
from tests.servers import quick_python

ROOT = Path(__file__).parents[2]
PROVIDER = f"{Book.__module__}.BookProvider"
BACKEND = "airflow_config_providers.secrets.config_providers.ConfigProvidersBackend"


class Shelf:
    """
    Files of one deployment and a book.

    The providers ``book`` and ``other`` answer from the book.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = token_hex(8)
        self.book = BOOKS[self.name] = Book()

    @property
    def providers(self) -> dict[str, str]:
        names = ("book", "other")
        return {
            "config.providers": ", ".join(names),
            **{f"config.providers.{name}.class": PROVIDER for name in names},
            **{f"config.providers.{name}.param.book": self.name for name in names},
        }

    def write(self, name: str, content: Any) -> str:
        """Write a file, as the end of its name says, and give its path."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            path.write_text(content)
        else:
            path.write_text(json.dumps(content) if name.endswith(".json") else yaml.safe_dump(content))
        return str(path)

    def providers_file(self, **more: str) -> str:
        """Write the definitions of the providers as a properties file."""
        definitions = {**self.providers, **{f"config.providers.book.param.{key}": value for key, value in more.items()}}
        return self.write("providers.properties", "".join(f"{key}={value}\n" for key, value in definitions.items()))

    def settings(self, connections: Any = None, variables: Any = None, **more: Any) -> dict[str, Any]:
        """Return ``backend_kwargs`` for connections and variables by name."""
        found: dict[str, Any] = {}
        if connections is not None:
            found["connections_file_path"] = self.write("connections.yaml", connections)
        if variables is not None:
            found["variables_file_path"] = self.write("variables.yaml", variables)
        if not {"providers_file", "providers", "conn_id"} & more.keys():
            found["providers"] = self.providers
        return {**found, **more}

    def backend(self, connections: Any = None, variables: Any = None, **more: Any) -> ConfigProvidersBackend:
        """Return a backend like that of a server."""
        return ConfigProvidersBackend(**self.settings(connections, variables, **more))


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shelf]:
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__ALLOWED_PROVIDER_CLASSES", PROVIDER)
    monkeypatch.setattr(lookup, "_FIRST_WAIT", 0.0)  # how long the pauses are is tested in core
    yield Shelf(tmp_path)
    state().close()


@pytest.fixture
def configure(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Install a backend in this process, for servers and for workers: ``configure(settings)``."""
    from airflow.sdk import configuration

    forget = getattr(configuration, "clear_secrets_backends_cache", lambda: None)

    def install(settings: Mapping[str, Any]) -> None:
        monkeypatch.setenv("AIRFLOW__SECRETS__BACKEND", BACKEND)
        monkeypatch.setenv("AIRFLOW__SECRETS__BACKEND_KWARGS", json.dumps(settings))
        forget()

    yield install
    forget()


@pytest.fixture
def run_python() -> Callable[..., str]:
    """Run a script in a process of its own, and give what it prints: ``run_python(script, *arguments, **environ)``."""

    def run(script: str, *arguments: str, **environ: str) -> str:
        done = quick_python.run("-c", script, *arguments, env={**os.environ, **environ})
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
