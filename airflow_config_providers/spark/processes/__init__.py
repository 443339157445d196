"""Child processes: the command and environment of spark-submit, its output, and its end."""
