"""The strings in the fields of an operator while these have values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_config_providers.job.nested_texts import strings


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class HeldTexts:
    """
    What the fields of an operator have while ``execute`` runs; it keeps the strings alive, so that no other gets an id.

    :param fields: name -> content
    :param texts: all strings in it, which are rendered already
    :param values: those that have values in place of references
    """

    fields: Mapping[str, Any]
    texts: Sequence[str]
    values: Sequence[str]

    @classmethod
    def of(cls, shown: Mapping[str, Any], resolved: Mapping[str, Any]) -> HeldTexts:
        """Return what fields have that ``shown`` has with references, and ``resolved``, as far as it differs."""
        written = [*strings(shown)]  # lives as long as its ids are compared
        ids, fields = {*map(id, written)}, {**shown, **resolved}
        texts = [*strings(fields)]
        return cls(fields, texts, [text for text in texts if id(text) not in ids])

    def is_set_anew(self, name: str, content: object) -> bool:
        """Return whether code has set a field to another string than it had."""
        return isinstance(content, str) and content is not self.fields.get(name)
