"""Reversal of what leaves a task: what it returns, stores, defers, and says of its lineage."""
