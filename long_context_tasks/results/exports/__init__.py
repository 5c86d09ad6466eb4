"""Results in the formats of other collections."""
