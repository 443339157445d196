"""The audits of past runs, from their records: history, policies and references."""
