"""Re-encrypts stored secrets after the secret of ``PasswordEncoder`` has changed (KIP-226)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from airflow_config_providers.core.text import printable
from airflow_config_providers.dynamic import document, history
from airflow_config_providers.dynamic.document import (
    HISTORY,
    PREFIX,
    Document,
    Sealed,
    StoredConfig,
    Value,
    history_name,
    owner_of,
)
from airflow_config_providers.dynamic.history import Change, History
from airflow_config_providers.dynamic.password_encoder import PasswordEncoder
from airflow_config_providers.dynamic.store import AuditEntry, ConfigStore
from airflow_config_providers.dynamic.writer import Attempts
from airflow_config_providers.exceptions import ConfigException

EVENT: Final = "rotate"


@dataclass(frozen=True, slots=True)
class Rotated:
    """
    The result for a document and its history.

    :param name: the variable of the document
    :param secrets: the number of encrypted strings
    :param reencrypted: how many of them were re-encrypted
    :param problems: why others failed, one sentence each
    """

    name: str
    secrets: int
    reencrypted: int
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rotation:
    """
    Re-encrypts, with an encoder's secret, what was encrypted with its old one.

    The plaintexts stay the same, so a document keeps its version, and processes with both secrets can read it before
    and after. Changes that others make meanwhile are kept.

    :param encoder: the encoder with both secrets
    :param validate_only: whether to decrypt and count, and write nothing
    :param sleep: waits before the next attempt to write a document
    """

    store: ConfigStore
    encoder: PasswordEncoder
    validate_only: bool = False
    sleep: Callable[[float], None] = time.sleep

    def rotate(self, names: Sequence[str]) -> Iterator[Rotated]:
        """
        Re-encrypt the documents ``names``, and yield each result. A document that cannot be read is skipped.

        :raises ProviderUnavailableError: the store is unavailable now
        """
        attempts = Attempts(self.store, self.sleep)
        for name in names:
            try:
                rotated = attempts.until_done(partial(self._attempt, name), [name])
            except ConfigException as error:
                rotated = Rotated(name, 0, 0, error.problems)
            yield rotated

    def _attempt(self, name: str, store: ConfigStore) -> Rotated | None:
        """Re-encrypt a document once; return None if others wrote meanwhile."""
        owner = owner_of(name)
        past = history_name(owner) if owner else PREFIX + HISTORY + name.removeprefix(PREFIX)
        kept = store.read([name, past])
        reencrypt = _Reencryption(self.encoder)
        texts = {
            name: document.write(reencrypt.document(document.read(kept[name].text, name=name))),
            past: history.write(reencrypt.history(history.read(kept[past].text, name=past))),
        }
        rotated = Rotated(
            name, reencrypt.secrets, reencrypt.reencrypted, tuple(f"{name}: {text}" for text in reencrypt.problems)
        )
        if self.validate_only or not reencrypt.reencrypted:
            return rotated
        details = {"variable": name, "secrets": reencrypt.reencrypted}
        is_done = store.swap(kept, texts, [AuditEntry(EVENT, owner.dag_id if owner else "", "", details)])
        return rotated if is_done else None


@dataclass(slots=True)
class _Reencryption:
    """Re-encrypts values, equal ones to equal ones, so that histories still match. Counts, and collects problems."""

    encoder: PasswordEncoder
    secrets: int = 0
    reencrypted: int = 0
    problems: dict[str, None] = field(default_factory=dict)
    _done: dict[str, str] = field(default_factory=dict, repr=False)

    def document(self, document: Document) -> Document:
        tasks = {task: self._config(config) for task, config in document.tasks.items()}
        return replace(document, own=self._config(document.own), tasks=tasks)

    def history(self, history: History) -> History:
        return replace(history, changes=[self._change(change) for change in history.changes])

    def _change(self, change: Change) -> Change:
        was, became = (
            {key: None if value is None else self._value(key, value) for key, value in values.items()}
            for values in (change.was, change.became)
        )
        return replace(change, was=was, became=became)

    def _config(self, config: StoredConfig) -> StoredConfig:
        return replace(config, values={key: self._value(key, value) for key, value in config.values.items()})

    def _value(self, key: str, value: Value) -> Value:
        if not isinstance(value, Sealed):
            return value
        self.secrets += 1
        text = self._text(key, value.text)
        self.reencrypted += text != value.text
        return replace(value, text=text)

    def _text(self, key: str, text: str) -> str:
        if text not in self._done:
            try:
                is_old = self.encoder.wants_reencoding(text)
                self._done[text] = self.encoder.encode(self.encoder.decode(text)) if is_old else text
            except ConfigException as error:
                self.problems |= dict.fromkeys(f"'{printable(key)}': {problem}" for problem in error.problems)
                return text
        return self._done[text]
