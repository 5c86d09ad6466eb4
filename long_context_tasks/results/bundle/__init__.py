"""Bundles: runs packed into one small file for a results repository."""
