"""The references that stand in a DAG, told from those that came with data when its templates were filled in."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Final

from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import scan
from airflow_config_providers.operators.nested_texts import Text

_OPENING: Final = re.compile(r"\$\{([^\s${}:]*):")
_FILLED_IN: Final = re.compile(r"\$\{[^\s${}:]+\{[{%]")
"""A provider whose name is a template itself. ``${{`` is none of these: Jinja reads a dollar and what it fills in."""


class WrittenReferences:
    """
    Knows how many references to each provider the texts of a DAG hold before anything is filled in.

    Who triggers a run, or writes what a task returns, may not therefore read secrets. A template may fill in the path
    and the key of a reference, and no further reference.

    :param texts: as they stand in the DAG
    """

    __slots__ = ("_texts",)

    def __init__(self, texts: Iterable[Text]) -> None:
        self._texts = {text.label: text.text for text in texts}

    def with_texts(self, texts: Iterable[Text]) -> WrittenReferences:
        """Give these and those in ``texts``."""
        more = WrittenReferences(texts)
        more._texts = {**self._texts, **more._texts}
        return more

    def cover(self, text: Text) -> bool:
        """Tell whether every reference in ``text`` stood in the DAG at this place."""
        return is_written(text.text, before=self._texts.get(text.label, ""))


def is_written(text: str, *, before: str) -> bool:
    """Tell whether every reference in ``text`` stood there before templates were filled in."""
    if text == before:
        return True
    found = Counter(provider for _, _, provider, _, _ in scan(text))
    found.subtract(_OPENING.findall(before))
    return sum(count for count in found.values() if count > 0) <= len(_FILLED_IN.findall(before))


def brought_problem(name: str) -> str:
    """Say that the text called ``name`` got a reference when its template was filled in."""
    return (
        f"{printable(name)}: a reference came in with what a template filled in. Whoever may give that may not "
        f"therefore read secrets: write the reference in the DAG or the file, or set [config_providers] "
        f"run_config_references."
    )
