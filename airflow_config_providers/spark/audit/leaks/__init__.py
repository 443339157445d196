"""The audit of leaks: searches files and tables for the values of references."""
