"""The scripts in ``tools/``, as modules."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

TOOLS = Path(__file__).parents[1] / "tools"


@contextmanager
def imported_tool(name: str) -> Iterator[Any]:
    """Yield the module ``name``, which finds those beside it during the block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(TOOLS)
        yield import_module(name)
