"""The command line: ``airflow config-providers``."""
