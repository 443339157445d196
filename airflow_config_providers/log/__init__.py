"""What is logged keeps the references."""
