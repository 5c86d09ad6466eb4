"""Replication of the ORCA paper's tables."""
