"""Waiting for a change of what references mean."""
