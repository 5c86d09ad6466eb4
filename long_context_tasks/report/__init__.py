"""Results of many runs as tables, pictures and a leaderboard site. Knows no benchmark and no host: runs come in as frames."""
