"""A provider that answers from a book which the test holds in its hand."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_config_providers.core.provider import ConfigData, ConfigProvider

BOOKS: dict[str, Book] = {}


@dataclass
class Book:
    """
    What providers answer, and what happened to them.

    :param data: path -> key -> value
    :param on_get: called with each path before it is answered; may raise
    :param on_open: called when a provider is configured; may raise
    :param on_need: called with what a provider needs to open; may raise
    :param opened: the process that each provider was opened in
    """

    data: dict[str, dict[str, str]] = field(default_factory=dict)
    on_get: Callable[[str], object] = lambda path: None
    on_open: Callable[[], object] = lambda: None
    on_need: Callable[[str], object] = lambda name: None
    opened: list[int] = field(default_factory=list)
    calls: list[tuple[str, frozenset[str] | None]] = field(default_factory=list)
    closed: int = 0


class BookProvider(ConfigProvider):
    """Its parameters: ``book``, a name in ``BOOKS``; ``needs``, what it needs to open; ``revision`` means nothing."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def configure(self, configs: Mapping[str, Any]) -> None:
        self._book = BOOKS[configs["book"]]
        with self._lock:
            self._book.opened.append(os.getpid())
        self._book.on_open()
        if "needs" in configs:
            self._book.on_need(configs["needs"])

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        with self._lock:
            self._book.calls.append((path, None if keys is None else frozenset(keys)))
        self._book.on_get(path)
        values = self._book.data.get(path, {})
        return ConfigData({key: value for key, value in values.items() if keys is None or key in keys})

    def close(self) -> None:
        self._book.closed += 1
