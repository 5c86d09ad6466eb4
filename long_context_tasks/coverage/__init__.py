"""Information coverage of any benchmark's cases."""
