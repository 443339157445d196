"""The way from values back to the references that they came from, in any text and encoding."""
