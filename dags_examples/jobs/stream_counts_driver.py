"""Write the counts like ``stream_counts.py``, but read the password here, anew for each batch."""

from __future__ import annotations

from stream_counts import run

from airflow_config_providers.spark import configs, session

if __name__ == "__main__":
    run(session(), configs)
