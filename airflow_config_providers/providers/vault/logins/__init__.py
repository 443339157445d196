"""Ways to sign in to Vault: a file for each kind of proof, and what they share."""
