"""Configuration and secrets for the Spark jobs that Airflow submits."""

from __future__ import annotations

__version__ = "0.1.0"
