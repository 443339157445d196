"""Strings that Airflow fills in when a task runs."""

from __future__ import annotations

import re
from typing import Final

_JINJA: Final = re.compile(r"\{[{%#]")


def is_template(text: str) -> bool:
    """Return whether ``text`` is a Jinja template, so that its value is known only in a run."""
    return _JINJA.search(text) is not None
