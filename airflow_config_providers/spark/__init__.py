"""How a resolved configuration reaches Spark."""
