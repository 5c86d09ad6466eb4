"""What the adapters of both hosts share, and one file per host."""
