"""PySpark jobs that search logs for known values. What runs in executors needs no Airflow."""
