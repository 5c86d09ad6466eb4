"""Bundles: what a results repository keeps of a run."""
