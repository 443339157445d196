"""The library that finds many patterns or, where compiled code is unavailable, as in a zip, its replacement."""

from __future__ import annotations

try:
    from ahocorasick_rs import BytesAhoCorasick, Implementation
except ImportError:
    from airflow_config_providers.core.reversal.plain_search import (  # type: ignore[assignment]  # the same in use
        BytesAhoCorasick,
        Implementation,
    )

__all__ = ["BytesAhoCorasick", "Implementation"]
