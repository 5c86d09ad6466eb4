"""ELITR-Bench: questions about meeting transcripts, one by one or as a conversation (Thonet et al., COLING 2025)."""
