"""Cases of any length from raw data: books for TSort, forum posts for BestAnswer, or a forum that is written from a seed."""
