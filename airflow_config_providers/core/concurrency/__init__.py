"""Threads and processes: pools and timers of threads, calls that are shared or timed, and state that a fork forgets."""
