"""Finds mistakes in DAG files, layer files and policy files, without a server, a database or a secret store."""
