"""The library that finds many patterns, or what does the same where nothing compiled can be had, as from a zip."""

from __future__ import annotations

try:
    from ahocorasick_rs import BytesAhoCorasick, Implementation
except ImportError:
    from airflow_config_providers.core.reversal.plain_search import (  # type: ignore[assignment]  # the same in use
        BytesAhoCorasick,
        Implementation,
    )

__all__ = ["BytesAhoCorasick", "Implementation"]
