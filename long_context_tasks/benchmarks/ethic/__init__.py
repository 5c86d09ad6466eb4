"""ETHIC: four tasks that need nearly all of a long context (Lee et al., NAACL 2025)."""
