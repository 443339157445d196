"""Audits of a whole deployment, as PySpark jobs. What runs in executors needs no Airflow."""
