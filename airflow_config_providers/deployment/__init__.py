"""What a deployment is configured with, for those who ask for it: by command, and over its server."""
