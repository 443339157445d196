"""Ways to sign in to Vault: a file for each method, and what they share."""
