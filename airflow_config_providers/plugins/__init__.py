"""What Airflow's API server has of this package."""
