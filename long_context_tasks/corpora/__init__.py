"""Read raw sources: books, forum dumps, debates, court opinions and systematic reviews."""
