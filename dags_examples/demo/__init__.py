"""Runs the flights pipeline on one machine, shows its configuration, and searches its traces for the secret."""
