"""The tables of the ELITR-Bench paper."""
