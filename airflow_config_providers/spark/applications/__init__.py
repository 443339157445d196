"""Applications that spark-submit runs as files, on drivers that need not have this package."""
