"""Replication of the ORCA paper."""
