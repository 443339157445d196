"""The configuration of one Spark job, from what its author wrote to what is submitted."""
