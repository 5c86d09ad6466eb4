"""Statistics of scores: every mean comes with its interval, n and the number of excluded cases."""
