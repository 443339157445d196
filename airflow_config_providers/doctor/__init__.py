"""Checks of a deployment, made from where they run."""
