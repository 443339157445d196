"""Parts of the sentences of messages: numbers with their nouns, and names with what they resemble."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from airflow_config_providers.core.text import LONGEST, printable


def counted(count: float, noun: str, plural: str = "") -> str:
    """
    Return a number with its noun, as in ``1 key`` and ``2,000 keys``.

    :param plural: the noun of other numbers than 1; by default with an s
    """
    shown = f"{count:,}" if isinstance(count, int) else f"{count:g}"
    return f"{shown} {noun if count == 1 else plural or f'{noun}s'}"


def how_many(count: int, noun: str) -> str:
    """Return a number with its noun, as ``counted`` does, but ``no keys`` for 0."""
    return counted(count, noun) if count else f"no {noun}s"


def there_are(count: int, noun: str) -> str:
    """Return the beginning of a sentence, as in ``There is 1 key`` and ``There are 2 keys``."""
    return f"There {'is' if count == 1 else 'are'} {counted(count, noun)}"


def first_of(names: Iterable[str], *, most: int = 3, noun: str = "") -> str:
    """
    Return the first ``most`` of the different ``names`` on one line, and how many more there are.

    :param noun: what they are, if the sentence does not say so
    """
    distinct = list(dict.fromkeys(names))
    shown, others = ", ".join(map(printable, distinct[:most])), len(distinct) - most
    more = counted(others, f"more {noun}") if noun else f"{others:,} more"
    return f"{shown} and {more}" if others > 0 else shown


def of_type(value: object) -> str:
    """Return what a message says of a value that must not be shown, such as ``of type int``."""
    return f"of type {type(value).__name__}"


def nearest(name: str, names: Iterable[str]) -> str:
    """Return a hint such as ``, did you mean 'vault'?`` if a known name is close, otherwise an empty string."""
    import difflib  # noqa: PLC0415 - slow to import, and only an error needs it

    close = difflib.get_close_matches(name[:LONGEST], sorted(names), n=1)
    return f", did you mean '{printable(close[0])}'?" if close else ""


def not_one_of(text: str, choices: Sequence[str]) -> str:
    """Return a sentence that says that ``text`` is not one of ``choices``, and which one it resembles."""
    return f"'{printable(text)}' is not one of {', '.join(choices)}{nearest(text, choices) or '.'}"
