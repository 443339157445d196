"""Benchmarks of this package and of other libraries, in one run on one machine. Start them with ``make bench``."""
