"""Is this stack as good as that one? Paired cases, a verdict as soon as the evidence carries it, and what is wrong with a stack."""
