"""Gate: is stack A as good as stack B? A sequential test on paired cases, and self-checks of the stacks."""
