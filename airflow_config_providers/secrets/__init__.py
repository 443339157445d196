"""A secrets backend: connections, variables and settings in files, with references in place of secrets."""

# Airflow makes its secrets backend while it imports its configuration. If a module of this package is the first to
# import Airflow, that would need the module before it is complete. A package is available as soon as its import begins.
import airflow.configuration  # noqa: F401 - see above
