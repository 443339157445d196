"""HashiCorp Vault, and servers that speak its API."""
