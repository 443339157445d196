"""Providers that notice changes in other ways than those of this package."""

from __future__ import annotations

import threading
from typing import ClassVar

from airflow_config_providers.core.provider import ConfigData, ConfigProvider


class NoSubscriptions(ConfigProvider):
    """A provider that can only be asked."""

    def get(self, path, keys=None):
        """Return one value."""
        return ConfigData({"k": "v"})


class OwnSubscriptions(NoSubscriptions):
    """A provider whose server reports changes."""

    def subscribe(self, path, keys, callback):
        """Do nothing, as no value changes."""


class Hanging(NoSubscriptions):
    """A provider whose server accepts requests, and does not answer until it may."""

    asked: ClassVar[list[str]] = []
    may_answer: ClassVar[threading.Event] = threading.Event()

    def get(self, path, keys=None):
        """Wait, then return one value."""
        self.asked.append(path)
        self.may_answer.wait()
        return super().get(path, keys)
