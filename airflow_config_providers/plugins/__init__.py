"""The part of this package that runs in Airflow's API server."""
