"""Our backend, noting what an answer to a question for a setting brings about."""

from __future__ import annotations

import sys

from airflow_config_providers.secrets.config_providers import ConfigProvidersBackend

WITHIN: list[str] = []
"""Settings that were asked for while another was being answered."""

BROUGHT_IN: set[str] = set()
"""Modules that were imported while a setting was being answered."""

_asked: list[str] = []


class NotingBackend(ConfigProvidersBackend):
    """Set as ``[secrets] backend`` of a process of its own."""

    def get_config(self, key: str) -> str | None:
        if _asked:
            WITHIN.append(key)
        _asked.append(key)
        before = set(sys.modules)
        try:
            return super().get_config(key)
        finally:
            BROUGHT_IN.update(set(sys.modules) - before)
            _asked.pop()
