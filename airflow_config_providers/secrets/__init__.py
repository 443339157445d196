"""Airflow's connections and variables in files, with references in place of secrets."""

# Airflow makes its secrets backend while its configuration is imported. Where a module of this package is what imports
# Airflow, that would need the module before it is there; a package is there as soon as it has begun.
import airflow.configuration  # noqa: F401 - see above
