"""Statistics of scores: every mean has its interval, its n and the number of cases left out."""
