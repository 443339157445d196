"""What an audit has read and what it has left out, as a section of its page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from airflow_config_providers.spark.audit.html_page import paragraph, section, table


@dataclass(frozen=True, slots=True)
class AuditScope:
    """
    What an audit was about, which its readers need to judge the result.

    :param rows: what was chosen, and how; what has no value is left out of the page
    :param notes: sentences about what was not read or not searched for
    :param unknown: a sentence about what the audit could not know; empty if there is nothing
    """

    rows: Sequence[tuple[str, object]] = ()
    notes: Sequence[str] = ()
    unknown: str = ""

    def first(self) -> str:
        """Return the paragraph that must be read before the result."""
        return paragraph(self.unknown) if self.unknown else ""

    def section(self, show: Callable[[str], str] = str) -> str:
        """
        Return the section; nothing if nothing is known.

        :param show: returns a string as people may see it
        """
        rows = [(name, _each(value, show)) for name, value in self.rows if value not in (None, "", [], ())]
        notes = [paragraph(show(note)) for note in self.notes]
        return section("What was audited", table(("what", "which"), rows), *notes) if rows or notes else ""


def _each(value: object, show: Callable[[str], str]) -> object:
    if isinstance(value, (list, tuple)):
        return [show(str(one)) for one in value]
    return show(value) if isinstance(value, str) else f"{value:,}"  # as a string, which is beside the others


NOT_KNOWN: Final = AuditScope()
"""The scope of an audit of which nothing is known."""
