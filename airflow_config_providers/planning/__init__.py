"""Changes of a deployment before they are made: what differs between two states of it."""
