"""Build cases of any length from books (TSort) or from real or synthetic forum posts (BestAnswer)."""
