"""Read raw sources: books, forum dumps, debates, court opinions, systematic reviews and meetings."""
