"""The configuration of a deployment, for commands and for the REST interface."""
