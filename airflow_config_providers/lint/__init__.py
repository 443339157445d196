"""Finds mistakes in DAG files, layer files, policies and definitions of providers, without a server or a database."""
