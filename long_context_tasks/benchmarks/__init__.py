"""One folder per benchmark; see ``catalogue`` for the list."""
