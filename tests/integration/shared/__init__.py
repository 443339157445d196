"""Tests that one Airflow serves, since to start one takes as long as a run. The last test of this package ends it."""
