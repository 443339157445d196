"""A sensor that waits until the value of a reference changes."""
