"""Host adapters: one file or folder per host, and code that several hosts share."""
