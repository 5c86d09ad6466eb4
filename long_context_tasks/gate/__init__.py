"""Gate: is stack A as good as stack B? A verdict on paired cases as soon as the evidence suffices, and faults of the stacks."""
