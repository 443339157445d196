"""A secret that tests search for where no value may be."""

from __future__ import annotations

from typing import Final

CANARY: Final = "c4nary/s3cret+value"
"""It has characters that URLs and shells quote."""
