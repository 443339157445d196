"""The machine: references, layers, resolution and its way back. No Airflow, no Spark, no network."""
