"""Readers of raw sources (books, forum dumps) and the writer of the synthetic corpus."""
