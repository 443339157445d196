"""Reversal of logs, prints and exceptions: they show references in place of values."""
