"""Strings that are Jinja templates, or contain some."""

from __future__ import annotations

import re
from typing import Final

from airflow_config_providers.core.variable import scan

ONLY_A_RUN_KNOWS: Final = "only a run knows"
"""What an answer says where it depends on something that is known only in a run."""

_JINJA: Final = re.compile(r"\{[{%#]")
_OPENING: Final = re.compile(r"\{[{%]")
_CLOSING: Final = {"{{": "}}", "{%": "%}"}


def is_template(text: str) -> bool:
    """Return whether ``text`` is a Jinja template, so that its value is known only in a run."""
    return _JINJA.search(text) is not None


def is_known_only_in_run(text: str) -> bool:
    """Return whether a run makes something else of ``text``: it is a template, or has a reference."""
    return is_template(text) or bool(scan(text))


def without_templates(text: str) -> str:
    """Return ``text`` without the expressions and statements of Jinja in it, in time that grows with its length."""
    kept: list[str] = []
    done = place = 0
    unclosed: set[str] = set()
    while found := _OPENING.search(text, place):
        end = -1 if found[0] in unclosed else text.find(_CLOSING[found[0]], found.end())
        if end < 0:  # then those after it are not closed either
            unclosed.add(found[0])
            place = found.start() + 1
        else:
            kept.append(text[done : found.start()])
            done = place = end + 2
    return "".join((*kept, text[done:]))
