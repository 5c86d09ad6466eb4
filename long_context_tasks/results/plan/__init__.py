"""What runs cost, and which are missing."""
