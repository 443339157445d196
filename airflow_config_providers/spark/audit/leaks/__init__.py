"""Audit of leaks: where values of references stand in files and tables."""
