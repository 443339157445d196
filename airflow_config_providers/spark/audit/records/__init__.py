"""Audits of what runs left in their records: history, policies and references."""
