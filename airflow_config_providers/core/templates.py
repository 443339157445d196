"""Strings that are Jinja templates, or contain some."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from airflow_config_providers.core.variable import parse, scan

ONLY_A_RUN_KNOWS: Final = "only a run knows"
"""What an answer says where it depends on something that is known only in a run."""

_JINJA: Final = re.compile(r"\{[{%#]")
_OPENING: Final = re.compile(r"\{[{%]")
_CLOSING: Final = {"{{": "}}", "{%": "%}", "{#": "#}"}

_FILLED_IN: Final = "\0"
"""Stands for the result of a template. No path contains this character."""


def is_template(text: str) -> bool:
    """Return whether ``text`` is a Jinja template, so that its value is known only in a run."""
    return _JINJA.search(text) is not None


def is_known_only_in_run(text: str) -> bool:
    """Return whether a run makes something else of ``text``: it is a template, or has a reference."""
    return is_template(text) or bool(scan(text))


def can_become(template: str, text: str) -> bool:
    """
    Return whether a run could make ``text`` of ``template``: its literals appear in ``text``, in the same order.

    What is between the statements of a template can be left out by a run, and is treated as one expression. Comments
    are left out by every run.
    """
    return fits(literals(template), text)


def fits(literals: Sequence[str], text: str) -> bool:
    """Return whether ``text`` has ``literals`` in the same order: the first at its beginning, the last at its end."""
    first, *rest = literals
    if not rest:
        return first == text
    *inner, last = rest
    place, end = len(first), len(text) - len(last)
    if place > end or not (text.startswith(first) and text.endswith(last)):
        return False
    for literal in inner:
        if (found := text.find(literal, place, end)) < 0:
            return False
        place = found + len(literal)
    return True


def literals(template: str) -> list[str]:
    """
    Return the literals before, between and after what a run fills in; some can be empty.

    A run renders templates first, so a reference can have some in it.
    """
    template = "".join(_around_templates(template, _JINJA, only="{#"))
    before, _, after = template.partition("{%")
    _, closing, after = after.rpartition("%}")
    text = f"{before}{_FILLED_IN}{after}" if closing else template
    found = [""]
    for part in parse(_FILLED_IN.join(_around_templates(text))):
        first, *others = part.split(_FILLED_IN) if isinstance(part, str) else ("", "")
        found[-1] += first
        found += others
    return found


def without_templates(text: str) -> str:
    """Return ``text`` without the expressions and statements of Jinja in it, in time that grows with its length."""
    return "".join(_around_templates(text))


def _around_templates(text: str, opening: re.Pattern[str] = _OPENING, *, only: str = "") -> list[str]:
    """Return what is before, between and after the parts of Jinja in ``text`` that begin with ``only``."""
    kept: list[str] = []
    done = 0
    for start, end in _closed(text, opening):
        if text.startswith(only, start):
            kept.append(text[done:start])
            done = end
    return [*kept, text[done:]]


def _closed(text: str, opening: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of what is between each ``opening`` and the next closing."""
    place = 0
    unclosed: set[str] = set()
    while found := opening.search(text, place):
        end = -1 if found[0] in unclosed else text.find(_CLOSING[found[0]], found.end())
        if end < 0:  # then those after it are not closed either
            unclosed.add(found[0])
            place = found.start() + 1
        else:
            place = end + 2
            yield found.start(), place
