"""Ask providers whether they can answer."""

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
    Ask all providers at once, each in a thread of its own that is left alone when it takes too long.

    :param patience: seconds to wait for all of them
    :return: name -> whether it can answer, and what there is to tell
    """
    checks = {name: _Check(provider) for name, provider in providers.items()}
    until = clock() + patience
    for check in checks.values():
        check.thread.join(max(0.0, until - clock()))
    late = (False, f"no answer within {patience:g} seconds")
    return {name: check.outcome or late for name, check in checks.items()}


def told(outcomes: Mapping[str, tuple[bool, str]], origins: Mapping[str, str]) -> tuple[bool, str]:
    """
    Tell whether all can answer, with one line for each.

    :param origins: name -> the distribution that a provider is from; told of those that are not from this one
    """
    lines = [f"{printable(name)}: {text}{_from(origins.get(name, ''))}" for name, (_, text) in outcomes.items()]
    return all(is_good for is_good, _ in outcomes.values()), "\n".join(lines) or "no providers"


def _from(distribution: str) -> str:
    return f" (from {printable(distribution)})" if distribution not in {"", OURS} else ""


class _Check:
    def __init__(self, provider: ConfigProvider) -> None:
        self.outcome: tuple[bool, str] | None = None
        self._provider = provider
        context = copy_context()  # in which Airflow keeps the connection that is tested
        self.thread = threading.Thread(target=lambda: context.run(self._run), daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            self.outcome = (True, self._provider.check() or "ok")
        except ConfigProvidersError as error:
            self.outcome = (False, "; ".join(error.problems))
        except Exception as error:  # noqa: BLE001 - a third party's provider may raise anything; its text may hold a value
            self.outcome = (False, f"its check failed with {type(error).__name__}")
