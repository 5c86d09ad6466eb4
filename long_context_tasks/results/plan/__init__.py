"""Plans: the cost of runs, and the runs that are missing."""
