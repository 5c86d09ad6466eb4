"""Training the ORCA judge."""
