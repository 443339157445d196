"""Reports that repeat nothing."""

from __future__ import annotations

from collections.abc import Callable


def reporting_once(report: Callable[[str], object]) -> Callable[[str], None]:
    """Return a function that calls ``report`` only for strings that it has not been called with before."""
    reported: set[str] = set()

    def report_once(text: str) -> None:
        if text not in reported:
            reported.add(text)
            report(text)

    return report_once
