"""Checks whether providers can answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextvars import copy_context
from typing import Final

from airflow_config_providers.core.provider import ConfigProvider
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigProvidersError

PATIENCE: Final = 60.0

OURS: Final = "airflow-config-providers"


def ask_each(
    providers: Mapping[str, ConfigProvider], *, patience: float = PATIENCE, clock: Callable[[], float] = time.monotonic
) -> dict[str, tuple[bool, str]]:
    """
    Check all providers in parallel, each in a thread that is abandoned if it takes too long.

    :param patience: the seconds to wait for all of them together
    :return: name -> whether the provider can answer, and a message
    """
    checks = {name: _Check(provider) for name, provider in providers.items()}
    until = clock() + patience
    for check in checks.values():
        check.thread.join(max(0.0, until - clock()))
    late = (False, f"no answer within {patience:g} seconds")
    return {name: check.outcome or late for name, check in checks.items()}


def told(outcomes: Mapping[str, tuple[bool, str]], origins: Mapping[str, str]) -> tuple[bool, str]:
    """
    Return whether all providers can answer, and a text with one line for each.

    :param origins: name -> the distribution that a provider is from, which the text names unless it is this package
    """
    lines = [f"{printable(name)}: {text}{_from(origins.get(name, ''))}" for name, (_, text) in outcomes.items()]
    return all(is_good for is_good, _ in outcomes.values()), "\n".join(lines) or "no providers"


def _from(distribution: str) -> str:
    return f" (from {printable(distribution)})" if distribution not in {"", OURS} else ""


class _Check:
    def __init__(self, provider: ConfigProvider) -> None:
        self.outcome: tuple[bool, str] | None = None
        self._provider = provider
        context = copy_context()  # Airflow keeps the connection under test in the context
        self.thread = threading.Thread(target=lambda: context.run(self._run), daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            self.outcome = (True, self._provider.check() or "ok")
        except ConfigProvidersError as error:
            self.outcome = (False, "; ".join(error.problems))
        except Exception as error:  # noqa: BLE001 - any provider can raise anything; its text can hold a value
            self.outcome = (False, f"its check failed with {type(error).__name__}")
