"""What spark-submit runs as a file of its own, on drivers that need not have this package."""
