"""The audit of a deployment: PySpark jobs that search logs for known values. What runs in executors needs no Airflow."""
