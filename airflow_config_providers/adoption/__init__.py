"""Proposals for DAG files that do not use references and layers yet."""
