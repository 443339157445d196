"""Runs the flights pipeline on one machine, shows its configuration, and searches what it left for the secret."""
